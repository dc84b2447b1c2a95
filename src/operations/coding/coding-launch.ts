// Launches a coding session: decides its agent, its machine, and whether it continues an earlier session.
import { defaultAgentId } from '../../domain/session-key.ts'
import { formatOriginChannel } from '../../domain/address.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { checkedName, newCodingId } from '../../coding/session/names.ts'
import { callerAuthor } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import type { Chosen } from './launch-conversation.ts'
import { chooseConversation, isFork, namedConversation, resumeOf } from './launch-conversation.ts'
import type { LaunchInput } from './launch-input.ts'
import { launchOrigin } from './launch-origin.ts'
import { checkProgram, launchDefaults, refuseBypass, refuseDirectory, workdirOf } from './launch-rights.ts'
import { asSeenBy, lookAt, placeOfLaunch } from './which-machine.ts'

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
    originChannel: launchOrigin(app, caller, { originChannel: input.originChannel, messageChannel, workdir }),
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
