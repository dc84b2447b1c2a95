// The way of a message, from a chat to the agent and back. Read this file first.
//
// A channel hands over a message; it is admitted and written down (accept). When its session is free, a turn begins: the
// session is found, the prompt composed, the agent asked, the answer recorded, and the replies put into the outbox, from
// where they are delivered. Everything that must not be lost is on disk before the next step.
import { isTerminal } from '../domain/address.ts'
import type { NotAccepted } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { messageKey } from '../inbound/dedupe.ts'
import { commandText } from '../inbound/message-text.ts'
import { MAX_SYSTEM_EVENTS } from '../inbound/system-events.ts'
import { Deliverer } from '../replies/deliver.ts'
import type { Input, WaitingInput } from '../store/work-store.ts'
import { mayJoinTurn } from '../rights/chat-rights.ts'
import { commandIn, isTurnCommand, runCommand } from './chat-commands.ts'
import type { FoundCommand } from './chat-commands.ts'
import { Door } from './admission.ts'
import { replyWithFilesHere } from './local-files.ts'
import type { FlowParts, TurnWatcher } from './flow-parts.ts'
import type { HeldBack } from './prompt.ts'
import { resolveQueueSettings } from './queue-settings.ts'
import { SharedLanes } from './shared-lanes.ts'
import { takeTurn } from './take-turn.ts'
import { TurnQueue } from './turn-queue.ts'
import type { Batch, TurnInHand } from './turn-queue.ts'
import { authorOfInput } from './turn-rights.ts'
import { untrustedWakePrompt, wakeInput } from './wake-input.ts'
import { releaseTurn } from './turn-recovery.ts'
import { reportUndelivered } from './undelivered.ts'

export class Converse {
  readonly queue: TurnQueue
  readonly deliverer: Deliverer
  readonly parts: FlowParts
  /** Where several processes share the work: what is taken here, and what others take. */
  readonly shared: SharedLanes | undefined
  #door: Door
  #watchers = new Map<string, TurnWatcher>()
  #abandoned = false
  #commands = new Map<string, Promise<void>>()

  constructor(parts: FlowParts) {
    this.parts = parts
    this.deliverer = makeDeliverer(parts, (lane, text) => this.systemEvent(lane, text))
    this.queue = new TurnQueue({
      clock: parts.clock,
      settings: (_lane, input) => this.#queueSettings(input),
      take: (batch, begun) => this.#take(batch, begun),
      drop: (inputs, told) => this.#door.turnAway(inputs, told),
      mayJoin: (input, others) => this.#mayJoin(input, others),
      onError: (lane, error) => {
        parts.log.error({ event: 'turn-failed', lane, error: String(error) }, 'Could not run a turn.')
        this.shared?.failed(lane)
      },
      onUnplaced: (lane, error) =>
        parts.log.warn(
          { event: 'message-not-joined', lane, error: String(error) },
          'Could not add a message to the running turn; it waits for the next turn.',
        ),
      onIdle: (lane) => this.shared?.idle(lane),
    })
    const { share } = parts.work
    this.shared =
      share &&
      new SharedLanes(share, {
        ...parts,
        queue: this.queue,
        begin: (input) => this.#begin(input),
        release: (turn) => releaseTurn(turn, parts.work, parts),
        deliverer: this.deliverer,
      })
    this.#door = new Door(parts, this.queue, this.deliverer)
  }

