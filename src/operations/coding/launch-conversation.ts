// Which conversation a launch continues: the one that it names, the best one for its task, or none.
import { choiceOf } from '../../coding/queue/choose.ts'
import { unknownSession } from '../../discovery/filter.ts'
import type { AgentKind } from '../../domain/agent.ts'
import { kindOf } from '../../domain/coding-session.ts'
import type { CodingRequest } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { restoreIfGone } from '../vault/kept-sessions.ts'
import { findCoding } from './coding-row.ts'
import type { LaunchInput } from './launch-input.ts'
import { refuseTrimAt } from './trim-choice.ts'

export interface Chosen {
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
export async function namedConversation(
  app: App,
  input: LaunchInput,
  caller: Caller,
): Promise<Named | undefined> {
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
export function isFork({ forkSession, atMessage, trim }: LaunchInput): boolean {
  return forkSession || atMessage !== undefined || trim !== undefined
}

export function resumeOf({ sdkSessionId }: Named, input: LaunchInput): Chosen {
  const fork = isFork(input)
  const { atMessage, trim } = input
  return {
    action: fork ? 'fork' : 'resume',
    reason: 'asked for',
    resume: { sdkSessionId, fork, atMessage, trim },
  }
}

export async function chooseConversation(
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
