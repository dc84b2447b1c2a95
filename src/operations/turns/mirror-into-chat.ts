// The delivery mirror: copies what a chat gets beside the answers of its agent (a message of a person or a script, a notice,
// an announcement of a coding session) into the transcript of the chat's session.
import { chatKey, isTerminal, personAt, type Address } from '../../domain/address.ts'
import { deliveryContextOf, type Session, type SessionEntry } from '../../domain/session.ts'
import { defaultAgentId, sessionKeyOf } from '../../domain/session-key.ts'
import type { ChatType } from '../../domain/message.ts'
import type { Delivery } from '../../domain/reply.ts'
import { parseAgentSessionKey } from '../../domain/session-key-forms.ts'
import { boundAgent } from '../../inbound/bindings.ts'
import { mirrorDelivery } from '../../sessions/transcript-changes.ts'
import type { App } from '../app.ts'

type Delivered = Pick<Delivery, 'address' | 'reply' | 'sessionKey' | 'writer'>

/** Does nothing for a chat without a session. */
export async function mirrorIntoChat(app: App, delivery: Delivered): Promise<void> {
  const session = await sessionOf(app, delivery)
  if (!session) return
  const { text, media = [] } = delivery.reply
  const parts = { transcripts: app.storage.transcripts(session.agentId), clock: app.clock }
  await mirrorDelivery(parts, session, { text, mediaUrls: media, writer: delivery.writer })
}

/** The session that the delivery names, else the one of the chat that it goes to. */
async function sessionOf(app: App, { sessionKey: key, address }: Delivered): Promise<Session | undefined> {
  return (
    (await sessionNamed(app, key)) ??
    (isTerminal(address) ? sessionNamed(app, address.to) : sessionOfChat(app, address))
  )
}

async function sessionNamed(app: App, key: string | undefined): Promise<Session | undefined> {
  const agentId = parseAgentSessionKey(key)?.agentId
  return agentId === undefined || key === undefined ? undefined : sessionAt(app, agentId, key)
}

async function sessionOfChat(app: App, address: Address): Promise<Session | undefined> {
  for (const chatType of chatTypesAt(address)) {
    const chat = { address, chatType, sender: { id: personAt(address) } }
    const agentId = boundAgent(chat, app.config.bindings) ?? defaultAgentId(app.config)
    const session = await sessionAt(app, agentId, sessionKeyOf(chat, agentId, app.config.session))
    if (session) return session
  }
  return lastTalkedTo(app, address)
}

/** On some platforms (the web page) the session is named after who writes, not after the chat. */
async function lastTalkedTo(app: App, address: Address): Promise<Session | undefined> {
  for (const agentId of app.agentIds()) {
    const { sessions } = await app.storage.sessions(agentId).list({ limit: newestSessions })
    const session = sessions.find(({ entry }) => isRoutedTo(entry, address))
    if (session) return session
  }
  return undefined
}

/** A notice is not worth reading more. */
const newestSessions = 200

function isRoutedTo(entry: SessionEntry, address: Address): boolean {
  const { channel, to, accountId = 'default', threadId } = deliveryContextOf(entry) ?? {}
  if (channel === undefined || to === undefined) return false
  const thread = threadId === undefined ? undefined : String(threadId)
  return chatKey({ channel, to, accountId, threadId: thread }) === chatKey(address)
}

async function sessionAt(app: App, agentId: string, key: string): Promise<Session | undefined> {
  const entry = await app.storage.sessions(agentId).get(key)
  return entry && { key, agentId, entry }
}

/** An address does not say what kind of chat it is; on most platforms its form does. */
function chatTypesAt({ channel, to }: Address): ChatType[] {
  if (channel === 'telegram') return to.startsWith('-') ? ['group', 'channel'] : ['direct']
  if (channel === 'whatsapp') return to.endsWith('@g.us') ? ['group'] : ['direct']
  if (channel === 'discord') return to.startsWith('user:') ? ['direct'] : ['group', 'channel']
  return ['direct']
}
