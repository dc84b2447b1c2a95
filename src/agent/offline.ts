// The agent that answers when there is no credential for Claude. It says that it is not Claude and how to connect Claude, and
// otherwise repeats each message, so that everything around an agent can be tried and tested without one.
import type {
  AgentRuntime,
  Conversation,
  ConversationEnd,
  ConversationOptions,
  Prompt,
} from '../domain/agent.ts'
import { offlineModel } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import { sleep } from '../domain/async.ts'
import { withoutMarker } from '../domain/machine-text.ts'
import type { TurnEnd, TurnEvent, TurnFailure, TurnResult } from '../domain/turn.ts'

export interface OfflineOptions {
  clock: Clock
  /** The duration of a turn; for benches. */
  delayMs?: number
  /** Obey `[[offline: …]]` in prompts. For tests: the author of the prompt then controls the agent. */
  directions?: boolean
  /** For the demo: maps a prompt, written as a person would write it, to the directions to follow. */
  scripts?: Readonly<Record<string, string>>
  /** Why Claude does not answer, and what to do about it. */
  reason?: string
}

export const howToConnect =
  'To connect Claude, run `rockpool login`, or set ANTHROPIC_API_KEY, and restart Rockpool.'

export function makeOfflineAgent(options: OfflineOptions): AgentRuntime {
  const live = new Map<string, OfflineConversation>()
  return {
    kind: 'offline',
    billing: 'none',
    async open(wanted) {
      const { key } = wanted
      let conversation = live.get(key)
      if (!conversation || conversation.closed) {
        conversation = new OfflineConversation(wanted, options, () => live.delete(key))
        live.set(key, conversation)
      }
      conversation.rebind(wanted)
      return conversation
    },
    live: (key) => live.get(key),
    // It has no transcripts that could be missing. Claude's own id stays in the session for later.
    resumable: async () => ({ ok: true }),
    received: async (_sdkSessionId, prompts) => new Set(prompts.map(({ uuid }) => uuid)),
    async close() {
      for (const conversation of live.values()) await conversation.close()
    },
  }
}

class OfflineConversation implements Conversation {
  readonly key: string
  readonly pid = undefined
  readonly ended: Promise<ConversationEnd>
  closed = false
  #end: (end: ConversationEnd) => void
  #options: ConversationOptions
  #offline: OfflineOptions
  #turns = 0
  #contextTokens = 0
  #lastAnswer: 'allow' | 'deny' | undefined
  #running: { steered: Prompt[]; stop: () => void; stopped: Promise<'stopped'> } | undefined
  #forget: () => void

  constructor(options: ConversationOptions, offline: OfflineOptions, forget: () => void) {
    this.key = options.key
    this.#options = options
    this.#offline = offline
    this.#forget = forget
    const { promise, resolve } = Promise.withResolvers<ConversationEnd>()
    this.ended = promise
    this.#end = resolve
  }

  /** A coding session gets the id that it asks for, so that it is resumed after a crash and not asked again. */
  get sdkSessionId(): string | undefined {
    const { resume, newSdkSessionId } = this.#options
    return resume && !resume.fork ? resume.sdkSessionId : newSdkSessionId
  }

  get busy(): boolean {
    return this.#running !== undefined
  }

  rebind(options: ConversationOptions): void {
    this.#options = options
  }

