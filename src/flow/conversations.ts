// All conversations of this process: channels in, the way of a message, channels out, with a start that takes up what
// was left and a stop that loses nothing.
import { randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import type { Channel } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import { untilBack } from '../store/store-unavailable.ts'
import { conversationOptions } from './ask-agent.ts'
import { internalChannel } from '../rights/author.ts'
import { inputOf } from './ask-request.ts'
import type { AskRequest } from './ask-request.ts'
import { Converse } from './converse.ts'
import { Heartbeats } from './heartbeat.ts'
import type { WakeRequest } from './heartbeat.ts'
import { OpenChannels } from './open-channels.ts'
import type { FlowParts, WatchedEnd } from './flow-parts.ts'
import { recoverWork, tidyWork } from './turn-recovery.ts'
import { rightsOfTurn } from './turn-rights.ts'

const lookEveryMs = 1_000
const tidyEveryMs = 3_600_000

export class Conversations {
  readonly converse: Converse
  readonly heartbeats: Heartbeats
  /** Those that run; more may come and go while we do. */
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

  /** Takes up what an earlier process left, then opens the channels. */
  async start(): Promise<void> {
    const { work, clock } = this.#parts
    await untilBack(clock, () => recoverWork(this.converse, work, this.#parts))
    await this.#open.openAll()
    await this.#shareWork()
    this.#prewarm()
    this.heartbeats.start()
    this.#repeat(lookEveryMs, () => this.converse.deliverer.lookForMore())
    this.#tidyHourly()
  }

  /** What all share is tidied by one of them, what is this machine's own by each. */
  #tidyHourly(): void {
    const { work, clock, chores, tidy } = this.#parts
    const tidyShared = (): Promise<void> => tidyWork(work, clock, tidy?.shared)
    if (chores) chores.every('tidy', tidyEveryMs, tidyShared)
    else this.#repeat(tidyEveryMs, tidyShared)
    if (tidy) this.#repeat(tidyEveryMs, tidy.own)
  }

  /** No new work at once; what runs has this long to end, and is then interrupted. Nothing acknowledged is lost. */
  async stop(drainMs: number): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#open.standByNoMore()
    this.heartbeats.stop()
    await this.#parts.chores?.stop()
    await this.converse.shared?.stop()
    await this.#open.closeAll()
    const closed = this.converse.close()
    const late = Promise.withResolvers<'late'>()
    const cancel = this.#parts.clock.after(drainMs, () => late.resolve('late'))
    const inTime = (await Promise.race([closed.then(() => 'done' as const), late.promise])) === 'done'
    cancel()
    if (!inTime) await this.#interruptRest(closed)
    await this.converse.deliverer.stop()
    await this.#parts.leave?.()
  }

  /** A turn for somebody who waits for it. Throws `timed-out` when it takes too long; the turn is then interrupted. */
  async ask(request: AskRequest & { timeoutMs: number }): Promise<WatchedEnd> {
    const key = `ask:${request.key ?? randomUUID()}`
    const { promise, resolve } = Promise.withResolvers<WatchedEnd | 'late'>()
    this.#commandAnswers.set(key, (reply) =>
      resolve({ sessionKey: request.sessionKey, replies: reply ? [reply] : [] }),
    )
    const cancel = this.#parts.clock.after(request.timeoutMs, () => resolve('late'))
    try {
      const watcher = { ...(request.onEvent ? { onEvent: request.onEvent } : {}), onEnd: resolve }
      const taken = await this.converse.ask(inputOf(request, key, this.#parts.clock.now()), watcher)
      if (!taken) throw alreadyAsked(request.key)
      const end = await promise
      if (end !== 'late') return end
      await this.stopTurn(request.sessionKey)
      throw tookTooLong(request.timeoutMs)
    } finally {
      cancel()
      this.#commandAnswers.delete(key)
      this.converse.unwatch(key)
    }
  }

  /** Hands a message over: it is on disk when this resolves, and answered when its turn comes. */
  async hand(request: AskRequest): Promise<void> {
    const key = `ask:${request.key ?? randomUUID()}`
    if (!(await this.converse.ask(inputOf(request, key, this.#parts.clock.now()))))
      throw alreadyAsked(request.key)
  }

  /** Interrupts the running turn of a session and forgets what waits there. */
  async stopTurn(sessionKey: string): Promise<{ wasRunning: boolean; forgotten: number }> {
    const { wasRunning, cancelled } = await this.converse.queue.stop(sessionKey)
    if (cancelled.length > 0)
      await this.#parts.work.inbox.end(
        cancelled.map((input) => input.id),
        'stopped',
      )
    return { wasRunning, forgotten: cancelled.length }
  }

  /** Sends something that is no answer of a turn; the chat's history has it, too. The same key is sent once. */
  async send(
    address: Address,
    reply: Reply,
    options: { key?: string; sessionKey?: string },
  ): Promise<Delivery | undefined> {
    const { key = randomUUID(), sessionKey } = options
    // Whoever asked from a terminal is told there.
    if (address.channel === internalChannel) return undefined
    const [row] = await this.converse.deliverer.deliver([
      {
        id: randomUUID(),
        lane: sessionKey ?? `notice:${address.channel}:${address.accountId}:${address.to}`,
        address,
        reply,
        idempotencyKey: `send:${key}`,
        mirror: true,
        createdAt: this.#parts.clock.now(),
        ...(sessionKey === undefined ? {} : { sessionKey }),
      },
    ])
    return row?.delivery
  }

  wake(request: WakeRequest): Promise<boolean> {
    return this.heartbeats.wake(request)
  }

  /** Opens an account that was added, or that has another token now. False if there is no such account. */
  reopenChannel(name: string, accountId: string): Promise<boolean> {
    return this.#open.reopen(name, accountId)
  }

  addChannel(channel: Channel): Promise<void> {
    return this.#open.add(channel)
  }

  closeChannel(name: string, accountId: string): Promise<void> {
    return this.#open.remove(name, accountId)
  }

  /** With several processes: from now on this one takes its part. Taken for dead, it stops receiving until it is back. */
  async #shareWork(): Promise<void> {
    const { shared } = this.converse
    if (!shared) return
    await this.#open.tellReach()
    shared.start(async () => {
      await this.#open.closeAll()
      this.#open.standByAll()
    })
  }

  /** The first conversation should not wait for a process to start. */
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
    runtime
      .prewarm(conversationOptions(session, agent, { address, rights }, this.#parts))
      .catch((error: unknown) => {
        log.info(
          { event: 'prestart-failed', error: String(error) },
          'Could not start a Claude process ahead of time.',
        )
      })
  }

  /** Turns that are interrupted now wait again after the next start, marked as retried. */
  async #interruptRest(closed: Promise<void>): Promise<void> {
    this.#parts.log.warn(
      { event: 'shutdown-timeout', lanes: this.converse.queue.busyLanes() },
      'Turns did not end before the shutdown limit; they are retried after the next start.',
    )
    this.converse.abandon()
    await Promise.race([this.converse.queue.interruptAll().then(() => closed), this.#pause(2_000)])
  }

  #repeat(everyMs: number, work: () => Promise<void>): void {
    const again = (): void => {
      const cancel = this.#parts.clock.after(everyMs, () => {
        this.#cancels.splice(this.#cancels.indexOf(cancel), 1)
        void work()
          .catch((error: unknown) =>
            this.#parts.log.error(
              { event: 'maintenance-failed', error: String(error) },
              'Periodic maintenance failed; it runs again at the next interval.',
            ),
          )
          .then(again)
      })
      this.#cancels.push(cancel)
    }
    again()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve))
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
