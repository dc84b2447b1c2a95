// The entry of the way of a message: accepts messages and questions, keeps them in the queue of their session, and lets
// turn.ts take the turns.
import { isTerminal } from '../domain/address.ts'
import { KeyedQueue } from '../domain/async.ts'
import type { NotAccepted } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { commandText } from '../inbound/message-text.ts'
import { MAX_SYSTEM_EVENTS } from '../inbound/prompt-context.ts'
import { Deliverer } from '../replies/deliver.ts'
import { mayJoinTurn, mayReceive } from '../rights/chat-rights.ts'
import type { Input, WaitingInput } from '../store/work-store.ts'
import { Admission } from './admission.ts'
import { untrustedWakePrompt, wakeInput } from './asked-input.ts'
import { commandIn, isTurnCommand, runCommand } from './chat-commands.ts'
import type { FoundCommand } from './chat-commands.ts'
import { FailedWork } from './failed-work.ts'
import type { FlowParts, HeldBack, TurnParts, TurnWatcher } from './flow-parts.ts'
import { resolveQueueSettings } from './queue-settings.ts'
import { SharedLanes } from './shared-lanes.ts'
import { receive, takeTurn } from './turn.ts'
import { TurnQueue } from './turn-queue.ts'
import type { Batch, TurnControls } from './turn-queue.ts'
import { recoverWork, releaseTurn } from './turn-recovery.ts'
import { TurnStops } from './turn-stops.ts'
import { authorOfInput, mayStillWrite, withPresentRights } from './turn-rights.ts'
import { reportUndelivered } from './undelivered.ts'

export class Converse {
  readonly queue: TurnQueue
  readonly deliverer: Deliverer
  readonly parts: FlowParts
  readonly stops: TurnStops
  /** Present where several processes share the lanes. */
  readonly shared: SharedLanes | undefined
  #admission: Admission
  #watchers = new Map<string, TurnWatcher>()
  #isAbandoned = false
  #turnParts: TurnParts
  #commands = new KeyedQueue()
  /** The inputs of commands that run or wait to run. */
  #commandInputs = new Set<number>()
  /** Absent where several processes share the lanes. */
  #failedWork: FailedWork | undefined

