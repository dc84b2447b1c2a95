// Sends what is in the outbox. Within a lane and a chat one after the other, in order; lanes do not wait for each other,
// and neither do the chats of one session, which may be on several platforms. A row is marked `attempting` on disk before
// the platform is called, so that after a crash we know what we do not know.
import { chatKey } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { Channel, SendOptions, SendOutcome } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Delivery } from '../domain/reply.ts'
import type { Outbox, OutboxRow } from '../store/work.ts'
import { Continued } from './continued.ts'
import { isGivenUp, isKnownByKey } from './copies.ts'

export interface DeliverOptions {
  outbox: Outbox
  clock: Clock
  log: Log
  events: Events
  /** The channel that reaches this address, if it is running. */
  channelFor: (address: Address) => Channel | undefined
  /** What was sent as which messages, before the delivery counts as sent. */
  onSent?: (delivery: Delivery, messageIds: string[]) => Promise<void>
  /** The delivery with its files where this machine has them. */
  withFiles?: (delivery: Delivery) => Promise<Delivery>
  /** The transcript's copy of what is not in it yet. */
  mirror: (delivery: Delivery) => Promise<void>
  /** Somebody should know: a reply will not be sent (again). Done before its row is closed, so it may be done twice. */
  onDead: (delivery: Delivery, end: DeadEnd) => Promise<void>
  sendTimeoutMs?: number
  random?: () => number
}

export const deliveryLifetimeMs = 24 * 60 * 60_000

export interface DeadEnd {
  reason: string
  /** It was sent twice, the second time marked, and nobody knows of either whether it arrived. */
  isUncertain: boolean
}

const mostKnown = 10_000

/** After a failure of the store. */
const storePauseMs = 1_000

/** What comes after an attempt: the row is settled, or it is tried again at some time. */
type Step = 'settled' | { again: number }

export class Deliverer {
  #options: DeliverOptions
  #lanes = new Map<string, OutboxRow[]>()
  #working = new Set<Promise<void>>()
  #wake = new Map<string, () => void>()
  #continued = new Continued()
  #stopped = false
  #lastSeq = 0
  /** The rows that came last. */
  #known = new Set<number>()
  #taking: Promise<void> = Promise.resolve()
  /** How many takes are under way or wait for their turn. */
  #takes = 0
  /** Queued while others were being taken. */
  #arrived: OutboxRow[] = []

  constructor(options: DeliverOptions) {
    this.#options = options
  }

  /** Takes up what an earlier process left. */
  start(): Promise<void> {
    return this.#take(() => undefined)
  }

  /** Queues durably and begins to send. */
  async deliver(deliveries: Delivery[]): Promise<OutboxRow[]> {
    const rows = await this.#options.outbox.add(deliveries)
    this.add(rows)
    return rows
  }

  /**
   * Begins to send rows that are in the outbox. While others are being taken from there it is not known which of them come
   * first, so all wait for that; those that are marked as being sent are the first of their lane.
   */
  add(rows: readonly OutboxRow[]): void {
    if (this.#takes > 0 && !rows.every((row) => row.isMarked)) this.#arrived.push(...rows)
    else this.#addNow(rows)
  }

  /** One that was found there before whoever queued it says so comes twice. */
  #addNow(rows: readonly OutboxRow[]): void {
    for (const row of rows) {
      this.#lastSeq = Math.max(this.#lastSeq, row.seq)
      if (this.#known.has(row.seq)) continue
      this.#known.add(row.seq)
      const [oldest] = this.#known
      if (this.#known.size > mostKnown) this.#known.delete(oldest!)
      this.#queue(row)
    }
  }

  #queue(row: OutboxRow): void {
    const lane = laneOf(row.delivery)
    const rows = this.#lanes.get(lane)
    if (rows) return void rows.push(row)
    this.#lanes.set(lane, [row])
    this.#begin(lane)
  }

  /** Would this reply be sent at once? Then it can be marked in the same step in which it is queued. */
  isFree(delivery: Pick<Delivery, 'lane' | 'address'>): boolean {
    const hasWay = this.#options.channelFor(delivery.address) !== undefined
    return !this.#stopped && !this.#lanes.has(laneOf(delivery)) && hasWay
  }

  /** Rows that another process has queued since we last looked. */
  lookForMore(): Promise<void> {
    return this.#take(() => this.#lastSeq)
  }

  /** Takes follow each other: their answers might come in another order. */
  #take(afterSeq: () => number | undefined): Promise<void> {
    const take = (): Promise<void> => this.#takeOnce(afterSeq())
    this.#takes++
    this.#taking = this.#taking.then(take, take)
    return this.#taking
  }

