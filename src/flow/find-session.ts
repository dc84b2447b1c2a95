// Step two: the session of an input, and what people are told when it is not the one they think.
import type {
  Session,
  SessionEntry,
  SessionSkillSnapshot,
  SessionSystemPromptReport,
} from '../domain/session.ts'
import type { MsgContext } from '../domain/msg-context.ts'
import { sessionKeyOf } from '../domain/session-key.ts'
import { bodyForAgent, contextOf, finalizeInboundContext } from '../inbound/context.ts'
import { initSessionState } from '../sessions/init.ts'
import type { SessionInitResult } from '../sessions/init.ts'
import { buildModelAliasIndex } from '../sessions/reset-model.ts'
import type { WaitingInput } from '../store/work-store.ts'
import { mayGiveIn } from './chat-commands.ts'
import type { TurnParts } from './flow-parts.ts'
import { mayChangeRoute } from '../rights/chat-rights.ts'
import { routeOf } from './session-route.ts'
import { authorOfInput, authorOfSession } from './turn-rights.ts'

export interface FoundSession {
  session: Session
  init: SessionInitResult
  ctx: MsgContext
  /** The agent's skills as they are in this turn. */
  skillsSnapshot?: SessionSkillSnapshot
  /** Of the first turn of the session only. */
  promptReport?: Pick<SessionSystemPromptReport, 'source' | 'systemPrompt' | 'skills'>
}

/** `claimed` is awaited before anything is begun anew: only the turn that owns the session may do that. */
export async function findSession(
  input: WaitingInput,
  claimed: () => Promise<void>,
  parts: TurnParts,
): Promise<FoundSession> {
  const { agentId, lane: sessionKey, message } = input
  const ctx = contextFor(input, parts)
  const parent = parentKeyOf(input, parts)
  const init = await initSessionState({
    ctx,
    cfg: parts.config,
    sessionKey,
    ...(parent === undefined ? {} : { parentSessionKey: parent }),
    ...(input.wish?.heartbeat ? {} : { message }),
    keepsRoute: (entry) => input.wish !== undefined || !maySetRoute(input, entry, parts),
    defersTimes: true,
    bodyForAgent: (text) => bodyForAgent(ctx, text),
    beforeChange: claimed,
    parts: { ...parts, sessions: parts.sessions(agentId), transcripts: parts.transcripts(agentId) },
    storePath: parts.storePathOf(agentId),
    aliasIndex: buildModelAliasIndex(parts.config.agents),
  })
  if (init.previousSessionEntry) await leaveOldConversation(sessionKey, parts)
  return { session: { key: sessionKey, agentId, entry: init.sessionEntry }, init, ctx: init.sessionCtx }
}

function maySetRoute(input: WaitingInput, entry: SessionEntry, parts: TurnParts): boolean {
  if (routeOf(entry) === undefined) return true
  return mayChangeRoute(authorOfInput(input, parts), authorOfSession(input.lane, entry, parts))
}

export function contextFor(input: WaitingInput, parts: TurnParts): MsgContext {
  if (input.wish?.internal) {
    return {
      Body: input.message.text,
      BodyForAgent: input.message.text,
      BodyForCommands: '',
      ChatType: input.message.chatType,
    }
  }
  const mentions = parts.mentionsFor(input.message)
  return finalizeInboundContext(
    // Words that begin a session anew are a command, too, whatever the configuration calls them.
    contextOf(input.message, { mayCommand: input.mayCommand && mayGiveIn(input, 'reset'), mentions }),
    mentions,
  )
}

/** What people are told before the answer: that something is not as they left it. */
export function announcementsOf(found: FoundSession, input: WaitingInput): string[] {
  const { init } = found
  const told: string[] = []
  if (input.lostTurns > 0) told.push('(Retried: the first try was cut off.)')
  if (init.staleBecause) told.push(staleText(init.staleBecause, init.previousSessionEntry?.sessionId))
  if (init.resetTriggered) told.push(init.modelHint ? `New session with ${init.modelHint}.` : 'New session.')
  return told
}

function staleText(because: 'daily' | 'idle', oldId: string | undefined): string {
  const why = because === 'daily' ? 'the day is over' : 'nobody wrote for a while'
  const undo = oldId ? ` \`rockpool sessions restore ${oldId.slice(0, 8)}\` brings it back.` : ''
  return `(This is a new session: the last one ended because ${why}.${undo})`
}

/** The old conversation's process ends, and what happened in it is not told in the new one. */
async function leaveOldConversation(sessionKey: string, parts: TurnParts): Promise<void> {
  await Promise.all([parts.runtime.live(sessionKey)?.close(), parts.work.systemEvents.clear(sessionKey)])
}

function parentKeyOf({ message, agentId, lane }: WaitingInput, parts: TurnParts): string | undefined {
  const { threadId, ...address } = message.address
  if (threadId === undefined) return undefined
  const parent = sessionKeyOf({ ...message, address }, agentId, parts.config.session)
  return parent === lane ? undefined : parent
}
