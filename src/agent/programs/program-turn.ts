// One turn of an agent program: a process that gets the prompt, reports what it does line by line, and ends. Passes the calls to
// the model that the process reports to the budget, and pauses the process while a question about the budget waits for a person.
import { createInterface } from 'node:readline'
import type { BeforeTool, Prompt } from '../../domain/agent.ts'
import { sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { attempt } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import type { TurnEnd, TurnEvent, TurnFailure, TurnResult, Usage } from '../../domain/turn.ts'
import { processesOf } from '../../store/disk/process-scope.ts'
import type { AgentProcess } from '../process.ts'
import { TurnTally } from '../running-turn.ts'
import { TurnWatchdog, type SilenceLimits } from '../watchdog.ts'
import type { AgentProgram, ProgramItem, ProgramReader } from './program.ts'

/** The facts in the session's own files so far. */
export interface Spent {
  costUsd: number
  usage: Usage
  contextTokens: number
  contextWindow?: number
  model?: string
}

export interface TurnParts {
  program: AgentProgram
  process: AgentProcess
  clock: Clock
  silence: SilenceLimits
  /** The model that the launch asked for. */
  model?: string
  beforeTool?: BeforeTool
  onSession: (sessionId: string) => void
  /** For programs that report no usage: what the session has spent; undefined if its files cannot be found. */
  spent: () => Promise<Spent | undefined>
  /** The same before the turn. */
  spentBefore?: Spent
}

/** How long a program may take to end after an interrupt. */
const interruptMs = 5_000
/** Looking into the files of a session costs a scan, so not after every tool. */
const lookEveryMs = 3_000
/** A budget that has room answers at once; otherwise Rockpool asks a person. */
const askedAfterMs = 200

export class ProgramTurnRun {
  #parts: TurnParts
  #reader: ProgramReader
  #prompt: Prompt
  #onEvent: (event: TurnEvent) => void
  #tally = new TurnTally()
  #watchdog: TurnWatchdog
  #over = new AbortController()
  #verdict: TurnEnd | undefined
  #reported: ProgramItem | undefined
  #sessionId: string | undefined
  #model: string | undefined
  #spent: Spent | undefined
  #lookedAt = -Infinity
  #calls = 0

  constructor(parts: TurnParts, prompt: Prompt, onEvent: (event: TurnEvent) => void) {
    this.#parts = parts
    this.#reader = parts.program.makeReader()
    this.#prompt = prompt
    this.#onEvent = onEvent
    this.#model = parts.model
    this.#spent = parts.spentBefore
    this.#watchdog = new TurnWatchdog(parts.clock, parts.silence, {
      silence: () => void this.#stop(this.#failure('stalled', 'it sent nothing for too long')),
      endlessAnswer: () => void this.#stop(this.#failure('stalled', 'it worked at one answer for too long')),
    })
  }

  async run(): Promise<TurnResult> {
    const { process, clock } = this.#parts
    const startedAt = clock.monotonic()
    process.spawned.stdin.end(this.#prompt.text)
    this.#watch()
    for await (const text of createInterface({ input: process.spawned.stdout, crlfDelay: Infinity })) {
      this.#watchdog.messageReceived()
      const line = parseRecord(text)
      // Programs also print notices that are not JSON.
      for (const item of line ? this.#reader.read(line) : []) await this.#take(item)
      this.#watch()
    }
    await process.exited
    this.#watchdog.stop()
    if (this.#parts.program.countsInFiles) await this.#look()
    this.#over.abort()
    return this.#result(clock.monotonic() - startedAt)
  }

  /** The turn ends as interrupted. Resolves when the process has ended. */
  async interrupt(): Promise<void> {
    await this.#stop({ kind: 'interrupted' })
  }

  /** Nothing is reported any more. The caller ends the process. */
  silence(): void {
    this.#verdict ??= { kind: 'interrupted' }
    this.#onEvent = () => {}
  }

  async #stop(verdict: TurnEnd): Promise<void> {
    const { process, clock } = this.#parts
    this.#verdict ??= verdict
    this.#over.abort()
    process.spawned.kill('SIGINT')
    await Promise.race([process.exited, sleep(clock, interruptMs)])
    await process.end()
  }

  async #take(item: ProgramItem): Promise<void> {
    switch (item.is) {
      case 'session':
        return this.#started(item)
      case 'event':
        this.#emit(item.event)
        if (item.event.type === 'tool-end' && this.#parts.program.countsInFiles) await this.#lookNowAndThen()
        return
      case 'call':
        this.#emit({ ...item.event, model: this.#modelOf(item.event.model) })
        return item.continues ? this.#askBudget() : undefined
      default:
        this.#reported = item
    }
  }

  #modelOf(reported: string): string {
    return reported === 'unknown' ? (this.#model ?? reported) : reported
  }

  #started({ sessionId, model }: Extract<ProgramItem, { is: 'session' }>): void {
    const isNew = sessionId !== undefined && sessionId !== '' && sessionId !== this.#sessionId
    const isOtherModel = model !== undefined && model !== this.#model
    if (isNew) {
      this.#sessionId = sessionId
      this.#parts.onSession(sessionId)
    }
    this.#model = model ?? this.#model
    if (isNew || isOtherModel)
      this.#emit({ type: 'turn-start', sdkSessionId: this.#sessionId, model: this.#model })
  }

  #emit(event: TurnEvent): void {
    this.#watchdog.eventReceived(event)
    this.#tally.add({ is: 'event', event }, this.#parts.clock.now())
    this.#onEvent(event)
  }

  async #lookNowAndThen(): Promise<void> {
    const now = this.#parts.clock.monotonic()
    if (now - this.#lookedAt < lookEveryMs) return
    this.#lookedAt = now
    if (await this.#look()) await this.#askBudget()
  }

  /** Reports what the session has spent since the last look. */
  async #look(): Promise<boolean> {
    const spent = this.#sessionId === undefined ? undefined : await this.#parts.spent()
    if (!spent) return false
    const { costUsd, usage } = this.#spent ?? noneSpent
    const more = { ...spent, costUsd: spent.costUsd - costUsd, usage: difference(spent.usage, usage) }
    this.#spent = spent
    this.#started({ is: 'session', model: spent.model })
    if (more.usage.output === 0 && more.usage.input === 0) return false
    const messageId = `${this.#prompt.uuid} ${this.#calls++}`
    const model = spent.model ?? this.#modelOf('unknown')
    this.#emit({
      type: 'usage',
      messageId,
      model,
      usage: more.usage,
      costUsd: more.costUsd,
      subagent: false,
    })
    return true
  }

  /** Waits while a limit is reached, and ends the turn if the limit is not raised. */
  async #askBudget(): Promise<void> {
    const { beforeTool, clock } = this.#parts
    if (!beforeTool || this.#over.signal.aborted) return
    const answer = beforeTool({}, this.#over.signal)
    const isAnswered = await Promise.race([answer.then(() => true), sleep(clock, askedAfterMs)])
    const resume = isAnswered === true ? undefined : this.#pause()
    const refusal = await answer.finally(resume)
    if (refusal !== undefined) await this.#stop(this.#failure('budget-reached', refusal))
  }

  #pause(): () => void {
    const release = this.#watchdog.hold()
    const paused = processesOf(this.#parts.process.scope)
    for (const { pid } of paused) attempt(() => process.kill(pid, 'SIGSTOP'), false)
    return () => {
      for (const { pid } of paused) attempt(() => process.kill(pid, 'SIGCONT'), false)
      release()
    }
  }

  #watch(): void {
    this.#watchdog.update({ isTurnRunning: true, usesTools: this.#tally.openTools > 0 })
  }

  #result(durationMs: number): TurnResult {
    const result = this.#tally.finish({
      fallback: this.#end(),
      verdict: this.#verdict,
      sdkSessionId: this.#sessionId,
      model: this.#model,
      durationMs,
      now: this.#parts.clock.now(),
    })
    const { contextTokens, contextWindow } = this.#spent ?? {}
    // Without a session the program did not get so far as to record the prompt.
    const prompts = this.#sessionId === undefined ? [] : [this.#prompt.uuid]
    return {
      ...result,
      prompts,
      contextTokens: contextTokens ?? result.contextTokens,
      contextWindow,
    }
  }

  #end(): TurnEnd {
    const { process } = this.#parts
    const reported = this.#reported
    if (reported?.is === 'completed') return { kind: 'completed' }
    if (reported?.is === 'failed') return this.#failure(whyFailed(reported.message), reported.message)
    const code = process.spawned.exitCode
    const details = process.stderrTail() || `exit code ${code ?? 'unknown'}`
    return this.#failure(this.#sessionId === undefined ? whyFailed(details) : 'process-died', details)
  }

  #failure(why: TurnFailure, details: string): Extract<TurnEnd, { kind: 'failed' }> {
    const { name, login } = this.#parts.program
    const remedy = why === 'login-refused' ? ` It needs ${login}.` : ''
    const what = `${name} did not finish the turn: ${details.trim().replace(/\.+$/, '')}.${remedy}`
    return { kind: 'failed', why, message: what, what }
  }
}

