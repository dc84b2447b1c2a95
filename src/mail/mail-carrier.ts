// Brings mail that no event of a session asks for: to our own coding sessions, to idle sessions by waking them, to ended sessions
// by resuming them, to chats. Runs in the gateway; with several machines each one serves the sessions that it hosts.
import { SharedRun } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { MailConfig } from '../domain/config/mail-settings.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { parseMailAddress, type Mail, type MailSession } from '../domain/mail.ts'
import type { MailStore, WaitingFor } from '../store/tables/mail.ts'
import type { PostOffice } from './post-office.ts'
import { quoteMail } from './quote.ts'
import { whyNotWake } from './wake-rules.ts'

/** A coding session of ours that this machine runs. */
export interface RunningCoding {
  id: string
  /** Its address. */
  root: string
  /** Claude's id, once known. */
  session?: string
  /** It waits for its next message. */
  isIdle: boolean
}

export interface CarrierActions {
  /** The running coding sessions on this machine. */
  runningCoding(): Promise<RunningCoding[]>
  /** Resolves when the text is stored in the row of the session. */
  sendToCoding(id: string, text: string, mails: readonly Mail[]): Promise<void>
  /** Has the coding session nothing left to do with this message? */
  isDone(codingId: string, mailId: string): boolean
  /** The path of the transcript of a session on this machine, if discovery knows the session. */
  transcriptOf(session: string): Promise<string | undefined>
  /** The entry of Claude's registry on this machine; undefined if the session does not run here. */
  statusOf(session: string): 'busy' | 'idle' | 'waiting' | undefined
  ring(session: string): void
  /** Is the session of the recipient on this machine? */
  canResume(mail: Mail): Promise<boolean>
  /** Continues the lineage in the background with this text, once for each message. Undefined: it is not on this machine. */
  resume(mail: Mail, text: string): Promise<string | undefined>
  /** Enqueues it for a chat, once for each message. Undefined while it is not sent; refuses if the chat does not exist. */
  post(mail: Mail): Promise<'sent' | 'failed' | undefined>
}

/** The parts of mail that operations use. */
export interface MailPart {
  office: PostOffice
  carrier: MailCarrier
  /** What discovery knows of a session, at most a few seconds old: it reads Claude's whole registry for an answer. */
  known: (session: string) => Promise<DiscoveredSession | undefined>
}

interface CarrierParts {
  store: MailStore
  office: PostOffice
  actions: CarrierActions
  clock: Clock
  log: Log
  readonly config: MailConfig
  machine: string
  holder: string
  /** Does the process of this holder still run? */
  holderLives: (holder: string) => Promise<boolean>
  /** Of another machine that shares the database. */
  machineLives: (machine: string) => Promise<boolean>
}

const lookEveryMs = 500
/** After a look, further reasons to look wait this long: one look serves all of them. */
const restMs = 100
const upkeepEveryMs = 2_000
const ringAgainMs = 5_000
const forgetEveryMs = 3_600_000
const keptMs = 30 * 86_400_000
const hourMs = 3_600_000

export class MailCarrier {
  #parts: CarrierParts
  #looks = new SharedRun(() => this.#look())
  #cancel = (): void => {}
  #isRunning = false
  #upkeepAt = 0
  #forgetAt = 0
  #rangAt = new Map<string, number>()
  #lookedAt = -Infinity
  /** As of this look; the sessions that have not ended are by root. */
  #coding: RunningCoding[] = []
  #live = new Map<string, MailSession[]>()

  constructor(parts: CarrierParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isRunning = true
    void this.look()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancel()
    await this.#looks.idle()
  }

