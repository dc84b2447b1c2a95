// How mail reaches each kind of recipient: coding sessions through their row, terminal sessions by their wake file, chats through
// the outbox. mail/mail-carrier.ts decides when.
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { wakeSession } from '../../claude-hooks/wake.ts'
import { configDirsOf } from '../../discovery/list-files.ts'
import { readLiveSessions, type LiveSession } from '../../discovery/registries.ts'
import { isPrivateChat, parseOriginChannel, type Address } from '../../domain/address.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { isOn, isRunning } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { ownerAddress, parseMailAddress, type Mail } from '../../domain/mail.ts'
import { noticeFor } from '../../domain/reply.ts'
import { addressOfSession } from '../../domain/session.ts'
import { parseAgentSessionKey } from '../../domain/session-key-forms.ts'
import {
  MailCarrier,
  type CarrierActions,
  type MailPart,
  type RunningCoding,
} from '../../mail/mail-carrier.ts'
import { PostOffice } from '../../mail/post-office.ts'
import { quoted, senderLine } from '../../mail/quote.ts'
import { isOwnersChat } from '../../rights/owners.ts'
import { formatProcess, identifyProcess, isProcessAlive } from '../../store/disk/process-identity.ts'
import type { App } from '../app.ts'
import { codingWith } from './mail-parties.ts'

export function openMail(app: App): MailPart {
  const { storage, clock, log } = app
  const { cluster } = storage
  const machine = cluster?.machines.name ?? hostname()
  const holder = `${machine}|${formatProcess(identifyProcess(process.pid)!)}`
  const basis = {
    store: storage.mail,
    clock,
    machine,
    holder,
    get config() {
      return app.config.mail
    },
  }
  const machineLives = async (name: string): Promise<boolean> =>
    (await cluster?.machines.lives(name)) === true
  const known = knownSessions(app)
  const office: PostOffice = new PostOffice({
    ...basis,
    originOf: (session) => originOf(app, known, session),
    isRunningCoding(session) {
      const coding = codingWith(app, session)
      return coding !== undefined && isRunning(coding)
    },
    whyNotGive: (session, mailId) => whyNotGive(app, session, mailId),
    onWork: () => void carrier.look(),
    onChange: () => app.events.emit({ type: 'mail-changed' }),
  })
  const carrier: MailCarrier = new MailCarrier({
    ...basis,
    office,
    log,
    actions: carrierActions(app, office, known),
    holderLives: async (line) => {
      const at = line.indexOf('|')
      const host = line.slice(0, at)
      return host === machine ? isProcessAlive(line.slice(at + 1)) : machineLives(host)
    },
    machineLives,
  })
  return { office, carrier, known }
}

const knownMs = 5_000
const mostAsked = 1_000

/** Discovery reads the whole registry for each answer, so one answer serves all sessions of recent questions. */
function knownSessions(app: App): MailPart['known'] {
  let asked = new Set<string>()
  let askedAt = -Infinity
  let found = Promise.resolve(new Map<string, DiscoveredSession>())
  const lookUp = async (ids: Iterable<string>): Promise<Map<string, DiscoveredSession>> =>
    new Map((await app.discovery().known(ids)).map((each) => [each.sessionId, each]))
  const failed = (): void => void (askedAt = -Infinity)
  return async (session) => {
    const now = app.clock.monotonic()
    const isNew = !asked.has(session)
    if (now - askedAt >= knownMs) {
      asked = new Set([session, ...[...asked].slice(0, mostAsked)])
      askedAt = now
      found = lookUp(asked)
    } else if (isNew) {
      asked.add(session)
      found = Promise.all([found, lookUp([session])]).then(([all, one]) => new Map([...all, ...one]))
    }
    found.catch(failed)
    return (await found).get(session)
  }
}

/** A fresh coding session has its own id as its address, so that mail finds it before Claude has started. */
async function originOf(app: App, known: MailPart['known'], session: string): Promise<string | undefined> {
  const coding = codingWith(app, session)
  if (coding?.id === session) return undefined
  if (coding) return coding.request.resume?.sdkSessionId ?? coding.resumedFrom ?? coding.id
  return (await known(session))?.forkedFrom
}

/** A session in a terminal judges by itself what it does with mail: its person sits in front of it. */
async function whyNotGive(app: App, session: string, mailId: string): Promise<string | undefined> {
  const coding = codingWith(app, session)
  if (!coding || !isRunning(coding)) return undefined
  const giver = await app.storage.mail.giver(mailId)
  const check = app.coding().givenBy(giver).check(coding)
  return check.then(
    () => undefined,
    (error: unknown) => asRockpoolError(error).message,
  )
}