  /** A channel received something. When this resolves, it is on disk, or it was decided that it need not be. */
  async accept(message: Message): Promise<NotAccepted | void> {
    const { work, events } = this.parts
    const key = messageKey(message)
    if (await work.inbox.knows(key)) return this.#door.dropFiles(message)
    const verdict = await this.#door.judge(message)
    if (verdict.kind !== 'accepted') {
      await this.#door.answer(message, verdict)
      return verdict.kind === 'refused' ? verdict : undefined
    }
    if (await this.#door.needsNoTurn(message, verdict)) return
    const { agentId, lane } = await this.#door.route(message)
    const { owner, byOwner, byMember } = verdict
    const said = await this.#door.withFiles(await this.#door.meant(message), agentId, lane)
    const input = { key, lane, agentId, message: said, mayCommand: true, owner, byOwner, byMember }
    const waiting = await work.inbox.accept(input, this.shared?.hasRoom)
    if (!waiting) return this.#door.dropFiles(said)
    events.emit({ type: 'message-accepted', agentId, key: lane, messageId: message.id })
    this.#place(waiting)
  }

  /** A turn that somebody asks for outside of any chat: the command line, an operation, a hook, the agent itself. */
  async ask(input: Input, watcher?: TurnWatcher): Promise<boolean> {
    if (watcher) this.#watchers.set(input.key, watcher)
    const message = isTerminal(input.message.address) ? await this.#door.meant(input.message) : input.message
    const asked = { ...input, message, ...(watcher ? { isWatched: true } : {}) }
    const waiting = await this.parts.work.inbox.accept(asked, this.shared?.hasRoom)
    if (!waiting) {
      this.#watchers.delete(input.key)
      return false
    }
    this.#place(waiting)
    return true
  }

  /** Forgets who waits for a turn; the turn goes on. */
  unwatch(key: string): void {
    this.#watchers.delete(key)
  }

  /** Something the agent is told before the next message of this session. */
  async systemEvent(sessionKey: string, text: string): Promise<void> {
    await this.parts.work.systemEvents.add(sessionKey, text, MAX_SYSTEM_EVENTS)
  }

  /** Resolves when everything that was accepted is answered, and every answer sent or waiting for its channel. */
  async idle(): Promise<void> {
    while (this.#commands.size > 0) await Promise.all(this.#commands.values())
    await this.queue.idle()
    await this.deliverer.idle()
  }

  /** Begins nothing more; resolves when what runs has ended. */
  async close(): Promise<void> {
    await Promise.all([this.queue.close(), ...this.#commands.values()])
  }

  /** From now on a turn that ends is not finished: it stays in the book as cut off, to be retried after the next start. */
  abandon(): void {
    this.#abandoned = true
  }

  /** Takes up inputs that wait in the inbox and that nobody has begun. */
  async resume(inputs: WaitingInput[]): Promise<void> {
    for (const input of inputs) this.#begin(input)
  }

  #place(input: WaitingInput): void {
    if (this.shared) this.shared.placed(input)
    else this.#begin(input)
  }

  async #take(batch: Batch, begun: (turn: TurnInHand) => void): Promise<WaitingInput[]> {
    // It was on its way here when its lane was given up; it comes again, after what is before it.
    if (this.shared?.isGivingUp(batch.lane)) return []
    return takeTurn(batch, begun, {
      ...this.parts,
      deliverer: this.deliverer,
      mentionsFor: (message) => this.#door.mentionsFor(message),
      watcherOf: (key) => this.#watchers.get(key),
      isAbandoned: () => this.#abandoned,
      onNotOurs: (lane) => this.shared?.failed(lane),
      onHeldBack: (held) => void this.#tellHeldBack(held),
    })
  }

  /** Commands that need no turn run at once, also beside a running turn; everything else takes its place in the lane. */
  #begin(input: WaitingInput): void {
    const command = this.#commandOf(input)
    if (command && !isTurnCommand(command)) {
      this.#runNow(command, input)
      return
    }
    void this.queue.offer(input)
  }

  /** Commands of one lane run in the order in which they were given. */
  #runNow(command: FoundCommand, input: WaitingInput): void {
    const before = this.#commands.get(input.lane) ?? Promise.resolve()
    const parts = { ...this.parts, queue: this.queue, deliverer: this.deliverer }
    const done = before
      .then(() => runCommand(command, input, parts))
      .catch((error: unknown) =>
        this.parts.log.error(
          { event: 'command-error', lane: input.lane, error: String(error) },
          'Could not run a chat command.',
        ),
      )
      .then(() => {
        if (this.#commands.get(input.lane) === done) this.#commands.delete(input.lane)
        this.shared?.idle(input.lane)
      })
    this.#commands.set(input.lane, done)
  }

  /** Others' words get a turn of their own, once for each of them. */
  async #tellHeldBack({ lane, agentId, author, upTo }: HeldBack & { lane: string; agentId: string }) {
    const woken = { key: `held:${lane}:${upTo}`, lane, agentId, text: untrustedWakePrompt, askedBy: author }
    try {
      await this.ask(await wakeInput(woken, this.parts))
    } catch (error) {
      this.parts.log.warn(
        { event: 'quoted-text-waits', lane, error: String(error) },
        'Could not add the text of another program to the running turn; it waits for the next turn.',
      )
    }
  }

  #mayJoin(input: WaitingInput, others: readonly WaitingInput[]): boolean {
    if (input.wish !== undefined || isTurnCommand(this.#commandOf(input))) return false
    const author = authorOfInput(input, this.parts)
    return others.every((other) => mayJoinTurn(author, authorOfInput(other, this.parts)))
  }

  #commandOf(input: Input) {
    // Most messages hold no slash; they need no second look.
    if (input.wish?.internal || !input.message.text.includes('/')) return undefined
    const text = commandText(input.message, this.#door.mentionsFor(input.message))
    return commandIn(text, input, this.parts)
  }

  async #queueSettings(input: WaitingInput) {
    const entry = await this.parts.sessions(input.agentId).get(input.lane)
    return resolveQueueSettings({
      config: this.parts.config.messages.queue,
      channel: input.message.address.channel,
      ...(entry ? { entry } : {}),
    })
  }
}

function makeDeliverer(
  parts: FlowParts,
  tell: (sessionKey: string, text: string) => Promise<void>,
): Deliverer {
  const deliverer: Deliverer = new Deliverer({
    ...parts,
    outbox: parts.work.outbox,
    withFiles: (delivery) => replyWithFilesHere(delivery, parts),
    mirror: async (delivery) => parts.mirror?.(delivery),
    onDead: (delivery, end) =>
      reportUndelivered(delivery, end, {
        tell,
        now: () => parts.clock.now(),
        deliver: (notices) => deliverer.deliver(notices),
        ownerChats: () => parts.ownerChats?.() ?? [],
      }),
  })
  return deliverer
}