  /** Looks now. Does nothing before `start`: a command accepts mail, and the gateway delivers it. */
  async look(): Promise<void> {
    if (!this.#isRunning) return
    const { clock } = this.#parts
    this.#cancel()
    const rest = this.#lookedAt + restMs - clock.monotonic()
    if (rest > 0) {
      this.#cancel = clock.after(rest, () => void this.look())
      return
    }
    try {
      await this.#looks.start()
    } catch (error) {
      this.#parts.log.warn(
        { event: 'mail-not-looked', error: String(error) },
        'Could not look for mail; trying again in a moment.',
      )
    }
    this.#lookedAt = clock.monotonic()
    this.#cancel()
    if (this.#isRunning) this.#cancel = clock.after(lookEveryMs, () => void this.look())
  }

  async #look(): Promise<void> {
    const { store, office, clock } = this.#parts
    if (clock.now() >= this.#upkeepAt) {
      this.#upkeepAt = clock.now() + upkeepEveryMs
      await this.#upkeep()
    }
    const waiting = Map.groupBy(await store.recipients(), ({ recipient }) => recipient)
    office.noteRecipients(new Set(waiting.keys()))
    if (waiting.size === 0) return
    this.#coding = await this.#parts.actions.runningCoding()
    this.#live = Map.groupBy(await store.live(), ({ root }) => root)
    for (const [recipient, wanted] of waiting) {
      if (!this.#isRunning) return
      await this.#logged(recipient, () => this.#serve(recipient, wanted))
    }
  }

  async #serve(recipient: string, wanted: WaitingFor[]): Promise<void> {
    const address = parseMailAddress(recipient)
    if (address?.kind === 'session') return this.#serveSession(address.root, recipient, wanted)
    for (const mail of await this.#waiting(recipient)) await this.#post(mail)
  }

  #waiting(recipient: string): Promise<Mail[]> {
    return this.#parts.store.waiting([recipient], 50)
  }

