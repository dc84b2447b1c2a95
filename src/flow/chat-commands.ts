// Chat commands that need no turn: they run at once, also beside a running turn, and answer through the outbox.
import { messageAndHint } from '../domain/errors.ts'
import type { Reply } from '../domain/reply.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { CommandName } from '../inbound/command.ts'
import { commandShapes, helpText, mayGive, parseCommand } from '../inbound/command.ts'
import { parseSessionLabel } from '../sessions/label.ts'
import { newEntry } from '../sessions/session-parts.ts'
import { buildModelAliasIndex, resolveModel } from '../sessions/model-names.ts'
import { recordSettingChanges } from '../sessions/transcript-changes.ts'
import type { Input, WaitingInput } from '../store/work-store.ts'
import { noticeFor } from '../domain/reply.ts'
import type { ChatCommand, CommandParts, FlowParts } from './flow-parts.ts'
import { parseQueueCommand, resolveQueueSettings } from './queue-settings.ts'
import type { QueueSettings } from './queue-settings.ts'

export type FoundCommand =
  | { kind: 'built-in'; name: CommandName; rest: string }
  | { kind: 'added'; command: ChatCommand; rest: string }
  | { kind: 'refused'; why: string }

/** The command in a text, if it is one. A command that is not allowed is answered with the reason, and no agent sees it. */
export function commandIn(
  text: string,
  input: Input,
  parts: Pick<FlowParts, 'commands'>,
): FoundCommand | undefined {
  if (!input.mayCommand) return undefined
  const found = parseCommand(text)
  if (found) return mayGiveIn(input, found.name) ? { kind: 'built-in', ...found } : refusalOf(found.name)
  const added = /^\/([A-Za-z_]{1,40})(?:@\w{1,64})?(?:\s+([\s\S]*))?$/.exec(text)
  const command = parts.commands?.find(({ name }) => name === added?.[1]?.toLowerCase())
  if (!command) return undefined
  if (command.ownerOnly && !input.owner) return refusal(command.name, ', in a private chat')
  return { kind: 'added', command, rest: added?.[2]?.trim() ?? '' }
}

export function mayGiveIn(
  { owner, byOwner = owner, byMember = byOwner, message }: Input,
  name: CommandName,
): boolean {
  return mayGive(name, { byOwner, byMember, inGroup: message.chatType !== 'direct' })
}

function refusalOf(name: CommandName): FoundCommand {
  if (commandShapes[name].who !== 'members-in-groups') return refusal(name)
  const why = `Only the owner and the people named in this group's allowFrom may use /${name} here.`
  return { kind: 'refused', why }
}

function refusal(name: string, where = ''): FoundCommand {
  return { kind: 'refused', why: `Only the owner may use /${name}${where}.` }
}

/** Does the command wait for its place in the conversation? */
export function isTurnCommand(command: FoundCommand | undefined): boolean {
  return command?.kind === 'built-in' && commandShapes[command.name].when === 'turn'
}

/** Runs a command, puts its answer into the outbox and ends the input, both in one step. */
export async function runCommand(
  command: FoundCommand,
  input: WaitingInput,
  parts: CommandParts,
): Promise<void> {
  const reply = await answerTo(command, input, parts).catch((error: unknown) => failed(error, input, parts))
  const notice = noticeFor(input.message.address, '', `command:${input.key}`, parts.clock.now(), input.lane)
  const answer = { ...reply, replyToId: input.message.id }
  const deliveries = reply ? [{ ...notice, forOwner: input.owner, reply: answer }] : []
  const mayDeliver = input.turnOptions === undefined || input.turnOptions.deliver
  parts.deliverer.add(await parts.work.inbox.end([input.id], 'command', mayDeliver ? deliveries : []))
  parts.onCommand?.(input, reply)
}

async function answerTo(
  command: FoundCommand,
  input: WaitingInput,
  parts: CommandParts,
): Promise<Reply | undefined> {
  if (command.kind === 'refused') return { text: command.why }
  if (command.kind === 'added') return command.command.run(command.rest, input)
  const handle = handlers[command.name as keyof typeof handlers]
  return { text: await handle(command.rest, input, parts) }
}

/** A failed command is reported and not tried again. */
function failed(thrown: unknown, input: WaitingInput, parts: CommandParts): Reply {
  parts.log.warn(
    { event: 'command-failed', lane: input.lane, error: String(thrown) },
    'A chat command failed; the chat gets the reason.',
  )
  return { text: `That did not work: ${messageAndHint(thrown)}`, isError: true }
}