  async #takeOnce(afterSeq: number | undefined): Promise<void> {
    let taken: OutboxRow[] = []
    try {
      taken = await this.#options.outbox.take(afterSeq)
      // Answers that are there already, on other connections, may be about earlier rows.
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      this.#takes--
      this.#addNow([...taken, ...this.#arrived.splice(0)].sort((a, b) => a.seq - b.seq))
    }
  }

  /** Lanes that wait for their next try are woken: a channel has come back. */
  retryNow(): void {
    for (const wake of this.#wake.values()) wake()
  }

  /** Resolves when nothing is being sent or due. Rows that wait for a later try do not count. */
  async idle(): Promise<void> {
    while (this.#takes > 0 || this.#working.size > this.#wake.size) {
      await Promise.race([...this.#working, new Promise((resolve) => setImmediate(resolve))])
    }
  }

  /** Begins nothing more and waits for what is on its way. The rest stays in the outbox. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.retryNow()
    await Promise.all(this.#working)
  }

  #begin(lane: string): void {
    const work: Promise<void> = this.#drain(lane)
      .catch((error: unknown) => {
        // What others have taken over is theirs; what is left when we stop is for the next process.
        this.#options.log.error({ lane, error: String(error) }, 'Replies could not be sent.')
        const rows = this.#lanes.get(lane) ?? []
        this.#lanes.delete(lane)
        for (const { seq } of rows) this.#known.delete(seq)
      })
      .finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  async #drain(lane: string): Promise<void> {
    const rows = this.#lanes.get(lane) ?? []
    while (rows.length > 0 && !this.#stopped) {
      const row = rows[0]!
      const step = await this.#untilStored(lane, () => this.#attempt(row))
      if (step === 'settled') rows.shift()
      else await this.#sleep(lane, step.again)
    }
    if (rows.length === 0) this.#lanes.delete(lane)
  }

  /** While the store fails, the lane waits as it is: what came later must not overtake what is in it. */
  async #untilStored<T>(lane: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (this.#stopped || asRockpoolError(error).code === 'lock-lost') throw error
        const { log, clock } = this.#options
        log.warn({ lane, error: String(error) }, 'Replies wait for the store.')
        await this.#sleep(lane, clock.now() + storePauseMs)
      }
    }
  }

  async #attempt(row: OutboxRow): Promise<Step> {
    const { clock, channelFor, outbox } = this.#options
    const { delivery } = row
    const now = clock.now()
    if (now > (delivery.expiresAt ?? delivery.createdAt + deliveryLifetimeMs))
      return this.#bury(row, 'It waited too long.')
    if (row.notBefore > now) return { again: row.notBefore }
    const channel = channelFor(delivery.address)
    if (!channel) return { again: now + 5_000 }
    row.delivery = (await this.#options.withFiles?.(row.delivery)) ?? row.delivery
    const isMarked = row.isMarked === true
    const isUncertain = !isMarked && (row.state === 'attempting' || row.state === 'unknown')
    const isEdit = delivery.replacesMessageId !== undefined || this.#continued.joins(delivery, channel)
    const isRepeatable = Boolean(isEdit) || isKnownByKey(delivery, channel, now)
    row.resent ||= delivery.isSecondCopy === true
    if (isUncertain && isGivenUp(row, isRepeatable)) return this.#giveUp(row, 'we were stopped in between')
    row.resent ||= isUncertain && !isRepeatable
    if (!isMarked) {
      await outbox.change(delivery.id, { state: 'attempting', resent: row.resent })
      row.attempts++
    }
    row.isMarked = false
    row.state = 'attempting'
    const outcome = await this.#send(channel, row)
    // What became of it is known; it is not sent again because it could not be noted.
    return this.#untilStored(laneOf(delivery), () => this.#settle(row, outcome, isRepeatable))
  }

  async #send(channel: Channel, row: OutboxRow): Promise<SendOutcome> {
    const { address, reply, replacesMessageId } = row.delivery
    const timeout = Promise.withResolvers<SendOutcome>()
    const cancel = this.#options.clock.after(this.#options.sendTimeoutMs ?? 60_000, () =>
      timeout.resolve({ kind: 'unknown', reason: `${channel.name} did not answer.` }),
    )
    const joins = this.#continued.joins(row.delivery, channel)
    const messageId = replacesMessageId ?? joins?.messageId
    try {
      if (messageId !== undefined && channel.edit) {
        const whole = joins ? { text: joins.text } : reply
        const edited = await Promise.race([channel.edit(address, messageId, whole), timeout.promise])
        if (edited.kind === 'sent') this.#continued.sent(row.delivery, [messageId], whole.text)
        if (edited.kind !== 'refused')
          return edited.kind === 'sent' ? { ...edited, messageIds: [messageId] } : edited
        // The message is gone; then the reply is one of its own.
      }
      const outcome = await Promise.race([
        channel.send(address, reply, this.#sendOptions(row)),
        timeout.promise,
      ])
      this.#continued.sent(row.delivery, outcome.kind === 'sent' ? outcome.messageIds : [])
      return outcome
    } catch (error) {
      return { kind: 'unknown', reason: error instanceof Error ? error.message : String(error) }
    } finally {
      cancel()
    }
  }

  #sendOptions(row: OutboxRow): SendOptions {
    const { id, idempotencyKey } = row.delivery
    return {
      idempotencyKey,
      resent: row.resent,
      sentIds: row.messageIds,
      onPart: async (messageId) => {
        const messageIds = [...row.messageIds, messageId]
        await this.#options.outbox.change(id, { state: 'attempting', messageIds })
        row.messageIds = messageIds
      },
    }
  }

  async #settle(row: OutboxRow, outcome: SendOutcome, isRepeatable: boolean): Promise<Step> {
    const { outbox, clock } = this.#options
    const { id } = row.delivery
    if (outcome.kind === 'sent') return this.#sent(row, outcome.messageIds)
    if (outcome.kind === 'refused') return this.#bury(row, outcome.reason)
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
    return isGivenUp(row, isRepeatable) ? this.#giveUp(row, outcome.reason) : { again }
  }

  async #sent(row: OutboxRow, messageIds: string[]): Promise<Step> {
    const { outbox, events, mirror, log } = this.#options
    const { delivery } = row
    await this.#note(delivery, messageIds)
    await outbox.change(delivery.id, { state: 'sent', messageIds })
    events.emit({ type: 'reply-sent', ...keyOf(delivery), deliveryId: delivery.id, messageIds })
    if (delivery.mirror) {
      await mirror(delivery).catch((error: unknown) =>
        log.error(
          { delivery: delivery.id, error: String(error) },
          'A message that was sent is missing in its transcript.',
        ),
      )
    }
    return 'settled'
  }

  /** So that an answer to it finds its session. A reply that was sent is sent, also when this fails. */
  async #note(delivery: Delivery, messageIds: string[]): Promise<void> {
    const { onSent, log } = this.#options
    await onSent?.(delivery, messageIds).catch((error: unknown) =>
      log.warn(
        { delivery: delivery.id, error: String(error) },
        'Answers to this message will not find its session.',
      ),
    )
  }

  #giveUp(row: OutboxRow, why: string): Promise<Step> {
    return this.#bury(row, `It was sent twice and nobody knows whether it arrived: ${why}`, true)
  }

  async #bury(row: OutboxRow, reason: string, isUncertain = false): Promise<Step> {
    const { outbox, events, log, onDead } = this.#options
    const { delivery } = row
    // First the people, then the row: a crash in between tells them again, under the same key, instead of never.
    await onDead(delivery, { reason, isUncertain })
    await outbox.change(delivery.id, { state: 'dead', reason })
    events.emit({ type: 'reply-failed', ...keyOf(delivery), deliveryId: delivery.id, reason })
    log.warn({ delivery: delivery.id, lane: delivery.lane, reason }, 'A reply was not delivered.')
    return 'settled'
  }

  /** What the platform asks for, else a pause that doubles up to five minutes, at random so that lanes do not march. */
  /** In whole milliseconds: the store takes no others. */
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

/** A platform that is down holds up what goes there, and nothing that the same session says elsewhere. */
function laneOf({ lane, address }: Pick<Delivery, 'lane' | 'address'>): string {
  return `${lane} ${chatKey(address)}`
}

function keyOf(delivery: Delivery): { key?: string } {
  return delivery.sessionKey === undefined ? {} : { key: delivery.sessionKey }
}
