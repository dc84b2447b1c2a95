// Who sends a message and who receives it: names that people type become addresses, and the caller becomes a sender.
import { isRunning } from '../../domain/coding-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { parseOriginChannel } from '../../domain/address.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { formatMailAddress, ownerAddress, parseMailAddress, type MailAddress } from '../../domain/mail.ts'
import { titleText } from '../../domain/machine-text.ts'
import { buildAgentMainSessionKey } from '../../domain/session-key.ts'
import { parseAgentSessionKey } from '../../domain/session-key-forms.ts'
import { plainName } from '../../mail/quote.ts'
import { callerAuthor, mayReadSession } from '../../rights/rights.ts'
import type { MailSender } from '../../rights/mail-rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'

export interface Party {
  address: string
  name: string
  agentId?: string
  /** Claude's id of the session. */
  session?: string
}

/** The caller as a sender. A call from inside of a session is never the owner's, nor is one with a token that may not approve. A
 *  client names its session itself, so a caller that is bound to an agent can only be a session of that agent, and a program can be
 *  none: it stays itself, and the named session or agent takes the reach of the operator away. */
export async function senderOf(app: App, caller: Caller): Promise<Party & MailSender> {
  const author = callerAuthor(caller)
  const { claudeSession, agentId, sessionKey } = caller
  if (caller.isProgram) {
    const kind = claudeSession === undefined && agentId === undefined ? 'program' : 'session'
    return { ...programOf(caller), agentId, author, kind }
  }
  if (claudeSession !== undefined) {
    const session = await sessionParty(app, claudeSession)
    if (!mayReadSession(session, agentId)) throw unknownSession(claudeSession)
    return { ...session, author, kind: 'session' }
  }
  if (giverOf(caller).mayApprove) return { address: ownerAddress, name: 'the owner', author, kind: 'owner' }
  if (agentId === undefined) return { ...programOf(caller), author, kind: 'program' }
  const key = sessionKey ?? buildAgentMainSessionKey({ agentId, mainKey: app.config.session.mainKey })
  return { address: `chat:${key}`, name: plainName(agentId), agentId, author, kind: 'chat' }
}

/** The recipient that people mean: an address, a coding session, or the id, title or beginning of an id of any session. What the
 *  caller may not name does not exist for it. */
export async function recipientOf(app: App, ref: string, caller: Caller): Promise<Party> {
  const party = await partyNamed(app, ref, caller).catch((error: unknown) => {
    throw error instanceof RockpoolError && error.code === 'not-found' ? unknownParty(ref) : error
  })
  if (await mayName(app, party, caller)) return party
  throw unknownParty(ref)
}

/** An agent can name its own sessions and chats, the owner, people, and those who wrote to it. */
async function mayName(app: App, party: Party, caller: Caller): Promise<boolean> {
  const { kind } = parseMailAddress(party.address)!
  if (kind === 'owner' || kind === 'person' || mayReadSession(party, caller.agentId)) return true
  const { address } = await senderOf(app, caller)
  return (await app.storage.mail.list({ with: [party.address], to: [address], limit: 1 })).length > 0
}

function programOf({ name, via }: Caller): Party {
  return programParty(name ?? via)
}

function programParty(token: string): Party {
  const name = plainName(token)
  return { address: formatMailAddress({ kind: 'program', name }), name }
}

function unknownParty(ref: string): RockpoolError {
  return new RockpoolError('not-found', `There is no session or chat ${JSON.stringify(ref.slice(0, 120))}.`, {
    hint: 'Give a name of `rockpool cc list`, the beginning of an id, chat:<session key>, person:<channel>|<target>, or owner.',
  })
}

async function partyNamed(app: App, ref: string, caller: Caller): Promise<Party> {
  const address = parseMailAddress(ref)
  if (address) return partyAt(app, address)
  const [coding, ...others] = app.storage.coding.resolve(ref, caller.agentId)
  if (coding && others.length === 0) return codingParty(app, coding)
  // A session that has just started is known by its report before discovery has read its transcript.
  if (await app.storage.mail.session(ref)) return sessionParty(app, ref)
  const found = await app.discovery().get(ref, (session) => mayReadSession(session, caller.agentId))
  return sessionParty(app, found.sessionId)
}

async function partyAt(app: App, address: MailAddress): Promise<Party> {
  const text = formatMailAddress(address)
  if (address.kind === 'owner') return { address: text, name: 'the owner' }
  if (address.kind === 'session') return sessionParty(app, address.root)
  if (address.kind === 'program') {
    if ((await app.storage.mail.list({ with: [text], limit: 1 })).length > 0)
      return programParty(address.name)
    throw unknownParty(text)
  }
  if (address.kind === 'person') {
    if (parseOriginChannel(address.chat)) return { address: text, name: plainName(address.chat) }
    throw new RockpoolError(
      'input-invalid',
      `${JSON.stringify(address.chat.slice(0, 80))} is not a person.`,
      {
        hint: 'person:<channel>|<target>, as in person:telegram|12345.',
      },
    )
  }
  const agentId = parseAgentSessionKey(address.sessionKey)?.agentId
  const entry =
    agentId === undefined ? undefined : await app.storage.sessions(agentId).get(address.sessionKey)
  if (entry) return { address: text, name: plainName(entry.label ?? address.sessionKey), agentId }
  throw unknownParty(text)
}

/** By Claude's id, or by the id of a coding session that has none yet. */
async function sessionParty(app: App, id: string): Promise<Party> {
  const coding = codingWith(app, id)
  if (coding) return codingParty(app, coding)
  const found = await app.mail().known(id)
  const known = found ?? (await app.storage.mail.session(id))
  if (!known) throw unknownSession(id)
  const root = await app.mail().office.rootOf(id)
  const name = found?.label ?? found?.title ?? found?.slug ?? titleText(found?.firstMessage ?? '')
  return {
    address: formatMailAddress({ kind: 'session', root }),
    name: plainName(name || id.slice(0, 8)),
    agentId: found?.agentId,
    session: id,
  }
}

function unknownSession(id: string): RockpoolError {
  return new RockpoolError('not-found', `There is no session ${JSON.stringify(id.slice(0, 80))}.`, {
    hint: '`rockpool cc list` shows all sessions.',
  })
}

async function codingParty(app: App, { id, name, request, ...coding }: CodingSession): Promise<Party> {
  const session = coding.sdkSessionId
  const root = await app.mail().office.rootOf(session ?? request.resume?.sdkSessionId ?? id)
  return {
    address: formatMailAddress({ kind: 'session', root }),
    name: plainName(name),
    agentId: request.agentId,
    session,
  }
}

/** The coding session with this id or this conversation; one that runs has priority. */
export function codingWith(app: App, id: string): CodingSession | undefined {
  const found = app.storage.coding.resolve(id).filter((row) => row.id === id || row.sdkSessionId === id)
  return found.find(isRunning) ?? found[0]
}