function carrierActions(app: App, office: PostOffice, known: MailPart['known']): CarrierActions {
  const { storage } = app
  const live = liveRegistry(app)
  return {
    runningCoding: () => runningCoding(app, office),
    async sendToCoding(id, text, mails) {
      const userInitiated = mails.every(({ sender }) => sender === ownerAddress)
      const [first, ...others] = await Promise.all(mails.map((mail) => storage.mail.giver(mail.id)))
      await app
        .coding()
        .givenBy(first!, ...others)
        .respond(id, text, { userInitiated })
    },
    isDone: (codingId, mailId) => isDone(app, codingId, mailId),
    transcriptOf: async (session) => (await known(session))?.filePath,
    statusOf: (session) => live().get(session)?.status,
    ring: (session) => wakeSession(app.paths.root, session, app.clock.now()),
    canResume: async (mail) => (await resumableHere(app, known, mail)) !== undefined,
    resume: (mail, text) => resume(app, known, mail, text),
    post: (mail) => post(app, mail),
  }
}

/** Another machine does not know: its copy of the row may be older than the delivery. */
function isDone(app: App, codingId: string, mailId: string): boolean {
  const machine = app.storage.cluster?.machines.name
  const row = app.storage.coding.get(codingId)
  if (!row) return machine === undefined
  if (!isOn(machine, row)) return false
  const pending = [...row.inbox, ...row.given.map(({ text }) => text)]
  return !pending.some((text) => text.includes(mailId))
}

/** The registry is read at most every 300 ms: one look asks for many sessions. */
function liveRegistry(app: App): () => Map<string, LiveSession> {
  const { environment, config, clock } = app
  const dirs = configDirsOf({ ...environment, discovery: config.discovery })
  let readAt = -Infinity
  let live = new Map<string, LiveSession>()
  return () => {
    if (clock.monotonic() - readAt > 300) {
      readAt = clock.monotonic()
      live = readLiveSessions(dirs)
    }
    return live
  }
}

async function runningCoding(app: App, office: PostOffice): Promise<RunningCoding[]> {
  const machine = app.storage.cluster?.machines.name
  const running = app.storage.coding
    .list({ running: true })
    .filter((row) => isRunning(row) && isOn(machine, row))
  const found: RunningCoding[] = []
  for (const { id, sdkSessionId, request, lifecycle } of running) {
    const known = sdkSessionId ?? request.resume?.sdkSessionId ?? id
    const root = await office.rootOf(known)
    found.push({ id, root, session: sdkSessionId, isIdle: lifecycle === 'awaiting-input' })
  }
  return found
}

/** In the background, as a coding session. The id follows from the message, so that a repeat starts no second one. */
async function resume(
  app: App,
  known: MailPart['known'],
  mail: Mail,
  text: string,
): Promise<string | undefined> {
  const target = await resumableHere(app, known, mail)
  if (target === undefined) return undefined
  const id = `M${createHash('sha256').update(mail.id).digest('hex').slice(0, 7)}`
  if (app.storage.coding.get(id)) return id
  const giver = await app.storage.mail.giver(mail.id)
  return (await app.coding().givenBy(giver).resume(target, text, { id })).id
}

/** The session to resume; undefined if it is not on this machine. */
async function resumableHere(
  app: App,
  known: MailPart['known'],
  { recipient, session }: Mail,
): Promise<string | undefined> {
  const address = parseMailAddress(recipient)
  const target = session ?? (address?.kind === 'session' ? address.root : '')
  const coding = codingWith(app, target)
  if (coding) return isOn(app.storage.cluster?.machines.name, coding) ? coding.id : undefined
  return (await known(target)) ? target : undefined
}

/** The outbox accepts each message once. */
async function post(app: App, mail: Mail): Promise<'sent' | 'failed' | undefined> {
  const { people, work } = app.storage
  const { outbox } = work
  const id = `mail-${mail.id}`
  const row = await outbox.get(id)
  if (row) return row.state === 'sent' ? 'sent' : row.state === 'dead' ? 'failed' : undefined
  const address = await chatOf(app, mail.recipient)
  if (!address) return undefined
  const kind = parseMailAddress(mail.recipient)?.kind
  const text = `✉️ From ${senderLine(mail)}:\n${quoted(mail.body)}`
  const notice = noticeFor(address, text, `mail:${mail.id}`, app.clock.now())
  await people.ready()
  // Only the owner writes to people outside.
  const forAnybody = kind === 'person'
  const forOwner = !forAnybody && (kind === 'owner' || isOwnersChat(address, app.config.channels, people))
  await outbox.leave([{ ...notice, id, forOwner, forAnybody }])
  return undefined
}

/** Undefined: the message waits in the inbox of its recipient. */
async function chatOf(app: App, recipient: string): Promise<Address | undefined> {
  const address = parseMailAddress(recipient)
  if (address?.kind === 'person') return parseOriginChannel(address.chat)
  if (address?.kind === 'owner') return ownersChat(app)
  const sessionKey = address?.kind === 'chat' ? address.sessionKey : ''
  const agentId = parseAgentSessionKey(sessionKey)?.agentId
  return agentId === undefined
    ? undefined
    : addressOfSession(await app.storage.sessions(agentId).get(sessionKey))
}

/** The chat that the configuration names, unless it is a private chat of another person than the owner. */
async function ownersChat({ config, storage: { people } }: App): Promise<Address | undefined> {
  await people.ready()
  const chat = parseOriginChannel(config.coding.fallbackChannel ?? '')
  const isTheirs = chat && (!isPrivateChat(chat) || isOwnersChat(chat, config.channels, people))
  return isTheirs ? chat : undefined
}