  /** Reads the messages only if there is something to do here: a working session asks for its mail by itself. */
  async #serveSession(root: string, recipient: string, wanted: WaitingFor[]): Promise<void> {
    const { actions, machine } = this.#parts
    const coding = this.#coding.filter((one) => one.root === root)
    const lineage = this.#live.get(root) ?? []
    // A session that started without a gateway has reported nothing, and can be woken all the same.
    const named = [...lineage, ...wanted].flatMap(({ session }) => session ?? [])
    const here = [...new Set([root, ...named])].filter((session) => actions.statusOf(session) !== undefined)
    const idle = here.filter((session) => actions.statusOf(session) === 'idle')
    const isElsewhere = lineage.some((one) => one.machine !== machine)
    const mayResume = here.length + coding.length === 0 && !isElsewhere && wanted.some(({ resume }) => resume)
    if (coding.length + idle.length === 0 && !mayResume) return
    const waiting = await this.#waiting(recipient)
    for (const one of coding)
      await this.#serveCoding(one, root, await this.#forMember(one.session ?? one.id, waiting))
    for (const session of idle) await this.#wake(session, root, await this.#forMember(session, waiting))
    if (!mayResume) return
    for (const mail of waiting)
      if (mail.resume && (await actions.canResume(mail))) await this.#resume(mail, root)
  }

  async #forMember(session: string, waiting: Mail[]): Promise<Mail[]> {
    const mine: Mail[] = []
    for (const mail of waiting) if (await this.#parts.office.mayReceive(session, mail)) mine.push(mail)
    return mine
  }

  /** A working session gets the message in its turn. One that waits is woken by it. */
  async #serveCoding({ id, session, isIdle }: RunningCoding, root: string, waiting: Mail[]): Promise<void> {
    const { store, office, actions, clock, holder, machine } = this.#parts
    if (waiting.length === 0) return
    const allowed = isIdle ? await this.#thatMayWake(root, waiting) : waiting
    // The row of the coding session keeps the depth of its turn.
    if (session !== undefined && !(await store.session(session)))
      await store.sessionStarted({ session, root, machine, startedAt: clock.now() })
    const mails = await store.take(await office.eligible(session ?? id, allowed), holder, session)
    if (mails.length === 0) return
    const ids = mails.map((mail) => mail.id)
    try {
      if (isIdle) await store.woke(ids, clock.now())
      await actions.sendToCoding(id, quoteMail(mails), mails)
    } catch (error) {
      // The session refused the text, so nothing was sent.
      await store.putBack(ids, holder)
      for (const mailId of ids) await store.note(mailId, asRockpoolError(error).message)
      return
    }
    await store.delivered(ids, `coding:${id}`, clock.now())
  }

  /** Wakes the session, which then asks for its mail by an event. Wakes it again if it does not ask. */
  async #wake(session: string, root: string, waiting: Mail[]): Promise<void> {
    const { store, actions, clock } = this.#parts
    if (waiting.length === 0) return
    const allowed = await this.#thatMayWake(root, waiting)
    const now = clock.now()
    const isNew = allowed.some(({ wokeAt }) => wokeAt === undefined)
    const isDue = now - (this.#rangAt.get(session) ?? -Infinity) >= ringAgainMs
    if (allowed.length === 0 || (!isNew && !isDue)) return
    await store.woke(
      allowed.map(({ id }) => id),
      now,
    )
    this.#rangAt.set(session, now)
    actions.ring(session)
  }

  async #thatMayWake(root: string, waiting: Mail[]): Promise<Mail[]> {
    const { store, clock, config } = this.#parts
    const now = clock.now()
    const facts = {
      policy: await store.wakePolicy(root),
      wakesOfSession: await store.wakes(now - hourMs, waiting[0]!.recipient),
      wakesOfAll: await store.wakes(now - 24 * hourMs),
    }
    const allowed: Mail[] = []
    for (const mail of waiting) {
      // A message that has woken the session before is paid for.
      const reason = mail.wokeAt === undefined ? whyNotWake(mail, facts, config) : undefined
      if (reason === undefined) allowed.push(mail)
      else await store.note(mail.id, reason)
    }
    // Once awake, the session receives the others, too.
    return allowed
  }

  async #resume(mail: Mail, root: string): Promise<void> {
    const { store, actions, clock, holder } = this.#parts
    const [allowed] = await this.#thatMayWake(root, [mail])
    const [taken] = allowed ? await store.take([allowed.id], holder) : []
    if (!taken) return
    try {
      await store.woke([taken.id], clock.now())
      const coding = await actions.resume(taken, quoteMail([taken]))
      if (coding === undefined) await store.putBack([taken.id], holder)
      else await store.delivered([taken.id], `coding:${coding}`, clock.now())
    } catch (error) {
      await store.putBack([taken.id], holder)
      await store.note(taken.id, asRockpoolError(error).message)
    }
  }

  /** The outbox accepts each message once, so no claim is needed. */
  async #post(mail: Mail): Promise<void> {
    const { store, actions, clock, holder } = this.#parts
    const outcome = await actions.post(mail)
    if (outcome === 'failed') return store.note(mail.id, 'The platform refused it.')
    if (outcome !== 'sent') return
    const [taken] = await store.take([mail.id], holder)
    if (taken) await store.delivered([mail.id], mail.recipient, clock.now())
  }

  async #upkeep(): Promise<void> {
    const { store, clock } = this.#parts
    const now = clock.now()
    await store.expire(now)
    await this.#releaseOfDead()
    await this.#endDeadSessions(now)
    await this.#parts.office.recogniseForks()
    await this.#confirmRead(now)
    if (now < this.#forgetAt) return
    this.#forgetAt = now + forgetEveryMs
    await store.forget(now - keptMs)
  }

  /** Messages that a process held when it died wait again, marked as possibly repeated. */
  async #releaseOfDead(): Promise<void> {
    const { store, office, holder: self, holderLives } = this.#parts
    const held = Map.groupBy(await store.held(), ({ holder }) => holder)
    for (const [holder, rows] of held) {
      // This process holds what is in flight, and what it failed to mark.
      const lost = holder === self ? rows.filter(({ id }) => !office.isInFlight(id)) : rows
      if (holder !== self && (await holderLives(holder))) continue
      await store.release(
        lost.map(({ id }) => id),
        holder,
      )
    }
  }

  /** Sessions that were killed, or whose machine is gone. */
  async #endDeadSessions(now: number): Promise<void> {
    const { store, office, actions, machine, machineLives } = this.#parts
    for (const { session, machine: host, startedAt } of await store.live()) {
      // Claude Code writes its registry a moment after it has started.
      if (now - startedAt < 10_000) continue
      const isLive = host === machine ? actions.statusOf(session) !== undefined : await machineLives(host)
      if (!isLive) await office.ended(session)
    }
  }

  /** For sessions that do not report the end of a turn, or whose report was lost. */
  async #confirmRead(now: number): Promise<void> {
    const { store, office, actions } = this.#parts
    for (const recipient of await store.withUnread()) {
      const [, codingId] = /^coding:(.+)$/.exec(recipient) ?? []
      if (codingId !== undefined) {
        const done = (await store.unread(recipient)).filter(({ id }) => actions.isDone(codingId, id))
        await store.read(
          done.map(({ id }) => id),
          now,
        )
      } else if (actions.statusOf(recipient) === 'idle') {
        const transcript = await actions.transcriptOf(recipient)
        if (transcript !== undefined) await office.turnEnded(recipient, transcript)
      }
    }
  }

  async #logged(recipient: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#parts.log.warn(
        { event: 'mail-delayed', recipient, error: String(error) },
        'Could not deliver mail; trying again in a moment.',
      )
    }
  }
}
