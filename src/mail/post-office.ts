// The post office: accepts messages, knows which sessions share an address, and hands out what waits for a session. Sessions that
// Claude Code runs ask here with each event of the plugin; mail-carrier.ts brings the rest.
import { KeyedQueue } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { MailConfig } from '../domain/config/mail-settings.ts'
import { formatMailAddress, ownerAddress, type Mail, type NewMail } from '../domain/mail.ts'
import { orderedId } from '../domain/turn.ts'
import type { MailStore } from '../store/tables/mail.ts'
import { quoteMail } from './quote.ts'
import { readTraces } from './transcript-trace.ts'

interface PostOfficeParts {
  store: MailStore
  clock: Clock
  readonly config: MailConfig
  /** Identifies this process among those that deliver. */
  holder: string
  /** The name of this machine. */
  machine: string
  /** The session that this one is a fork or a continuation of, if its transcript or our rows tell. */
  originOf: (session: string) => Promise<string | undefined>
  /** Is it a coding session of ours that runs? */
  isRunningCoding: (session: string) => boolean
  /** Why a running coding session of ours may not have a message of this sender; undefined for all others. */
  whyNotGive: (session: string, mailId: string) => Promise<string | undefined>
  /** A message was accepted, or a session can receive one now. */
  onWork: () => void
  /** A message was accepted, or a receipt has changed. */
  onChange: () => void
}

/** The messages that a session is about to receive. Call `arrived` when it was sent, `unsure` when that is unknown, or `keep`
 *  when it was not sent. */
export interface Handout {
  text: string
  mails: Mail[]
  arrived(): Promise<void>
  unsure(): Promise<void>
  keep(): Promise<void>
}

/** Claude Code shortens longer texts of hooks. */
const mostCharsAtOnce = 9_000
const longestLineage = 1_000
/** Claude Code has written an answer to a hook to the transcript after this time. */
const recordedMs = 10_000

export class PostOffice {
  #parts: PostOfficeParts
  /** Recipients with waiting mail at the last look of the carrier; undefined without a carrier. */
  #recipients: ReadonlySet<string> | undefined
  /** The addresses of sessions, because every tool call of every session asks for them. */
  #addresses = new Map<string, readonly string[]>()
  /** Messages whose answer is on its way to a session. */
  #inFlight = new Set<string>()
  /** What is being marked as delivered, by session: a fast turn ends before that is on disk. */
  #arriving = new KeyedQueue()
  /** Sessions that may be forks whose transcript was not read yet, and how often to look at it. */
  #newForks = new Map<string, number>()
  /** Sessions that this process knows to have started. */
  #present = new Set<string>()

  constructor(parts: PostOfficeParts) {
    this.#parts = parts
  }

  async send(
    mail: Omit<NewMail, 'expiresAt' | 'depth'>,
    from: { session?: string; key?: string },
  ): Promise<Mail> {
    const { store, clock, config, onWork, onChange } = this.#parts
    const now = clock.now()
    const depth = from.session === undefined ? 0 : ((await store.session(from.session))?.depth ?? 0)
    const limits = {
      perMinute: mail.sender === ownerAddress ? undefined : config.perMinute,
      maxWaiting: config.maxWaiting,
    }
    const whole = { ...mail, id: orderedId(now), depth, expiresAt: now + config.keepDays * 86_400_000 }
    const accepted = await store.accept(whole, now, limits, from.key)
    if (mail.replyTo !== undefined && from.session !== undefined)
      await this.#answered(mail.replyTo, from.session)
    this.#recipients = this.#recipients && new Set([...this.#recipients, accepted.recipient])
    onChange()
    onWork()
    return accepted
  }