  async turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult> {
    const started = this.#offline.clock.monotonic()
    const { promise, resolve } = Promise.withResolvers<'stopped'>()
    this.#running = { steered: [], stop: () => resolve('stopped'), stopped: promise }
    onEvent({ type: 'turn-start', sdkSessionId: this.sdkSessionId, model: offlineModel })
    const texts: string[] = []
    const say = (text: string): void => {
      texts.push(text)
      onEvent({ type: 'text', text })
    }
    const end = await this.#answer(prompt, say, onEvent)
    const prompts = [prompt, ...this.#running.steered]
    this.#running = undefined
    this.#turns++
    return this.#result(end, prompts, texts, started)
  }

  async #answer(
    prompt: Prompt,
    say: (text: string) => void,
    onEvent: (event: TurnEvent) => void,
  ): Promise<TurnEnd> {
    const directions = readDirections(this.#directionsFor(prompt.text))
    const wait: Direction[] = this.#offline.delayMs ? [{ do: 'wait', ms: this.#offline.delayMs }] : []
    for (const direction of [...wait, ...directions]) {
      const end = await Promise.race([this.#obey(direction, say, onEvent), this.#running!.stopped])
      if (end === 'stopped') return { kind: 'interrupted' }
      if (end) return end
    }
    if (directions.length === 0) say(this.#echo([prompt, ...this.#running!.steered]))
    return { kind: 'completed' }
  }

  #directionsFor(text: string): string {
    const script = this.#offline.scripts?.[spoken(text)]
    return script ?? (this.#offline.directions ? text : '')
  }

  #echo(prompts: Prompt[]): string {
    const words = prompts.map((prompt) => spoken(prompt.text)).join('\n')
    if (this.#turns > 0) return `(offline) ${words}`
    const reason = this.#offline.reason ? ` ${this.#offline.reason}` : ''
    return `I am Rockpool's offline agent, not Claude.${reason} ${howToConnect}\n\n(offline) ${words}`
  }

  async #obey(
    direction: Direction,
    say: (text: string) => void,
    onEvent: (event: TurnEvent) => void,
  ): Promise<TurnEnd | undefined> {
    if (direction.do === 'wait') await sleep(this.#offline.clock, direction.ms)
    else if (direction.do === 'say') this.#sayAfter(direction, say)
    else if (direction.do === 'emit') onEvent(direction.event)
    else if (direction.do === 'fail') {
      const { why, message = `The offline agent was asked to fail: ${why}.`, retryAt } = direction
      return { kind: 'failed', why, message, retryAt }
    } else if (direction.do === 'ask') say(await this.#ask(direction.tool, direction.input, onEvent))
    else say(await this.#call(direction.tool, direction.input, onEvent))
    return undefined
  }

  #sayAfter({ text, after }: Extract<Direction, { do: 'say' }>, say: (text: string) => void): void {
    if (after === undefined || after === this.#lastAnswer) say(text)
  }

  async #ask(toolName: string, input: Record<string, unknown>, onEvent: (event: TurnEvent) => void) {
    onEvent({ type: 'waiting', for: 'permission' })
    const { cwd } = this.#options
    const request = { requestId: `offline-${this.#turns}`, kind: 'tool' as const, toolName, input, cwd }
    const answer = await this.#options.askPermission(request, new AbortController().signal)
    this.#lastAnswer = answer.behavior
    return answer.behavior === 'allow' ? `allowed ${toolName}` : `denied ${toolName}: ${answer.message}`
  }

  async #call(name: string, input: Record<string, unknown>, onEvent: (event: TurnEvent) => void) {
    const tool = this.#options.tools.flatMap((server) => server.tools).find((tool) => tool.name === name)
    if (!tool) return `There is no tool ${name}.`
    const toolUseId = `offline-${name}-${this.#turns}`
    onEvent({ type: 'tool-start', toolUseId, name, input })
    const { text, isError = false } = await tool.call(input)
    onEvent({ type: 'tool-end', toolUseId, isError, output: text })
    return text
  }

  #result(end: TurnEnd, prompts: Prompt[], texts: string[], started: number): TurnResult {
    const tokens = (of: string[]): number => Math.ceil(of.join('').length / 4)
    const usage = {
      input: tokens(prompts.map((prompt) => prompt.text)),
      output: tokens(texts),
      cacheRead: this.#contextTokens,
      cacheWrite: 0,
    }
    this.#contextTokens += usage.input + usage.output
    return {
      end,
      text: texts.at(-1) ?? '',
      said: texts,
      prompts: prompts.map((prompt) => prompt.uuid),
      sdkSessionId: this.sdkSessionId,
      model: offlineModel,
      usage,
      costUsd: 0,
      contextTokens: this.#contextTokens,
      contextWindow: 200_000,
      compactions: 0,
      durationMs: this.#offline.clock.monotonic() - started,
    }
  }

  steer(prompt: Prompt): boolean {
    if (!this.#running) return false
    this.#running.steered.push(prompt)
    return true
  }

  async interrupt(): Promise<void> {
    this.#running?.stop()
  }

  /** There is no transcript that others could write to. */
  otherWriter(): undefined {}

  async close(): Promise<void> {
    this.#finish({ why: 'closed' })
  }

  async kill(): Promise<void> {
    this.#finish({ why: 'killed' })
  }

  #finish(end: ConversationEnd): void {
    this.closed = true
    this.#running?.stop()
    this.#forget()
    this.#end(end)
  }
}

/** The person's words, without the lines before them that are for a model: channels, owner of the session. */
function spoken(text: string): string {
  return withoutMarker(text.replace(/^(System: (?!\[).*\n)+\n*/, '')).trim()
}

/** Directions of a test for the offline agent, in the prompt: `[[offline: say Hello]]`. */
type Direction =
  | { do: 'wait'; ms: number }
  /** `after`: only if the last question of the turn was answered so. */
  | { do: 'say'; text: string; after?: 'allow' | 'deny' }
  | { do: 'fail'; why: TurnFailure; message?: string; retryAt?: number }
  | { do: 'ask'; tool: string; input: Record<string, unknown> }
  | { do: 'call'; tool: string; input: Record<string, unknown> }
  | { do: 'emit'; event: TurnEvent }

/** `wait 200`, `say words`, `allowed words`, `denied words`, `fail rate-limited`, `limit 1794850852000`, `ask Bash
 *  {"command":"ls"}`, `call tool {…}`, `emit {event}`. */
function readDirections(text: string): Direction[] {
  return [...text.matchAll(/\[\[offline: (\w+) ?([\s\S]*?)\]\]/g)].map(([, verb = '', rest = '']) =>
    readDirection(verb, rest),
  )
}

function readDirection(verb: string, rest: string): Direction {
  if (verb === 'wait') return { do: 'wait', ms: Number(rest) }
  if (verb === 'fail') {
    const [why, ...words] = rest.split(' ')
    return { do: 'fail', why: why as TurnFailure, message: words.join(' ') || undefined }
  }
  if (verb === 'limit') return { do: 'fail', why: 'rate-limited', retryAt: Number(rest) }
  if (verb === 'emit') return { do: 'emit', event: JSON.parse(rest) as TurnEvent }
  if (verb === 'ask' || verb === 'call') {
    const [tool = '', ...json] = rest.split(' ')
    const input = JSON.parse(json.join(' ') || '{}') as Record<string, unknown>
    return { do: verb, tool, input }
  }
  const after = verb === 'allowed' ? 'allow' : verb === 'denied' ? 'deny' : undefined
  return { do: 'say', text: rest, after }
}