  constructor(parts: FlowParts) {
    this.parts = parts
    this.deliverer = makeDeliverer(parts, (lane, text) => this.systemEvent(lane, text))
    this.#turnParts = this.#makeTurnParts()
    this.queue = this.#makeQueue()
    this.#admission = new Admission(parts, {
      queue: this.queue,
      deliverer: this.deliverer,
      ask: (input) => this.ask(input),
    })
    const { share } = parts.work
    this.#failedWork = share ? undefined : this.#makeFailedWork()
    this.shared =
      share &&
      new SharedLanes(share, {
        ...parts,
        queue: this.queue,
        begin: (input) => this.#begin(input),
        release: (turn) => releaseTurn(turn, parts.work, parts),
        deliverer: this.deliverer,
      })
    this.stops = new TurnStops({
      ...parts,
      queue: this.queue,
      shared: this.shared,
      isWatched: ({ key }) => this.#watchers.has(key),
      isKnown: (input) => this.#isKnown(input),
      runsAtOnce: (input) => this.#runsAtOnce(input),
      end: (inputs) => this.#endUnanswered(inputs, 'stopped'),
    })
  }

  /** A channel received a message. When this resolves, the message is on disk, or needs no turn. */
  async accept(message: Message): Promise<NotAccepted | void> {
    const { work, events } = this.parts
    try {
      return await receive(message, {
        work,
        events,
        admission: this.#admission,
        hasRoom: this.shared?.hasRoom,
        enqueue: (input) => this.#enqueue(input),
      })
    } catch (error) {
      // The message may be in the inbox all the same.
      this.#failedWork?.recoverSoon()
      throw error
    }
  }

  /** May a channel fetch the files of this message before it is accepted? */
  takesMedia(message: Message): Promise<boolean> {
    return this.#admission.takesMedia(message)
  }

  /** Enqueues a turn that no chat message starts. False: the same key was enqueued before. */
  async ask(input: Input, watcher?: TurnWatcher): Promise<boolean> {
    if (watcher) this.#watchers.set(input.key, watcher)
    const message = isTerminal(input.message.address)
      ? await this.#admission.asCommand(input.message)
      : input.message
    const asked = { ...input, message, isWatched: watcher ? true : input.isWatched }
    const waiting = await this.parts.work.inbox.accept(asked, this.shared?.hasRoom)
    if (waiting) this.#enqueue(waiting)
    else this.unwatch(input.key)
    return waiting !== undefined
  }

  /** Removes the watcher of a turn; the turn continues. */
  unwatch(key: string): void {
    this.#watchers.delete(key)
  }

  /** Adds an event that the agent reads before the next message of this session. */
  async systemEvent(sessionKey: string, text: string): Promise<void> {
    await this.parts.work.systemEvents.add(sessionKey, text, MAX_SYSTEM_EVENTS)
  }

  /** Resolves when every accepted message is answered, and every answer is sent or waits for its channel. */
  async idle(): Promise<void> {
    await this.#commands.idle()
    await this.queue.idle()
    await this.deliverer.idle()
  }

  /** Called when people lost rights. Stops their running turns, and ends messages whose writer may no longer write, and replies
   *  that their chat may no longer get. */
  async recheckRights(): Promise<{ turns: number; messages: number }> {
    const { turns, removed } = await this.queue.revoke((input) => mayStillWrite(input, this.parts))
    await this.#refuse(removed)
    // Each attempt asks for the rights first, so replies that wait for a retry end now.
    this.deliverer.retryNow()
    return { turns, messages: removed.length }
  }

  /** Starts no more turns; resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#failedWork?.close()
    await Promise.all([this.queue.close(), this.#commands.idle()])
  }

  /** From now on an interrupted turn is not finished: it is retried after the next start. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Continues with inputs of the inbox that are in no queue: of an earlier process, or after a failure of the disk. */
  resume(inputs: WaitingInput[]): void {
    this.#failedWork?.release()
    for (const input of inputs) if (!this.#isKnown(input)) this.#begin(input)
  }

  #makeQueue(): TurnQueue {
    const { clock, log } = this.parts
    return new TurnQueue({
      clock,
      settings: (_lane, input) => this.#queueSettings(input),
      take: (batch, onStart) => this.#take(batch, onStart),
      drop: (inputs, isSummarized) => this.#admission.drop(inputs, isSummarized),
      cancel: (inputs) => this.#endUnanswered(inputs, 'stopped'),
      mayJoin: (input, others) => this.#mayJoin(input, others),
      onError: (lane, error) => {
        log.error(
          { event: 'lane-stopped', lane, error: String(error) },
          'Could not run a turn or store its end; its messages stay in the inbox and are retried.',
        )
        this.shared?.failed(lane)
        this.#failedWork?.laneFailed(lane)
      },
      onUnplaced: (lane, error) =>
        log.warn(
          { event: 'message-not-joined', lane, error: String(error) },
          'Could not add a message to the running turn; it waits for the next turn.',
        ),
      onIdle: (lane) => this.shared?.idle(lane),
    })
  }

  #makeFailedWork(): FailedWork {
    const { parts, queue } = this
    return new FailedWork({
      ...parts,
      queue,
      recover: (before) => recoverWork(this, parts.work, parts, before),
    })
  }

  #enqueue(input: WaitingInput): void {
    if (this.shared && input.laneServer !== 'here' && this.#runsAtOnce(input))
      return void this.#runOrPass(input)
    if (this.shared) return this.shared.placed(input)
    if (!this.#isKnown(input) && !this.#failedWork?.holds(input.lane)) this.#begin(input)
  }

  /** Another process owns the lane, or none does. A command that this owner would get too late runs here. */
  async #runOrPass(input: WaitingInput): Promise<void> {
    const isKept = await this.parts.work.share!.keep(input.id).catch(() => false)
    if (isKept) this.#begin(input)
    else this.shared!.placed(input)
  }

  /** Is it in a queue already? */
  #isKnown(input: WaitingInput): boolean {
    return this.queue.has(input) || this.#commandInputs.has(input.id)
  }

  #begin(input: WaitingInput): void {
    if (this.#runsAtOnce(input)) this.#runNow(input)
    else void this.queue.offer(input)
  }

  /** Commands that need no turn run at once, also beside a running turn; every other input waits in its lane. */
  #runsAtOnce(input: WaitingInput): boolean {
    const command = this.#commandOf(input)
    return command !== undefined && !isTurnCommand(command)
  }

  async #take(batch: Batch, onStart: (turn: TurnControls) => void): Promise<WaitingInput[]> {
    // The lane is being returned to the store, which assigns its inputs again, in order.
    if (this.shared?.isGivingUp(batch.lane)) return []
    const inputs = batch.inputs.flatMap((input) => withPresentRights(input, this.parts) ?? [])
    await this.#refuse(batch.inputs.filter((input) => !mayStillWrite(input, this.parts)))
    return inputs.length === 0 ? [] : takeTurn({ ...batch, inputs }, onStart, this.#turnParts)
  }

  /** Ends inputs without a turn. A caller that waits for the answer gets an error at once. */
  async #endUnanswered(inputs: readonly WaitingInput[], how: 'stopped' | 'refused'): Promise<void> {
    if (inputs.length === 0) return
    const ids = inputs.map(({ id }) => id)
    await this.parts.work.inbox.end(ids, how)
    const error = new RockpoolError('refused', `The message was ${how} before its turn.`)
    for (const { key, lane } of inputs)
      this.#watchers.get(key)?.onEnd({ sessionKey: lane, replies: [], error })
  }

  /** Ends inputs of people who may no longer write; they get no answer. */
  async #refuse(inputs: WaitingInput[]): Promise<void> {
    await this.#endUnanswered(inputs, 'refused')
    for (const { lane, message } of inputs) {
      const { channel } = message.address
      this.parts.log.info(
        { event: 'message-refused', lane, channel, sender: message.sender.id, reason: 'not-allowed' },
        'Refused a message that waited: its writer may no longer write.',
      )
    }
  }

  #makeTurnParts(): TurnParts {
    return {
      ...this.parts,
      deliverer: this.deliverer,
      mentionsFor: (message) => this.#admission.mentionsFor(message),
      watcherOf: (key) => this.#watchers.get(key),
      joined: new Set(),
      isAbandoned: () => this.#isAbandoned,
      onNotOurs: (lane) => this.shared?.failed(lane),
      onHeldBack: (held) => void this.#wakeForHeldBack(held),
    }
  }

  /** Commands of one lane run in order. */
  #runNow(input: WaitingInput): void {
    const { lane, id } = input
    this.#commandInputs.add(id)
    void this.#commands
      .run(lane, () => this.#runCommand(input))
      .catch((error: unknown) => {
        this.parts.log.error(
          { event: 'command-error', lane, error: String(error) },
          'Could not store the answer to a chat command; the command stays in the inbox and runs again.',
        )
        this.#failedWork?.recoverSoon()
      })
      .then(() => {
        this.#commandInputs.delete(id)
        this.shared?.idle(lane)
      })
  }

  /** A command may have waited, also for a restart: it runs with the rights that its writer has now. */
  async #runCommand(input: WaitingInput): Promise<void> {
    // One that was kept for this process may have been assigned to it, too.
    if (this.shared && (await this.parts.work.inbox.state(input.key)) !== 'waiting') return
    const present = withPresentRights(input, this.parts)
    const command = present && this.#commandOf(present)
    if (!present || !command) return this.#refuse([input])
    const { queue, deliverer } = this
    await runCommand(command, present, {
      ...this.parts,
      queue,
      deliverer,
      stop: (lane) => this.stops.everywhere({ lane }),
    })
  }

  /** Events of other authors get a turn of their own, with their rights. */
  async #wakeForHeldBack({ lane, agentId, author, upTo }: HeldBack & { lane: string; agentId: string }) {
    const wake = { key: `held:${lane}:${upTo}`, lane, agentId, text: untrustedWakePrompt, askedBy: author }
    try {
      await this.ask(await wakeInput(wake, this.parts))
    } catch (error) {
      this.parts.log.warn(
        { event: 'quoted-text-waits', lane, error: String(error) },
        'Could not start a turn for events of another author; the events wait for the next turn.',
      )
    }
  }

  #mayJoin(input: WaitingInput, others: readonly WaitingInput[]): boolean {
    if (input.turnOptions !== undefined || isTurnCommand(this.#commandOf(input))) return false
    const author = authorOfInput(input, this.parts)
    return others.every((other) => mayJoinTurn(author, authorOfInput(other, this.parts)))
  }

  #commandOf(input: Input): FoundCommand | undefined {
    // Most messages contain no slash.
    if (input.turnOptions?.internal || !input.message.text.includes('/')) return undefined
    const text = commandText(input.message, this.#admission.mentionsFor(input.message))
    return commandIn(text, input, this.parts)
  }

  async #queueSettings({ agentId, lane, message }: WaitingInput) {
    const entry = await this.parts.sessions(agentId).get(lane)
    const config = this.parts.config.messages.queue
    return resolveQueueSettings({ config, channel: message.address.channel, entry })
  }
}

function makeDeliverer(
  parts: FlowParts,
  addEvent: (sessionKey: string, text: string) => Promise<void>,
): Deliverer {
  const deliverer: Deliverer = new Deliverer({
    ...parts,
    outbox: parts.work.outbox,
    mayReceive: (delivery) => mayReceive(delivery, parts),
    withFiles: parts.files && ((delivery) => withFetchedFiles(delivery, parts)),
    mirror: async (delivery) => parts.mirror?.(delivery),
    onDead: (delivery, end) =>
      reportUndelivered(delivery, end, {
        addEvent,
        now: () => parts.clock.now(),
        deliver: (notices) => deliverer.deliver(notices),
        ownerChats: () => parts.ownerChats?.() ?? [],
      }),
  })
  return deliverer
}

/** Another machine may have composed the reply; its files are copied to this one. */
async function withFetchedFiles(delivery: Delivery, { files }: FlowParts): Promise<Delivery> {
  const { reply } = delivery
  if (!files || !reply.media?.length) return delivery
  return { ...delivery, reply: { ...reply, media: await files.bring(reply.media) } }
}