  /** An answer shows that the message was read. */
  async #answered(id: string, by: string): Promise<void> {
    const { store, clock } = this.#parts
    const unread = await store.unread(by)
    await store.read(
      unread.filter((mail) => mail.id === id).map((mail) => mail.id),
      clock.now(),
    )
  }

  /** The address of a session: the id of the first session of its lineage. */
  async rootOf(session: string): Promise<string> {
    const { store, originOf } = this.#parts
    let root = session
    for (let steps = 0; steps < longestLineage; steps++) {
      const known = await store.session(root)
      const origin = known ? known.root : await originOf(root)
      if (origin === undefined || origin === root || origin === session) return root
      root = origin
    }
    return root
  }

  /** A session has started or continues. After `/clear` it has the address of the session that its process had before. */
  async started(session: string, by: { pid?: number; source?: string } = {}): Promise<void> {
    const { store, clock, machine, onWork } = this.#parts
    const { pid, source } = by
    if (source !== 'startup') this.#newForks.set(session, source === 'fork' ? Infinity : 30)
    const previous =
      source === 'clear' && pid !== undefined ? await store.lastOf(machine, pid, session) : undefined
    const root = await this.rootOf(previous ?? session)
    await store.sessionStarted({ session, root, machine, pid, startedAt: clock.now() })
    this.#addresses.delete(session)
    this.#present.add(session)
    if (previous !== undefined) {
      // Its first prompt may have been reported before its start, without what it continues.
      await store.setRoot(session, root)
      await this.ended(previous)
    }
    // A session that was killed in its turn may not have seen what it was sent.
    await store.redeliverUnread(session)
    onWork()
  }

  async ended(session: string): Promise<void> {
    const { store, clock, onWork } = this.#parts
    await store.sessionEnded(session, clock.now())
    this.#addresses.delete(session)
    this.#present.delete(session)
    this.#newForks.delete(session)
    await store.redeliverUnread(session)
    onWork()
  }

  /** An event of a session whose start was not reported: there was no gateway, or no plugin yet. */
  async noticed(session: string): Promise<void> {
    if (this.#present.has(session)) return
    const known = await this.#parts.store.session(session)
    if (!known || known.endedAt !== undefined || known.machine !== this.#parts.machine)
      await this.started(session)
    this.#present.add(session)
  }

  /** Called when a person wrote the prompt: from now on, messages of the session are not answers to mail. */
  async prompted(session: string): Promise<void> {
    await this.#parts.store.setDepth(session, 0)
  }

  /** The session waits for its user: the model has seen what was delivered before, if the transcript shows it. What is not there
   *  did not arrive, and waits again. */
  async turnEnded(session: string, transcript?: string): Promise<void> {
    const { store, clock, onWork, onChange } = this.#parts
    await this.#arriving.run(session, async () => {
      const unread = await store.unread(session)
      const traceOf = transcript !== undefined && unread.length > 0 ? await readTraces(transcript) : undefined
      const now = clock.now()
      const read = unread.filter(({ id }) => !traceOf || traceOf(id) === 'answered')
      const lost = unread.filter(
        ({ id, deliveredAt = now }) => now - deliveredAt >= recordedMs && traceOf?.(id) === 'absent',
      )
      await store.read(idsOf(read), now)
      await store.redeliver(idsOf(lost))
      if (read.length + lost.length > 0) onChange()
    })
    onWork()
  }

  /** The transcript of a fork, which tells its origin, exists from the first turn on, and is read a moment later. */
  async recogniseForks(): Promise<void> {
    for (const [session, times] of this.#newForks) {
      if (times > 0) this.#newForks.set(session, times - 1)
      else this.#newForks.delete(session)
      await this.#noticeFork(session)
    }
  }

  async #noticeFork(session: string): Promise<void> {
    const { store } = this.#parts
    const known = await store.session(session)
    const origin = known?.root === session ? await this.#parts.originOf(session) : undefined
    if (origin === undefined || origin === session) return
    await store.setRoot(session, await this.rootOf(origin))
    this.#newForks.delete(session)
    this.#addresses.delete(session)
  }

  /** The waiting messages of this session, claimed for it; undefined if there are none. */
  async collect(session: string): Promise<Handout | undefined> {
    const { store, clock, holder, onChange } = this.#parts
    if (this.#recipients?.size === 0) return undefined
    const recipients = await this.#recipientsOf(session)
    if (this.#recipients && !recipients.some((recipient) => this.#recipients!.has(recipient)))
      return undefined
    const eligible = await this.eligible(session, await store.waiting(recipients, 50))
    // Another event of the session may be collecting at the same moment.
    const wanted = eligible.filter((id) => !this.#inFlight.has(id))
    // Before they are claimed, so that the carrier never finds a claim of this process that is not in flight.
    for (const id of wanted) this.#inFlight.add(id)
    // If the database fails, the carrier releases what is no longer in flight.
    const land = (): void => wanted.forEach((id) => this.#inFlight.delete(id))
    const end = (work: Promise<void>): Promise<void> => work.finally(land).then(onChange)
    const mails = await store.take(wanted, holder, session).catch((error: unknown) => {
      land()
      throw error
    })
    if (mails.length === 0) {
      land()
      return undefined
    }
    const ids = mails.map(({ id }) => id)
    return {
      mails,
      text: quoteMail(mails),
      arrived: () => this.#arriving.run(session, () => end(store.delivered(ids, session, clock.now()))),
      unsure: () => end(store.release(ids, holder)),
      keep: () => end(store.putBack(ids, holder)),
    }
  }

  /** Those of these messages that no other reader gets; they count as delivered to their recipient. */
  async receive(mails: readonly Mail[]): Promise<Mail[]> {
    const { store, clock, holder, onChange } = this.#parts
    const ids = idsOf(mails)
    for (const id of ids) this.#inFlight.add(id)
    try {
      const taken = await store.take(ids, holder)
      if (taken.length === 0) return []
      await store.delivered(idsOf(taken), taken[0]!.recipient, clock.now())
      onChange()
      return taken
    } finally {
      for (const id of ids) this.#inFlight.delete(id)
    }
  }

  isInFlight(id: string): boolean {
    return this.#inFlight.has(id)
  }

  /** The ids of the waiting messages that this session may have, as many as fit into one text. */
  async eligible(session: string, waiting: readonly Mail[]): Promise<string[]> {
    const mine: string[] = []
    let room = mostCharsAtOnce
    for (const mail of waiting) {
      if (!(await this.mayReceive(session, mail))) continue
      room -= mail.body.length + 400
      if (room < 0 && mine.length > 0) break
      mine.push(mail.id)
    }
    return mine
  }

  /** The session that was named has priority while it lives; then every session of its lineage may have the message. A coding
   *  session gets it only if its sender may give messages to that session. */
  async mayReceive(session: string, mail: Pick<Mail, 'id' | 'session'>): Promise<boolean> {
    if (!(await this.#isFor(session, mail))) return false
    const reason = await this.#parts.whyNotGive(session, mail.id)
    if (reason !== undefined) await this.#parts.store.note(mail.id, reason)
    return reason === undefined
  }

  async #isFor(session: string, { session: named }: Pick<Mail, 'session'>): Promise<boolean> {
    if (named === undefined || named === session) return true
    const row = await this.#parts.store.session(named)
    return row ? row.endedAt !== undefined : !this.#parts.isRunningCoding(named)
  }

  noteRecipients(recipients: ReadonlySet<string>): void {
    this.#recipients = recipients
  }

  async #recipientsOf(session: string): Promise<readonly string[]> {
    const cached = this.#addresses.get(session)
    if (cached) return cached
    const known = await this.#parts.store.session(session)
    const roots = new Set([known?.root ?? (await this.rootOf(session)), session])
    const addresses = [...roots].map((root) => formatMailAddress({ kind: 'session', root }))
    if (known) this.#addresses.set(session, addresses)
    return addresses
  }
}

function idsOf(mails: readonly Mail[]): string[] {
  return mails.map(({ id }) => id)
}