type Handler = (rest: string, input: WaitingInput, parts: CommandParts) => Promise<string>

const handlers: Record<Exclude<CommandName, 'new' | 'reset' | 'compact'>, Handler> = {
  help: async (_rest, _input, parts) => helpText(parts.commands),
  whoami: async (_rest, { message }) =>
    `You are ${message.sender.id} on ${message.address.channel}${message.sender.name ? `, called ${message.sender.name}` : ''}.`,
  status: (_rest, input, parts) => statusText(input, parts),
  stop: async (_rest, input, parts) => {
    const { wasRunning, forgotten } = await parts.stop(input.lane)
    if (!wasRunning && forgotten === 0) return 'Nothing is running.'
    return `Stopped.${forgotten > 0 ? ` ${forgotten} waiting ${forgotten === 1 ? 'message is' : 'messages are'} forgotten.` : ''}`
  },
  model: chooseModel,
  think: choose('thinkingLevel', ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'], 'Thinking'),
  verbose: choose('verboseLevel', ['off', 'on', 'full'], 'Showing tools'),
  reasoning: choose('reasoningLevel', ['off', 'on', 'stream'], 'Showing reasoning'),
  usage: choose('responseUsage', ['off', 'on', 'tokens', 'full'], 'Showing tokens'),
  send: async (rest, input, parts) => {
    const wanted = { on: 'allow', off: 'deny', allow: 'allow', deny: 'deny', inherit: undefined, '': null }[
      rest.toLowerCase()
    ]
    const { sendPolicy } = await entryOf(input, parts)
    if (wanted === null) return `Sending: ${sendPolicy ?? 'as configured'}.`
    if (wanted === undefined && rest.toLowerCase() !== 'inherit') return usageOf('send')
    await change(input, parts, { sendPolicy: wanted as SessionEntry['sendPolicy'] })
    return `Sending: ${wanted ?? 'as configured'}.`
  },
  activation: async (rest, input, parts) => {
    const wanted = rest.toLowerCase()
    if (input.message.chatType === 'direct') return 'In a direct chat I always answer.'
    if (wanted === '')
      return `Activation: ${(await entryOf(input, parts)).groupActivation ?? parts.config.messages.groupChat.activation}.`
    if (wanted !== 'mention' && wanted !== 'always') return usageOf('activation')
    await change(input, parts, { groupActivation: wanted, groupActivationNeedsSystemIntro: true })
    return wanted === 'always' ? 'I answer to everything here.' : 'I answer when I am mentioned.'
  },
  queue: changeQueue,
  name: async (rest, input, parts) => {
    const parsed = parseSessionLabel(rest, parts.config.session)
    if (!parsed.ok) return parsed.error
    await change(input, parts, { label: parsed.label })
    return `This session is now called ${parsed.label}.`
  },
}

async function statusText(input: WaitingInput, parts: CommandParts): Promise<string> {
  const entry = await parts.sessions(input.agentId).get(input.lane)
  const agent = parts.agentOf(input.agentId)
  const waiting = parts.queue.waiting(input.lane).length
  const isBusy = parts.queue.isBusy(input.lane)
  const [elsewhere] = isBusy ? [] : ((await parts.work.share?.holders(input.lane)) ?? [])
  const running = isBusy ? 'a turn is running' : elsewhere ? `working on ${elsewhere.machine}` : 'idle'
  const model = entry?.modelOverride ?? entry?.model ?? agent.model ?? "Claude's own choice"
  const lines = [
    `Agent: ${agent.name} (${parts.runtime.kind === 'claude' ? 'Claude' : 'offline: not connected to Claude'})`,
    `Session: ${entry ? `${entry.sessionId.slice(0, 8)}${entry.label ? `, ${entry.label}` : ''}` : 'none yet'}`,
    `Model: ${model}`,
    `State: ${running}${waiting > 0 ? `, ${waiting} waiting` : ''}`,
    `Queue: ${queueSettingsOf(input, entry, parts).mode}`,
  ]
  if (entry?.totalTokens !== undefined && entry.totalTokensFresh !== false && entry.contextTokens) {
    const percent = Math.round((100 * entry.totalTokens) / entry.contextTokens)
    lines.push(
      `Context: ${entry.totalTokens} of ${entry.contextTokens} tokens (${percent}%), ${entry.compactionCount ?? 0} compactions`,
    )
  }
  if (entry?.estimatedCostUsd) {
    const label = parts.runtime.billing === 'subscription' ? ' at API prices' : ''
    lines.push(`Cost: $${entry.estimatedCostUsd.toFixed(4)}${label}`)
  }
  return lines.join('\n')
}

async function chooseModel(rest: string, input: WaitingInput, parts: CommandParts): Promise<string> {
  const index = buildModelAliasIndex(parts.config.agents)
  const entry = await entryOf(input, parts)
  const standard = parts.agentOf(input.agentId).model ?? "Claude's own choice"
  if (rest === '') {
    const names = [...new Set([...index.byAlias.keys(), ...index.models])].join(', ')
    return `Model: ${entry.modelOverride ?? standard}. You can choose: ${names}, default.`
  }
  const isDefault = /^(default|reset)$/i.test(rest)
  const model = isDefault ? undefined : resolveModel(rest, index)
  if (!isDefault && model === undefined)
    return `I know no model ${JSON.stringify(rest.slice(0, 60))}. /model shows them all.`
  await change(input, parts, { modelOverride: model, providerOverride: model && 'anthropic' })
  await parts.work.systemEvents.add(input.lane, `Model switched to ${model ?? standard}.`, 20)
  return `Model: ${model ?? standard}.`
}

async function changeQueue(rest: string, input: WaitingInput, parts: CommandParts): Promise<string> {
  const wanted = parseQueueCommand(rest)
  if (wanted.kind === 'wrong')
    return `I do not understand ${JSON.stringify(wanted.word.slice(0, 40))}. ${usageOf('queue')}`
  if (wanted.kind === 'reset') {
    await change(input, parts, {
      queueMode: undefined,
      queueDebounceMs: undefined,
      queueCap: undefined,
      queueDrop: undefined,
    })
  } else if (wanted.kind === 'set') {
    const { mode, debounceMs, cap, drop } = wanted.change
    const fields = { queueMode: mode, queueDebounceMs: debounceMs, queueCap: cap, queueDrop: drop }
    await change(
      input,
      parts,
      Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    )
  }
  const { mode, debounceMs, cap, drop } = queueSettingsOf(input, await entryOf(input, parts), parts)
  return `Queue: ${mode}, debounce ${debounceMs} ms, cap ${cap}, drop ${drop}.`
}

function queueSettingsOf(
  { message }: WaitingInput,
  entry: Partial<SessionEntry> | undefined,
  parts: FlowParts,
): QueueSettings {
  const config = parts.config.messages.queue
  return resolveQueueSettings({ config, channel: message.address.channel, entry })
}

/** A command that shows or chooses a setting of the session. */
function choose(
  field: 'thinkingLevel' | 'verboseLevel' | 'reasoningLevel' | 'responseUsage',
  values: readonly string[],
  title: string,
): Handler {
  const command = {
    thinkingLevel: 'think',
    verboseLevel: 'verbose',
    reasoningLevel: 'reasoning',
    responseUsage: 'usage',
  } as const
  return async (rest, input, parts) => {
    const wanted = rest.toLowerCase()
    if (wanted === '')
      return `${title}: ${(await entryOf(input, parts))[field] ?? 'off'}. ${usageOf(command[field])}`
    if (!values.includes(wanted)) return usageOf(command[field])
    await change(input, parts, { [field]: wanted })
    return `${title}: ${wanted}.`
  }
}

function usageOf(name: CommandName): string {
  return `Use /${name} ${commandShapes[name].usage ?? ''}`.trim()
}

async function entryOf(input: WaitingInput, parts: FlowParts): Promise<Partial<SessionEntry>> {
  return (await parts.sessions(input.agentId).get(input.lane)) ?? {}
}

/** Sets fields of the session; `undefined` removes them. Starts the session if there is none. */
async function change(input: WaitingInput, parts: FlowParts, fields: Partial<SessionEntry>): Promise<void> {
  let before: SessionEntry | undefined
  const entry = await parts.sessions(input.agentId).update(input.lane, (current) => {
    before = current
    const changed: SessionEntry = { ...(current ?? newEntry(parts.clock.now())) }
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) delete changed[name]
      else changed[name] = value
    }
    return changed
  })
  const session = { key: input.lane, before, entry: entry! }
  const agentModel = parts.agentOf(input.agentId).model
  await recordSettingChanges(parts.transcripts(input.agentId), session, agentModel)
  parts.events.emit({ type: 'session-changed', agentId: input.agentId, key: input.lane, why: 'command' })
}
