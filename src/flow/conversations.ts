// All conversations of this process: channels, turns and deliveries. The start continues the work that an earlier process
// left; the stop loses nothing.
import { randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import { repeat, sleep, within } from '../domain/async.ts'
import type { Channel } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import { noticeFor } from '../domain/reply.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import { retryWhileUnavailable } from '../store/store-unavailable.ts'
import { conversationOptions } from './ask-agent.ts'
import { internalChannel } from '../rights/author.ts'
import { askedInput } from './asked-input.ts'
import type { AskRequest } from './asked-input.ts'
import { Converse } from './converse.ts'
import { Heartbeats } from './heartbeat.ts'
import type { WakeRequest } from './heartbeat.ts'
import { OpenChannels } from './open-channels.ts'
import type { FlowParts, Stopped, WatchedEnd } from './flow-parts.ts'
import { recoverWork, tidyWork } from './turn-recovery.ts'
import { rightsOfTurn } from './turn-rights.ts'

const lookEveryMs = 1_000
const tidyEveryMs = 3_600_000

export class Conversations {
  readonly converse: Converse
  readonly heartbeats: Heartbeats
  /** The open channels; accounts may be added and removed while the process runs. */
  readonly channels: Channel[]
  #parts: FlowParts
  #open: OpenChannels
  #cancels: Array<() => void> = []
  #commandAnswers = new Map<string, (reply: Reply | undefined) => void>()

  constructor(parts: FlowParts, channels: Channel[] = []) {
    this.#parts = {
      ...parts,
      channelSummary: () => channels.map(summaryOf),
      onCommand: (input, reply) => {
        this.#commandAnswers.get(input.key)?.(reply)
        parts.onCommand?.(input, reply)
      },
    }
    this.channels = channels
    this.converse = new Converse(this.#parts)
    this.#open = new OpenChannels(channels, this.converse, this.#parts)
    this.heartbeats = new Heartbeats(this.converse, this.#parts)
  }

  /** Continues the work of an earlier process, then opens the channels. */
  async start(): Promise<void> {
    const { work, clock } = this.#parts
    await retryWhileUnavailable(clock, () => recoverWork(this.converse, work, this.#parts))
    await this.#open.openAll()
    await this.#shareWork()
    this.#prewarm()
    this.heartbeats.start()
    this.#repeat(lookEveryMs, () => this.converse.deliverer.lookForMore())
    this.#tidyHourly()
  }

  /** One process cleans up shared data; each cleans up the data of its own machine. */
  #tidyHourly(): void {
    const { work, clock, chores, tidy } = this.#parts
    const tidyShared = (): Promise<void> => tidyWork(work, clock, tidy?.shared)
    if (chores) chores.every('tidy', tidyEveryMs, tidyShared)
    else this.#repeat(tidyEveryMs, tidyShared)
    if (tidy) this.#repeat(tidyEveryMs, tidy.own)
  }

  /** Starts no new work. Running turns may end within `drainMs`, then they are interrupted. No accepted message is lost. */
  async stop(drainMs: number): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#open.stopStandingBy()
    this.heartbeats.stop()
    await this.#parts.chores?.stop()
    await this.converse.shared?.stop()
    await this.#open.closeAll()
    const closed = this.converse.close()
    const isInTime = await within(
      this.#parts.clock,
      drainMs,
      closed.then(() => true),
      () => false,
    )
    if (!isInTime) await this.#interruptRest(closed)
    await this.converse.deliverer.stop()
    await this.#parts.leave?.()
  }

  /** Takes a turn and resolves to its end. Throws `timed-out` if it takes too long; the turn is then interrupted. */
  async ask(request: AskRequest & { timeoutMs: number }): Promise<WatchedEnd> {
    const { sessionKey, timeoutMs, onEvent } = request
    const { clock } = this.#parts
    const key = `ask:${request.key ?? randomUUID()}`
    const { promise, resolve } = Promise.withResolvers<WatchedEnd>()
    this.#commandAnswers.set(key, (reply) => resolve({ sessionKey, replies: reply ? [reply] : [] }))
    try {
      const input = askedInput(request, key, clock.now())
      if (!(await this.converse.ask(input, { onEvent, onEnd: resolve }))) throw alreadyAsked(request.key)
      const end = await within(clock, timeoutMs, promise, () => undefined)
      if (end) return end
      await this.stopInput(sessionKey, key)
      throw tookTooLong(timeoutMs)
    } finally {
      this.#commandAnswers.delete(key)
      this.converse.unwatch(key)
    }
  }

  /** Enqueues a message. When this resolves, it is on disk; it is answered later. */
  async hand(request: AskRequest): Promise<void> {
    const key = `ask:${request.key ?? randomUUID()}`
    if (!(await this.converse.ask(askedInput(request, key, this.#parts.clock.now()))))
      throw alreadyAsked(request.key)
  }

  /** Interrupts the running turn of a session and removes the waiting messages, on every machine. */
  stopTurn(sessionKey: string): Promise<Stopped> {
    return this.converse.stops.everywhere({ lane: sessionKey })
  }

  /** The same for one message, by its key; the turn and the messages of others stay. */
  stopInput(sessionKey: string, key: string): Promise<Stopped> {
    return this.converse.stops.everywhere({ lane: sessionKey, inputKey: key })
  }

  /** Ends the work of people who lost rights. Turns of other processes end when they use a tool. */
  recheckRights(): Promise<{ turns: number; messages: number }> {
    return this.converse.recheckRights()
  }

  /** Sends a message that is not an answer of a turn; it is copied into the chat's transcript. The same key is sent once. */
  async send(
    address: Address,
    reply: Reply,
    options: { key?: string } & Pick<Delivery, 'sessionKey' | 'forAnybody' | 'writer'>,
  ): Promise<Delivery | undefined> {
    const { key = randomUUID(), sessionKey, forAnybody, writer } = options
    // A turn without a chat has no address to send to; the requester reads the result.
    if (address.channel === internalChannel) return undefined
    const forOwner = forAnybody !== true && this.#parts.isOwners(address)
    const notice = noticeFor(address, '', `send:${key}`, this.#parts.clock.now(), sessionKey)
    const [row] = await this.converse.deliverer.deliver([{ ...notice, forAnybody, forOwner, writer, reply }])
    return row?.delivery
  }

  wake(request: WakeRequest): Promise<boolean> {
    return this.heartbeats.wake(request)
  }

  /** Opens an account that was added or has a new token. False if there is no such account. */
  reopenChannel(name: string, accountId: string): Promise<boolean> {
    return this.#open.reopen(name, accountId)
  }

  addChannel(channel: Channel): Promise<void> {
    return this.#open.add(channel)
  }

  closeChannel(name: string, accountId: string): Promise<void> {
    return this.#open.remove(name, accountId)
  }

  /** Joins the processes that share the lanes. If they declare this one dead, it stops receiving until it has rejoined. */
  async #shareWork(): Promise<void> {
    const { shared } = this.converse
    if (!shared) return
    await this.#open.announceReach()
    shared.start(async () => {
      await this.#open.closeAll()
      this.#open.standByAll()
    })
  }

  /** Starts a Claude process ahead of time for the first conversation. */
  #prewarm(): void {
    const { config, runtime, agentOf, defaultAgentId, log } = this.#parts
    if (!config.claude.spare || !runtime.prewarm || this.channels.length === 0) return
    const agent = agentOf(defaultAgentId())
    const address = { channel: internalChannel, accountId: 'default', to: agent.id }
    const session = {
      key: `agent:${agent.id}:prewarm`,
      agentId: agent.id,
      entry: { sessionId: 'none', updatedAt: 0 },
    }
    const rights = rightsOfTurn(session, { address }, this.#parts)
    conversationOptions(session, agent, { address, rights }, this.#parts)
      .then((options) => runtime.prewarm!(options))
      .catch((error: unknown) => {
        log.info(
          { event: 'prestart-failed', error: String(error) },
          'Could not start a Claude process ahead of time; the first turn starts one.',
        )
      })
  }

  /** Turns that are interrupted now are retried after the next start. */
  async #interruptRest(closed: Promise<void>): Promise<void> {
    this.#parts.log.warn(
      { event: 'shutdown-timeout', lanes: this.converse.queue.busyLanes() },
      'Turns did not end before the shutdown limit; they are retried after the next start.',
    )
    this.converse.abandon()
    const interrupted = this.converse.queue.interruptAll().then(() => closed)
    await Promise.race([interrupted, sleep(this.#parts.clock, 2_000)])
  }

  #repeat(everyMs: number, work: () => Promise<void>): void {
    const { clock, log } = this.#parts
    const task = (): Promise<void> =>
      work().catch((error: unknown) =>
        log.error(
          { event: 'maintenance-failed', error: String(error) },
          'Periodic maintenance failed; it runs again at the next interval.',
        ),
      )
    this.#cancels.push(repeat(clock, everyMs, task))
  }
}

function summaryOf(channel: Channel): string {
  const { state, identity } = channel.status()
  return `${channel.name}${identity ? ` as ${identity.name}` : ''}: ${state}`
}

function alreadyAsked(key: string | undefined): RockpoolError {
  return new RockpoolError('conflict', `This was asked before (${key ?? 'no key'}).`, {
    hint: 'Use another idempotency key to ask again.',
  })
}

function tookTooLong(timeoutMs: number): RockpoolError {
  return new RockpoolError(
    'timed-out',
    `There was no answer within ${Math.round(timeoutMs / 1_000)} s; the turn was stopped.`,
    {
      hint: 'Give it more time with --timeout, or look with `rockpool history` what it did.',
    },
  )
}
