// Messages to a session, on their way to Claude. A message waits in `inbox`; then it is in `given`, because Claude may die
// before it records it; when its turn has ended, it is removed. None is lost, unless a person ends the session.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../../domain/agent.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import type { AgentParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { withoutGiven } from './session-changes.ts'

/** Fields that are stored together with a message. */
type OtherFields = Pick<Partial<CodingSession>, 'autoResponds' | 'unseen' | 'expired'>

/** Throws when the message cannot be stored: then the session does not have it. */
export function addMessage(record: LiveRecord, text: string, fields: OtherFields): Promise<void> {
  return record.request(({ inbox }) => ({ ...fields, inbox: [...inbox, text] }))
}

/** Called just before Claude gets the first message of the inbox. Resolves to its uuid. */
export async function moveToGiven(record: LiveRecord): Promise<string> {
  const uuid = randomUUID()
  await record.change(({ given, inbox: [text = '', ...inbox] }) => ({
    inbox,
    given: [...given, { uuid, text }],
  }))
  return uuid
}

/** Adds a message to the running turn. False when that turn ended while the message was stored: it waits for the next one. */
export async function joinTurn(
  record: LiveRecord,
  text: string,
  to: { conversation: Conversation | undefined; over: AbortSignal },
  fields: OtherFields,
): Promise<boolean> {
  const message = { uuid: randomUUID(), text }
  await record.request(({ given }) => ({ ...fields, given: [...given, message] }))
  // If the session has ended meanwhile, the message is delivered when it is resumed.
  if (to.over.aborted || to.conversation?.steer(message)) return true
  await record.change((session) => ({
    ...withoutGiven(session, [message.uuid]),
    inbox: [...session.inbox, text],
  }))
  return false
}

/** Messages that Claude may not have, according to the row. Without an owner, the given messages count too: Claude may not have
 *  recorded them. */
export function pendingMessages({ inbox, given, owner }: CodingSession): string[] {
  return owner ? inbox : [...textsOf(given), ...inbox]
}

/** Messages to deliver when the session is resumed: those given that Claude's transcript does not have, then the inbox. */
export async function undeliveredMessages(
  agents: Pick<AgentParts, 'runtime'>,
  session: CodingSession,
): Promise<string[]> {
  const { sdkSessionId, given, inbox } = session
  if (given.length === 0 || sdkSessionId === undefined) return inbox
  // Opening the runtime ends orphaned processes, so the transcript does not grow any more.
  const received = await (await agents.runtime(kindOf(session))).received(sdkSessionId, given)
  return [...textsOf(given.filter(({ uuid }) => !received.has(uuid))), ...inbox]
}

function textsOf(given: CodingSession['given']): string[] {
  return given.map(({ text }) => text)
}

/** `/compact` and the like are for Claude Code itself. The first message starts with the marker, so it never is a command. */
export function isCommand(text: string): boolean {
  return /^\/[a-z][\w:-]*(\s|$)/.test(text)
}

/** Places `aside` before the message. A command must stand alone: then `left` is the text for the message after it. */
export function withAside(
  { aside }: Pick<CodingSession, 'aside'>,
  text: string,
): { text: string; left?: string } {
  return aside === undefined || isCommand(text) ? { text, left: aside } : { text: `${aside}\n\n${text}` }
}
