// Sends the rows of the outbox. Rows of one lane and one chat are sent in order; lanes do not wait for each other, and neither
// do the chats of one session, which may be on several platforms. A row is marked `attempting` on disk before the platform
// is called, so that after a crash we know which rows may have arrived.
import { chatKey, type Address } from '../domain/address.ts'
import type { Channel, SendOutcome } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Delivery } from '../domain/reply.ts'
import type { Outbox, OutboxRow } from '../store/work-store.ts'
import { OutboxIntake } from './outbox-intake.ts'
import { isLastCopySent, isRecognisedByKey, RowSender } from './send-row.ts'

export interface DeliverOptions {
  outbox: Outbox
  clock: Clock
  log: Log
  events: Events
  /** The channel that reaches this address, if it is running. */
  channelFor: (address: Address) => Channel | undefined
  /** May the chat still get this delivery? It may have waited for hours, and rights may have changed. */
  mayReceive?: (delivery: Delivery) => boolean
  /** Called with the platform's message ids and time, before the delivery is marked as sent. */
  onSent?: OnSent
  /** The delivery with its files on this machine. */
  withFiles?: (delivery: Delivery) => Promise<Delivery>
  /** Copies a sent message into the transcript. */
  mirror: (delivery: Delivery) => Promise<void>
  /** Called when Rockpool gives up a delivery. It runs before the row is closed, so a crash may repeat the call. */
  onDead: (delivery: Delivery, end: DeadEnd) => Promise<void>
  random?: () => number
}

/** `sentAt`: when the platform accepted it, by the platform's clock, if the platform says so. */
export type OnSent = (delivery: Delivery, messageIds: string[], sentAt?: number) => Promise<void>

type Sent = Extract<SendOutcome, { kind: 'sent' }>

export const deliveryLifetimeMs = 24 * 60 * 60_000

export interface DeadEnd {
  reason: string
  /** It was sent twice, the second time marked, and it is unknown whether either arrived. */
  isUncertain: boolean
}

/** The pause after a failure of the store. */
const storePauseMs = 1_000

/** After an attempt the row is done or is tried again at a time. */
type Step = 'done' | { again: number }

export class Deliverer {
  #options: DeliverOptions
  #lanes = new Map<string, OutboxRow[]>()
  #working = new Set<Promise<void>>()
  #wake = new Map<string, () => void>()
  #sender: RowSender
  #stopped = false
  #intake: OutboxIntake

  constructor(options: DeliverOptions) {
    this.#options = options
    this.#sender = new RowSender(options)
    this.#intake = new OutboxIntake(options.outbox, (row) => this.#queue(row))
  }

  /** Continues with rows that are not sent and not known here: of an earlier process, or stored before a failure of the disk. */
  start(before?: number): Promise<void> {
    return this.#intake.takeAll(before)
  }

  /** Stores deliveries in the outbox and starts to send them. */
  async deliver(deliveries: Delivery[]): Promise<OutboxRow[]> {
    const rows = await this.#options.outbox.add(deliveries)
    this.add(rows)
    return rows
  }

  /** Starts to send rows that are in the outbox. */
  add(rows: readonly OutboxRow[]): void {
    this.#intake.add(rows)
  }

