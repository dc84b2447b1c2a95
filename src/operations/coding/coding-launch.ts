// Launches a coding session: decides its agent, its machine, and whether it continues an earlier session.
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { formatOriginChannel, openclawChannel, parseOriginChannel } from '../../domain/address.ts'
import { kindOf } from '../../domain/coding-session.ts'
import type { CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import { agentKinds, openclawPrefix } from '../../domain/agent.ts'
import type { AgentKind, PermissionMode } from '../../domain/agent.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import type { Giver } from '../../domain/giver.ts'
import { formatOpenClawOrigin } from '../../domain/openclaw-contract.ts'
import { choiceOf } from '../../coding/queue/choose.ts'
import { unknownSession } from '../../discovery/filter.ts'
import { resolveOriginChannel } from '../../coding/session/origin.ts'
import { checkedName, newCodingId } from '../../coding/session/names.ts'
import { callerAuthor, mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import { nonBlankText, permissionMode } from '../input-fields.ts'
import { findCoding, machineField } from './coding-row.ts'
import { checkProgram, launchDefaults, refuseDirectory, workdirOf } from './launch-rights.ts'
import { restoreIfGone } from '../vault/kept-sessions.ts'
import type { Caller } from '../operation.ts'
import { refuseTrimAt, trimField } from './trim-choice.ts'
import { asSeenBy, lookAt, placeOfLaunch } from './which-machine.ts'
import { openclawAgentOf } from '../../store/openclaw/openclaw-report.ts'

export const launchInput = z.strictObject({
  prompt: nonBlankText().describe('The task.'),
  workdir: z
    .string()
    .optional()
    .describe('The repository, or its name in coding.repos; the configured or current directory if absent.'),
  name: z.string().max(60).optional().describe('A name for it; made from the prompt when absent.'),
  label: z.string().optional().describe('Continue the session with this label, or start it.'),
  agent: z.string().optional().describe('The agent that owns it.'),
  agentKind: z
    .enum(agentKinds)
    .optional()
    .describe('The program that works: claude (the default), codex, gemini, opencode or pi.'),
  model: z.string().optional().describe('The model.'),
  thinking: z.string().max(40).optional().describe('How much to think: off, low, medium, high, max.'),
  maxBudgetUsd: z.number().positive().optional().describe('Pause and ask at this many dollars.'),
  systemPrompt: z.string().optional().describe('Text to add to the system prompt.'),
  allowedTools: z.array(z.string()).optional().describe('Tools that the session may use without asking.'),
  permissionMode: permissionMode().describe('How the session asks for permission.'),
  resumeSessionId: z.string().optional().describe('Continue this session: id, name or Claude id.'),
  forkSession: z.boolean().default(false).describe('Fork that session instead of resuming it.'),
  atMessage: z.string().max(200).optional().describe('Fork that session after this message (a uuid).'),
  trim: trimField,
  fresh: z.boolean().default(false).describe('Start a new conversation; do not continue an earlier one.'),
  decision: z.string().optional().describe('The stored decision that led to this launch (`cc select`).'),
  multiTurnDisabled: z.boolean().default(false).describe('End after the first turn.'),
  originChannel: z.string().optional().describe('The chat that gets notifications: channel|target.'),
  machine: machineField,
  despiteReserve: z
    .boolean()
    .default(false)
    .describe('Start also while only the reserve of a usage window is left (coding.reserve).'),
  wait: z.boolean().default(false).describe('Wait until the turn ends, and show its output.'),
})

export interface LaunchInput extends Omit<z.output<typeof launchInput>, 'wait' | 'despiteReserve'> {
  despiteReserve?: boolean
  /** The session ends after this time without activity. */
  timeoutSeconds?: number
  /** A row among the sessions, removed when this session ends. */
  childSessionKey?: string
  spawnDepth?: number
  /** The agent whose session launches it for another agent. */
  launchedBy?: string
  relay?: CodingRequest['relay']
  /** Whose rights hold for this launch. */
  by: Giver
}

interface Launched {
  session: CodingSession
  /** resume, fork, fresh or queue. */
  action: string
  reason: string
}

/** On this machine, or on the one that has the repository. */
export async function launchCoding(
  app: App,
  launch: LaunchInput,
  caller: Caller,
  /** For a launch that may be repeated: the same id launches once. */
  id?: string,
): Promise<Launched> {
  const { machine: called, ...input } = launch
  const asked = workdirOf(app, input.workdir, caller)
  const { workdir, elsewhere } = await asSeenBy(caller, () => placeOfLaunch(app, asked, called))
  if (!elsewhere) return launchHere(app, { ...input, workdir }, caller, id)
  const agent = caller.agentId ?? input.agent ?? defaultAgentId(app.config)
  return launchThere(app, elsewhere.name, { ...input, agent, workdir }, caller, id)
}

type Here = LaunchInput & { workdir: string }

/** We choose the id, so that we find the session even if the answer of the other machine is lost. */
async function launchThere(
  app: App,
  machine: string,
  input: Here,
  caller: Caller,
  id = newCodingId(),
): Promise<Launched> {
  const { machines, pool } = app.coding()
  const { workdir: path, by } = input
  // The other machine refuses a closed directory with its path in the error. An agent must not learn that path.
  if (by.agentId !== undefined) await asSeenBy(by, () => lookAt(app, machine, { path, agentId: by.agentId }))
  try {
    const answer = await machines!.ask(machine, 'launch', { id, input, caller })
    return { session: pool.resolve(id), ...(answer as Omit<Launched, 'session'>) }
  } catch (error) {
    const session = app.storage.coding.get(id)
    if (!session) throw error
    return { session, action: 'fresh', reason: `launched on ${machine}` }
  }
}

export async function launchHere(app: App, input: Here, caller: Caller, id?: string): Promise<Launched> {
  const { workdir } = input
  const label = input.label === undefined ? undefined : checkedName(input.label)
  // Checked on the machine that runs the session, because only there links can be resolved.
  await refuseDirectory(app, workdir, input.by.agentId)
  const agentId = caller.agentId ?? input.agent ?? defaultAgentId(app.config)
  const named = await namedConversation(app, input, caller)
  const kind = named?.kind ?? input.agentKind ?? 'claude'
  const defaults = launchDefaults(app, agentId, kind)
  const permissionMode = input.permissionMode ?? defaults.permissionMode
  refuseBypass(permissionMode, caller)
  checkProgram(app, kind, { ...input, permissionMode }, named !== undefined && isFork(input))
  const found = named
    ? resumeOf(named, input)
    : await chooseConversation(app, input, caller, { agentId, workdir, kind })
  const chosen = withinRights(app, input, found)
  const taken = await sendToWaiting(app, input, chosen, { caller, needsRow: id !== undefined })
  if (taken) return taken
  const messageChannel = caller.address && formatOriginChannel(caller.address)
  const request = {
    prompt: input.prompt,
    workdir,
    agentId,
    agentKind: kind === 'claude' ? undefined : kind,
    name: input.name === undefined ? label : checkedName(input.name),
    label,
    model: input.model ?? defaults.model,
    budgetUsd: input.maxBudgetUsd ?? defaults.budgetUsd,
    systemPrompt: input.systemPrompt,
    allowedTools: input.allowedTools ?? [],
    permissionMode,
    multiTurn: !input.multiTurnDisabled,
    resume: chosen.resume,
    chooseWhenFree: chosen.action === 'queue',
    thinking: input.thinking,
    despiteReserve: input.despiteReserve || undefined,
    childSessionKey: input.childSessionKey,
    timeoutSeconds: input.timeoutSeconds,
    spawnDepth: input.spawnDepth,
    launchedBy: input.launchedBy === agentId ? undefined : input.launchedBy,
    byProgram: callerAuthor(caller) === 'program' || undefined,
    withoutApprove: !input.by.mayApprove || undefined,
    relay: input.relay,
    originChannel: originOf(app, caller, { originChannel: input.originChannel, messageChannel, workdir }),
    originThreadId: caller.address?.threadId,
    originSessionKey: caller.agentId === undefined ? undefined : caller.sessionKey,
  }
  const launch = { id, isChosen: chosen.decisionId !== undefined, viewer: caller.agentId }
  const session = await app.coding().givenBy(input.by).spawn(request, launch)
  // So that `cc why` finds the decision by the new session.
  const decisionId = chosen.decisionId ?? (caller.agentId === undefined ? input.decision : undefined)
  if (decisionId !== undefined) await app.storage.decisions.became(decisionId, session.id)
  const isTaken = session.lifecycle === 'queued' && app.coding().isTaken(session)
  const action = isTaken || session.request.chooseWhenFree ? 'queue' : chosen.action
  return { session, action, reason: chosen.reason }
}

/** Does not continue a conversation whose session may do more without asking than the caller can allow. Refuses a launch that
 *  names the session or its label; starts a new conversation for any other task. */
function withinRights(app: App, { by, label, resumeSessionId }: Here, chosen: Chosen): Chosen {
  const { resume, decisionId } = chosen
  if (!resume || resume.fork) return chosen
  try {
    app.coding().givenBy(by).checkConversation(resume.sdkSessionId)
    return chosen
  } catch (error) {
    if (label !== undefined || resumeSessionId !== undefined) throw error
    return { action: 'fresh', decisionId, reason: asRockpoolError(error).message }
  }
}

/** If the chosen session waits for its next message, the task becomes that message. If the launch needs a row of its own, for
 *  its settings or because another machine asked for it, the waiting session releases the conversation. */
async function sendToWaiting(
  app: App,
  input: Here,
  { action, resume, reason, decisionId }: Chosen,
  { caller, needsRow }: { caller: Caller; needsRow: boolean },
): Promise<Launched | undefined> {
  const { pool } = app.coding()
  if (action !== 'resume' || !resume) return undefined
  const waiting = pool.awaitingInput(resume.sdkSessionId)
  if (!waiting) return undefined
  if (needsRow || decisionId === undefined || hasOwnSettings(input)) {
    await pool.release(waiting.id)
    return undefined
  }
  await app.storage.decisions.became(decisionId, waiting.id)
  const userInitiated = caller.agentId === undefined
  const session = await app.coding().givenBy(input.by).respond(waiting.id, input.prompt, { userInitiated })
  return { session, action, reason: `${reason}; it is the next message of ${session.name}` }
}

function hasOwnSettings(input: LaunchInput): boolean {
  const { name, model, maxBudgetUsd, systemPrompt, allowedTools, permissionMode } = input
  const { originChannel, timeoutSeconds, thinking, childSessionKey, relay } = input
  const settings = [name, model, maxBudgetUsd, systemPrompt, allowedTools, permissionMode, originChannel]
  const further = [timeoutSeconds, thinking, childSessionKey, relay]
  return input.multiTurnDisabled || [...settings, ...further].some((value) => value !== undefined)
}

/** A launch from a terminal or a program without a chat sends no notifications: its operator looks at the result. */
function originOf(app: App, caller: Caller, asked: Parameters<typeof resolveOriginChannel>[0]): string {
  if (caller.agentId !== undefined && caller.agentPrefix !== undefined)
    return originInOpenClaw(app, caller.agentId, asked)
  const origin = resolveOriginChannel(asked, app.config.coding)
  return origin === 'unknown' && caller.agentId === undefined ? 'gateway' : origin
}

/** OpenClaw names channels as we do, but only OpenClaw reaches them. */
function originInOpenClaw(
  app: App,
  agentId: string,
  asked: Parameters<typeof resolveOriginChannel>[0],
): string {
  const { agentChannels = {}, fallbackChannel } = openclawAgentOf(app.paths, agentId)?.claudeCode ?? {}
  const origin = resolveOriginChannel(asked, { agentChannels, fallbackChannel })
  const address = parseOriginChannel(origin)
  if (!address) return 'gateway'
  if (address.channel === openclawChannel) return origin
  const { channel, to, accountId } = address
  const id = agentId.slice(openclawPrefix.length)
  const account = accountId === 'default' ? undefined : accountId
  return formatOpenClawOrigin({
    channel,
    to,
    accountId: account,
    sessionKey: `agent:${id}:main`,
    agentId: id,
  })
}

/** Only an operator at a terminal, not as root, may let a session run without asking. */
export function refuseBypass(mode: PermissionMode | undefined, caller: Caller): void {
  if (mode !== 'bypassPermissions') return
  const byOperator = caller.via === 'cli' && caller.agentId === undefined
  if (byOperator && process.getuid?.() !== 0) return
  throw new RockpoolError('refused', 'bypassPermissions is not allowed here.', {
    hint: 'Use acceptEdits, or list the tools that may run without asking.',
  })
}

interface Chosen {
  action: 'resume' | 'fork' | 'fresh' | 'queue'
  reason: string
  resume?: CodingRequest['resume']
  /** The stored decision, if a session had to be chosen. */
  decisionId?: string
}

interface Named {
  sdkSessionId: string
  kind: AgentKind
}

/** By our id or name, or the agent's id: only a session that the caller may read, so that a launch gives no new right to read. To
 *  a caller that may not read it, the session does not exist. */
export async function conversationNamed(app: App, ref: string, caller: Caller): Promise<Named> {
  const coding = app.storage.coding.resolve(ref, caller.agentId).length > 0 && findCoding(app, caller, ref)
  const sdkSessionId = coding ? coding.sdkSessionId : undefined
  if (coding && sdkSessionId !== undefined) {
    const { request } = app.storage.coding.latestRun(sdkSessionId) ?? coding
    if (!mayReadSession(request, caller.agentId)) throw unknownSession(ref)
    await restoreIfGone(app, sdkSessionId, caller)
    return { sdkSessionId, kind: kindOf(coding) }
  }
  await restoreIfGone(app, ref, caller)
  const native = await app.coding().pool.findNative(ref, caller.agentId)
  if (native) return { sdkSessionId: native.sessionId, kind: native.agentKind ?? 'claude' }
  throw unknownSession(ref)
}

/** The session that the launch names, which belongs to the program that the launch names. */
async function namedConversation(app: App, input: LaunchInput, caller: Caller): Promise<Named | undefined> {
  const { resumeSessionId: ref, agentKind } = input
  if (ref === undefined) return undefined
  refuseTrimAt(input)
  const named = await conversationNamed(app, ref, caller)
  if (agentKind === undefined || agentKind === named.kind) return named
  const shown = ref.slice(0, 80)
  throw new RockpoolError('input-invalid', `${shown} is a session of ${named.kind}, not ${agentKind}.`, {
    hint: `Hand it over first: \`rockpool cc handoff ${shellWord(shown)} --to ${agentKind}\`.`,
  })
}

/** Continuing after an earlier message would lose the later ones; a fork keeps both. */
function isFork({ forkSession, atMessage, trim }: LaunchInput): boolean {
  return forkSession || atMessage !== undefined || trim !== undefined
}

function resumeOf({ sdkSessionId }: Named, input: LaunchInput): Chosen {
  const fork = isFork(input)
  const { atMessage, trim } = input
  return {
    action: fork ? 'fork' : 'resume',
    reason: 'asked for',
    resume: { sdkSessionId, fork, atMessage, trim },
  }
}

async function chooseConversation(
  app: App,
  input: LaunchInput,
  caller: Caller,
  where: { agentId: string; workdir: string; kind: AgentKind },
): Promise<Chosen> {
  if (input.fresh) return { action: 'fresh', reason: 'asked for' }
  const { selection, decisionId } = await app.coding().choice.choose({
    task: input.prompt,
    repo: where.workdir,
    label: input.label,
    agentKind: where.kind,
    maxBudgetUsd: input.maxBudgetUsd,
    agentId: caller.agentId === undefined ? undefined : where.agentId,
  })
  const trim = input.trim ?? app.coding().choice.trimFor(selection)
  const chosen = choiceOf(selection, { fork: input.forkSession, trim })
  return { ...chosen, reason: selection.reason, decisionId }
}
