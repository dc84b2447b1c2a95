// Step two: the session of an input, and what people are told when it is not the one they think.
import type { SessionEntry, SessionSkillSnapshot, SessionSystemPromptReport } from '../domain/session.ts'
import { sessionKeyOf } from '../domain/session-key.ts'
import { readMessage, textForAgent } from '../inbound/message-text.ts'
import type { MessageText } from '../inbound/message-text.ts'
import { findSession as findInStore } from '../sessions/find-session.ts'
import type { FoundSession as SessionInStore } from '../sessions/find-session.ts'
import type { WaitingInput } from '../store/work-store.ts'
import { mayGiveIn } from './chat-commands.ts'
import type { TurnParts } from './flow-parts.ts'
import { mayChangeRoute } from '../rights/chat-rights.ts'
import { routeOf } from './session-route.ts'
import { authorOfInput, authorOfSession } from './turn-rights.ts'

export interface FoundSession extends SessionInStore {
  text: MessageText
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
  const text = readInput(input, parts)
  const found = await findInStore({
    key: sessionKey,
    // Words that reset a session are a command, whatever the configuration calls them.
    commandText: input.mayCommand && mayGiveIn(input, 'reset') ? text.forCommands : '',
    parentKey: parentKeyOf(input, parts),
    message: input.wish?.heartbeat ? undefined : message,
    keepsRoute: (entry) => input.wish !== undefined || !maySetRoute(input, entry, parts),
    defersTimes: true,
    beforeChange: claimed,
    config: parts.config,
    parts: { ...parts, sessions: parts.sessions(agentId), transcripts: parts.transcripts(agentId) },
  })
  if (found.previous) await leaveOldConversation(sessionKey, parts)
  const { reset } = found
  const forAgent = reset && 'text' in reset ? textForAgent(reset.text, message) : text.forAgent
  return { ...found, text: { ...text, forAgent } }
}

function maySetRoute(input: WaitingInput, entry: SessionEntry, parts: TurnParts): boolean {
  if (routeOf(entry) === undefined) return true
  return mayChangeRoute(authorOfInput(input, parts), authorOfSession(input.lane, entry, parts))
}

export function readInput({ wish, message }: WaitingInput, parts: TurnParts): MessageText {
  if (wish?.internal) return { forAgent: message.text, forCommands: '', untrusted: [] }
  return readMessage(message, parts.mentionsFor(message))
}

/** What people are told before the answer: that something is not as they left it. */
export function announcementsOf({ reset, previous }: FoundSession, input: WaitingInput): string[] {
  const told: string[] = []
  if (input.lostTurns > 0) told.push('(Retried: the first try was cut off.)')
  if (!reset) return told
  if ('text' in reset) told.push(reset.model ? `New session with ${reset.model}.` : 'New session.')
  else told.push(staleText(reset.why, previous?.sessionId))
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