const noneSpent = { costUsd: 0, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }

function difference(now: Usage, before: Usage): Usage {
  const less = (name: keyof typeof noneSpent.usage): number => Math.max(0, now[name] - before[name])
  return {
    input: less('input'),
    output: less('output'),
    cacheRead: less('cacheRead'),
    cacheWrite: less('cacheWrite'),
  }
}

const failures: ReadonlyArray<[why: TurnFailure, words: RegExp]> = [
  ['rate-limited', /usage limit|rate.?limit|quota|\b429\b/i],
  ['overloaded', /overloaded|high demand|\b529\b/i],
  ['login-refused', /\b401\b|\b403\b|unauthori[sz]ed|api.?key|auth\w* (?:method|failed|error)|log ?in\b/i],
  ['model-unknown', /model.{0,40}(?:not found|not supported|does not exist|unknown)|unknown model/i],
  ['context-full', /context (?:window|length)|too many tokens|prompt is too long/i],
  ['session-missing', /no (?:rollout|session|conversation) found|session not found/i],
  [
    'unreachable',
    /ECONN|ENOTFOUND|network|stream disconnected|fetch failed|connection (?:error|failed|refused)/i,
  ],
]

/** Programs report failures as text only. */
export function whyFailed(message: string): TurnFailure {
  return failures.find(([, words]) => words.test(message))?.[0] ?? 'api-error'
}