  #queue(row: OutboxRow): void {
    const lane = laneOf(row.delivery)
    const rows = this.#lanes.get(lane)
    if (rows) return void rows.push(row)
    this.#lanes.set(lane, [row])
    this.#begin(lane)
  }

  /** Would this reply be sent at once? Then it can be stored and marked in one step. */
  isFree(delivery: Pick<Delivery, 'lane' | 'address'>): boolean {
    const hasChannel = this.#channelFor(delivery.address) !== undefined
    return !this.#stopped && !this.#lanes.has(laneOf(delivery)) && hasChannel
  }

  /** Rows that another process has queued since we last looked. */
  lookForMore(): Promise<void> {
    return this.#intake.takeMore()
  }

  /** Retries waiting lanes now: a channel has reconnected. */
  retryNow(): void {
    for (const wake of this.#wake.values()) wake()
  }

  /** Resolves when no row is being sent or due; rows that wait for a retry are ignored. */
  async idle(): Promise<void> {
    while (this.#intake.isTaking || this.#working.size > this.#wake.size) {
      await Promise.race([...this.#working, new Promise((resolve) => setImmediate(resolve))])
    }
  }

  /** Sends no further rows and waits for the current ones. The rest stays in the outbox. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.retryNow()
    await Promise.all(this.#working)
  }

  /** Other processes own our rows now. Resolves when this process sends none of them any more. */
  async releaseAll(): Promise<void> {
    await this.#intake.forgetAll()
    for (const rows of this.#lanes.values()) rows.length = 0
    this.retryNow()
    await Promise.all(this.#working)
  }

  #begin(lane: string): void {
    const work: Promise<void> = this.#drain(lane)
      .catch((error: unknown) => {
        // Forgotten rows are read from the outbox again.
        this.#options.log.error(
          { event: 'delivery-failed', lane, error: String(error) },
          'Could not send the replies of a lane; retrying.',
        )
        for (const row of this.#lanes.get(lane) ?? []) this.#intake.forget(row)
        this.#lanes.delete(lane)
      })
      .finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  async #drain(lane: string): Promise<void> {
    const rows = this.#lanes.get(lane) ?? []
    while (rows.length > 0 && !this.#stopped) {
      const row = rows[0]!
      try {
        const step = await this.#untilStored(lane, () => this.#attempt(lane, row))
        if (step !== 'done') {
          await this.#sleep(lane, step.again)
          continue
        }
        this.#intake.done(row)
      } catch (error) {
        this.#releaseReassigned(lane, row, error)
      }
      rows.shift()
    }
    if (rows.length === 0) this.#lanes.delete(lane)
  }

  /** A row may be reassigned to another process; if it comes back to this one, it is taken again. */
  #releaseReassigned(lane: string, row: OutboxRow, error: unknown): void {
    if (asRockpoolError(error).code !== 'lock-lost') throw error
    this.#options.log.warn(
      { event: 'delivery-reassigned', lane, delivery: row.delivery.id },
      'A reply was assigned to another process, which sends it.',
    )
    this.#intake.forget(row)
  }

  /** While the store is unavailable the lane waits, so that later replies do not overtake earlier ones. */
  async #untilStored<T>(lane: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (this.#stopped || asRockpoolError(error).code === 'lock-lost') throw error
        const { log, clock } = this.#options
        log.warn(
          { event: 'delivery-waiting', lane, error: String(error) },
          'The store is unavailable; replies wait.',
        )
        await this.#sleep(lane, clock.now() + storePauseMs)
      }
    }
  }

  async #attempt(lane: string, row: OutboxRow): Promise<Step> {
    const { clock, outbox, withFiles, mayReceive } = this.#options
    const { delivery } = row
    const now = clock.now()
    if (mayReceive?.(delivery) === false) return this.#markDead(row, 'The chat may no longer get it.')
    if (now > (delivery.expiresAt ?? delivery.createdAt + deliveryLifetimeMs))
      return this.#markDead(row, 'It waited too long.')
    if (row.notBefore > now) return { again: row.notBefore }
    const channel = this.#channelFor(delivery.address)
    if (!channel) return { again: now + 5_000 }
    if (withFiles) row.delivery = await withFiles(row.delivery)
    const isMarked = row.isMarked === true
    const isUncertain = !isMarked && (row.state === 'attempting' || row.state === 'unknown')
    const isRepeatable = this.#sender.isEdit(delivery, channel) || isRecognisedByKey(delivery, channel, now)
    row.resent ||= delivery.isSecondCopy === true
    if (isUncertain && isLastCopySent(row, isRepeatable))
      return this.#giveUp(row, 'we were stopped in between')
    row.resent ||= isUncertain && !isRepeatable
    if (!isMarked) {
      await outbox.change(delivery.id, { state: 'attempting', resent: row.resent })
      row.attempts++
      row.isMarked = true
    }
    // The store's answer may have come late, after another process had taken the row and sent it.
    await outbox.checkOwned?.(delivery.id)
    row.isMarked = false
    row.state = 'attempting'
    const begunAt = clock.now()
    const outcome = await this.#sender.send(channel, row)
    // Copy into the transcript before the row is marked as sent: a crash in between sends and copies the reply once more, so
    // the transcript has as many copies as the chat.
    if (outcome.kind === 'sent' && delivery.mirror) await this.#mirror(delivery)
    // The outcome is known; a failure to store it must not send the reply again.
    return await this.#untilStored(lane, () =>
      outcome.kind === 'sent' ? this.#sent(row, outcome, begunAt) : this.#settle(row, outcome, isRepeatable),
    )
  }

  #channelFor(address: Address): Channel | undefined {
    const channel = this.#options.channelFor(address)
    return channel?.canSend === false ? undefined : channel
  }

  async #settle(row: OutboxRow, outcome: Exclude<SendOutcome, Sent>, isRepeatable: boolean): Promise<Step> {
    const { outbox, clock } = this.#options
    const { id } = row.delivery
    if (outcome.kind === 'refused') return await this.#markDead(row, outcome.reason)
    const again = clock.now() + this.#pauseMs(row, outcome)
    row.reason = outcome.reason
    if (outcome.kind === 'retry') {
      row.state = 'retry'
      row.notBefore = again
      await outbox.change(id, { state: 'retry', notBefore: again, reason: outcome.reason })
      return { again }
    }
    row.state = 'unknown'
    await outbox.change(id, { state: 'unknown', reason: outcome.reason })
    return isLastCopySent(row, isRepeatable) ? this.#giveUp(row, outcome.reason) : { again }
  }

  async #sent({ delivery }: OutboxRow, outcome: Sent, begunAt: number): Promise<Step> {
    const { outbox, events, onSent } = this.#options
    const { messageIds } = outcome
    if (onSent) await this.#reportSent(delivery, outcome, onSent)
    // A question counts from the beginning of its sending, and other messages from the end of theirs: of two that are sent at the
    // same time the question is not the last.
    const at = delivery.reply.approvalId === undefined ? undefined : begunAt
    await outbox.change(delivery.id, { state: 'sent', messageIds, at })
    events.emit({ type: 'reply-sent', key: delivery.sessionKey, deliveryId: delivery.id, messageIds })
    return 'done'
  }

  /** A failed copy does not change that the message was sent. */
  async #mirror(delivery: Delivery): Promise<void> {
    const { mirror, log } = this.#options
    await mirror(delivery).catch((error: unknown) =>
      log.error(
        { event: 'mirror-failed', delivery: delivery.id, error: String(error) },
        'Could not copy a delivered message into the transcript of its chat; the history lacks it.',
      ),
    )
  }

  /** Lets an answer to the message find its session. A failure does not change that the message was sent. */
  async #reportSent(delivery: Delivery, { messageIds, sentAt }: Sent, onSent: OnSent): Promise<void> {
    await onSent(delivery, messageIds, sentAt).catch((error: unknown) =>
      this.#options.log.warn(
        { event: 'reply-map-failed', delivery: delivery.id, error: String(error) },
        "Could not store which session a sent message belongs to; answers to it go to the chat's own session.",
      ),
    )
  }

  #giveUp(row: OutboxRow, why: string): Promise<Step> {
    return this.#markDead(row, `It was sent twice, and it is unknown whether it arrived: ${why}`, true)
  }

  async #markDead(row: OutboxRow, reason: string, isUncertain = false): Promise<Step> {
    const { outbox, events, log, onDead } = this.#options
    const { delivery } = row
    // Report first: after a crash in between, the report is repeated under the same key, and not lost.
    await onDead(delivery, { reason, isUncertain })
    await outbox.change(delivery.id, { state: 'dead', reason })
    events.emit({ type: 'reply-failed', key: delivery.sessionKey, deliveryId: delivery.id, reason })
    log.warn(
      { event: 'reply-undelivered', delivery: delivery.id, lane: delivery.lane, reason },
      'A reply was not delivered and is not sent again.',
    )
    return 'done'
  }

  /** The pause that the platform asks for; otherwise one that doubles up to five minutes, with jitter. In whole
   *  milliseconds, as the store requires. */
  #pauseMs(row: OutboxRow, outcome: SendOutcome): number {
    if (outcome.kind === 'retry' && outcome.retryAfterMs !== undefined) return Math.ceil(outcome.retryAfterMs)
    const longest = Math.min(1_000 * 2 ** Math.min(row.attempts - 1, 9), 300_000)
    return Math.ceil(longest / 2 + ((this.#options.random ?? Math.random)() * longest) / 2)
  }

  async #sleep(lane: string, until: number): Promise<void> {
    if (this.#stopped) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(Math.max(0, until - this.#options.clock.now()), resolve)
    this.#wake.set(lane, resolve)
    await promise
    cancel()
    this.#wake.delete(lane)
  }
}

/** A platform that is down delays only its own replies, not those of the same session to other chats. */
function laneOf({ lane, address }: Pick<Delivery, 'lane' | 'address'>): string {
  return `${lane} ${chatKey(address)}`
}
