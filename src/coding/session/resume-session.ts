// Resumes a session of ours: the same row starts again, so the session keeps its name, its id, its output and its rules. A
// person resumes it, a message does, or the answer to a question that was still open when Rockpool stopped.
import type { Approval, CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import { isOn, isRunning, kindOf } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { TrimLevel } from '../../domain/trim.ts'
import { promptAfterAnswer } from '../approvals/read-answer.ts'
import type { CodingParts } from '../coding-parts.ts'
import { closeSession } from '../machines/recovery.ts'
import { maySeeCoding } from '../../rights/rights.ts'
import { checkWorkdir } from '../queue/repositories.ts'
import { continuedFor, conversationTaken, sessionStillRunning } from '../refusals.ts'
import { undeliveredMessages } from './messages.ts'
import { checkResumable, ownOrigin } from './resume-origin.ts'
import type { RunningSessions } from './running-sessions.ts'
import { resumed } from './session-changes.ts'

export interface ResumeOptions {
  fork?: boolean
  atMessage?: string
  /** Continue in a trimmed copy, which is a fork. */
  trim?: TrimLevel
  multiTurn?: boolean
  /** The chat that resumes the session, and the resuming agent's own session. When absent, the earlier origin stays. */
  origin?: Pick<CodingRequest, 'originChannel' | 'originThreadId' | 'originSessionKey'>
  /** For a session that moves to this machine: its repository here, and the text for Claude about the move. */
  moved?: { workdir: string; aside: string }
  /** The agent that resumes it, which does not learn the names of other agents' sessions; a person when absent. */
  viewer?: string
  /** The id of a fork, chosen by the machine that asks. */
  id?: string
  /** The id of the request that a person answered while the session was not running. */
  answered?: string
  /** Messages of agents in a row, this one included; 0 for a person's. */
  autoResponds?: number
}

export async function resumeSession(
  parts: CodingParts,
  running: RunningSessions,
  earlier: CodingSession,
  prompt: string,
  options: ResumeOptions,
): Promise<CodingSession> {
  if (isRunning(earlier)) throw running.get(earlier.id)?.writes.failure ?? sessionStillRunning(earlier)
  const { store, owners, repos, config, agents, approvals, notifications } = parts
  const { sdkSessionId, request } = ownOrigin(earlier)
  // An answer or the reset of a usage limit may resume the session long after its end. By then the conversation may belong to another
  // agent.
  const latest = store.latestRun(sdkSessionId) ?? earlier
  if (!maySeeCoding(latest.request, request.agentId)) throw continuedFor(earlier, latest)
  const workdir = checkWorkdir(options.moved?.workdir ?? request.workdir, config.workspaceRoots)
  await checkResumable(agents, kindOf(earlier), sdkSessionId, { session: earlier })
  const messages = [...(await undeliveredMessages(agents, earlier)), prompt]
  repos.checkRoom(workdir, request.agentId)
  const how = { ...options, messages, workdir, aside: options.moved?.aside }
  await running.startHeartbeat()
  const session = await store.update(earlier.id, (stored) => {
    if (isRunning(stored)) throw sessionStillRunning(stored)
    const holder = store.holderOf(sdkSessionId)
    if (holder) throw conversationTaken(holder, options.viewer)
    Object.assign(stored, resumed(stored, { ...how, owner: running.self, machine: owners.machine }))
  })
  // The resumed session asks again what it still needs to know.
  await approvals.expireOpen(({ codingId }) => codingId === session.id)
  await notifications.onResumed(session, prompt)
  running.start(session)
  return session
}

/** Resumes the sessions of this machine whose question was answered while no process ran them. */
export async function resumeAnswered(parts: CodingParts, running: RunningSessions): Promise<void> {
  const { store, owners, approvals, log } = parts
  const asking = store.list({ asking: true }).filter((session) => isOn(owners.machine, session))
  for (const session of asking) {
    const approval = approvals.get(session.waiting?.approvalId ?? '')
    if (!approval || approval.state === 'pending') continue
    try {
      await actOnAnswer(parts, running, session, approval)
    } catch (error) {
      const { code, message } = asRockpoolError(error)
      const about = { event: 'resume-failed', coding: session.id, code, error: message }
      log.warn(about, 'An answered session could not be resumed; trying again later.')
    }
  }
}

async function actOnAnswer(
  parts: CodingParts,
  running: RunningSessions,
  session: CodingSession,
  approval: Approval,
): Promise<void> {
  if (approval.kind === 'budget' && approval.state === 'denied')
    return closeSession(parts, session, 'ended', 'budget', 'Its budget is used up and was not raised.')
  await resumeSession(parts, running, session, promptAfterAnswer(approval), { answered: approval.id })
}
