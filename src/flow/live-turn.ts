// A turn while it runs: everything that the agent does is recorded, shown to whoever watches, and previewed in the chat;
// messages that arrive meanwhile may join it.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../domain/agent.ts'
import type { Channel } from '../domain/channel.ts'
import type { Session } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry } from '../domain/transcript.ts'
import type { TurnEvent, TurnResult, Usage } from '../domain/turn.ts'
import type { PreviewStream } from '../replies/stream.ts'
import { makePreviewStream } from '../replies/stream.ts'
import { appendUntrustedContext } from '../inbound/message-text.ts'
import { picturesOf, withFiles } from '../store/media/message-files.ts'
import type { TranscriptRef } from '../store/session-store.ts'
import type { WaitingInput } from '../store/work-store.ts'
import { withFilesHere } from './local-files.ts'
import type { Preview } from './deliveries.ts'
import { readInput } from './find-session.ts'
import type { TurnParts } from './flow-parts.ts'
import { TurnRecord } from './turn-record.ts'
import type { Batch, TurnInHand } from './turn-queue.ts'

/** Typing is shown only when the answer takes a moment, and again before platforms let it fade. */
const typingAfterMs = 400
const typingEveryMs = 4_500

export class LiveTurn implements TurnInHand {
  readonly events: TurnEvent[] = []
  readonly steered = new Map<string, WaitingInput>()
  preview: Preview | undefined
  /** The last entry that this turn wrote. */
  lastEntryId: string | undefined
  #firstEntryId = ''
  /** Usage of the last call to the model; its prompt is how full the context is. */
  lastUsage: Usage | undefined
  #turnId: string
  #session: Session
  #batch: Batch
  #parts: TurnParts
  #transcript: TranscriptRef
  #place: { workspace: string; cwd: string }
  #record: TurnRecord
  #stream: PreviewStream | undefined
  #conversation: Conversation | undefined
  /** Resolves when the conversation is open; with nothing, if the turn ended before. */
  #opening = Promise.withResolvers<Conversation | undefined>()
  #stopTyping: (() => void) | undefined
  #interrupted = false
  #isAsked = false
  /** Whether everything that was appended is. */
  #isOnDisk = true

  constructor(
    turn: {
      turnId: string
      session: Session
      batch: Batch
      transcript: TranscriptRef
      workspace: string
      cwd: string
    },
    parts: TurnParts,
  ) {
    this.#turnId = turn.turnId
    this.#session = turn.session
    this.#batch = turn.batch
    this.#transcript = turn.transcript
    this.#place = { workspace: turn.workspace, cwd: turn.cwd }
    this.#parts = parts
    const provider = parts.runtime.kind === 'claude' ? 'anthropic' : 'rockpool'
    const { model, thinkingLevel } = turn.session.entry
    const turnThinking = turn.batch.inputs[0]?.wish?.thinking
    this.#record = new TurnRecord({
      append: (bodies) => this.append(bodies),
      clock: parts.clock,
      provider,
      session: {
        ...(model === undefined ? {} : { lastModel: model }),
        ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
        ...(turnThinking === undefined ? {} : { turnThinking }),
        firstEntryId: () => this.#firstEntryId,
      },
    })
    this.#stream = this.#makeStream()
  }

  async append(bodies: EntryBody[], isKeptElsewhere = false): Promise<TranscriptEntry[]> {
    const { agentId, key } = this.#session
    const about = { cwd: this.#place.cwd, key, isKeptElsewhere }
    const entries = await this.#parts.transcripts(agentId).append(this.#transcript, bodies, about)
    this.#isOnDisk = !isKeptElsewhere
    this.lastEntryId = entries.at(-1)?.id ?? this.lastEntryId
    return entries
  }

  /**
   * What people said, in the transcript before the agent is asked. Until the turn ends it is in the inbox, too, which is
   * on disk. Resolves to the entry's id.
   */
  async recordUser(text: string): Promise<string> {
    const message = {
      role: 'user' as const,
      content: [{ type: 'text' as const, text }],
      timestamp: this.#parts.clock.now(),
    }
    const [entry] = await this.append([{ type: 'message', message }], true)
    this.#firstEntryId ||= entry!.id
    return entry!.id
  }

  opened(conversation: Conversation): void {
    this.#conversation = conversation
    this.#opening.resolve(conversation)
    this.#showTyping(typingAfterMs)
    // Somebody stopped the turn while the process was starting.
    if (this.#interrupted) void conversation.interrupt()
  }

  see(event: TurnEvent): void {
    this.events.push(event)
    if (event.type === 'usage' && !event.subagent) this.lastUsage = event.usage
    if (event.type === 'turn-start') this.#noteAsked()
    this.#record.see(event)
    if (event.type === 'text-delta') this.#stream?.push(event.text)
    else if (event.type === 'text') this.#stream?.endBlock()
    const { agentId, key } = this.#session
    this.#parts.events.emit({ type: 'turn-event', agentId, key, turnId: this.#turnId, event })
    for (const input of this.#batch.inputs) this.#parts.watcherOf(input.key)?.onEvent?.(event)
  }

  /** A turn that is lost from now on counts as a try. The agent need not wait for that to be written. */
  #noteAsked(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    this.#parts.work.lanes
      .asked(this.#turnId)
      .catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'asked-not-recorded', turnId: this.#turnId, error: String(error) },
          'Could not record that the agent was asked; if the turn is lost, the message is retried once more.',
        ),
      )
  }

  async steer(input: WaitingInput): Promise<boolean> {
    const conversation = await this.#opening.promise
    if (!conversation || this.#interrupted) return false
    const received = await withFilesHere(input, this.#parts)
    const { forAgent: said, untrusted } = readInput(await withFiles(received, this.#place), this.#parts)
    const uuid = randomUUID()
    const images = await picturesOf(received.message.media)
    const text = appendUntrustedContext(said, untrusted)
    if (!conversation.steer({ text, uuid, ...(images.length > 0 ? { images } : {}) })) return false
    this.steered.set(uuid, input)
    // Recorded first: an input that joined ends with the turn, and must not end without being in the transcript.
    await this.recordUser(said)
    await this.#parts.work.lanes.join(this.#turnId, [input.id])
    return true
  }

  async interrupt(): Promise<void> {
    this.#interrupted = true
    await this.#conversation?.interrupt()
  }

  /** The agent is done: nothing more is shown, and everything is on disk. */
  async ended(result: TurnResult): Promise<void> {
    this.stopShowing()
    await Promise.all([this.#stream?.end(), this.#record.end(result)])
  }

  /** Before what people said leaves the inbox. */
  async sync(): Promise<void> {
    if (!this.#isOnDisk) await this.#parts.transcripts(this.#session.agentId).sync(this.#transcript)
    this.#isOnDisk = true
  }

  stopShowing(): void {
    this.#opening.resolve(undefined)
    this.#stopTyping?.()
    this.#stopTyping = undefined
  }

  /** Inputs that joined and that the agent has not dealt with. */
  unanswered(result: TurnResult): WaitingInput[] {
    return [...this.steered].filter(([uuid]) => !result.prompts.includes(uuid)).map(([, input]) => input)
  }

  get #address() {
    return this.#batch.inputs.at(-1)!.message.address
  }

  /** A preview needs a channel that can change what it has sent. */
  #makeStream(): PreviewStream | undefined {
    const channel = this.#parts.channelFor(this.#address)
    const isForChat = this.#batch.inputs.every((input) => input.wish === undefined)
    if (!channel?.abilities.edits || !channel.edit || !isForChat) return undefined
    return makePreviewStream({
      clock: this.#parts.clock,
      maxChars: channel.abilities.maxTextLength,
      show: (text) => this.#show(channel, text),
    })
  }

  async #show(channel: Channel, text: string): Promise<void> {
    const { messageId } = this.preview ?? {}
    if (messageId !== undefined) {
      await channel.edit!(this.#address, messageId, { text })
      return
    }
    const options = { idempotencyKey: `preview:${this.#turnId}`, resent: false }
    // Until we know better, it may be there.
    this.preview = { mayBeThere: true }
    const outcome = await channel.send(this.#address, { text }, options)
    const [sent] = outcome.kind === 'sent' ? outcome.messageIds : []
    if (sent !== undefined) this.preview = { messageId: sent }
    else if (outcome.kind !== 'unknown') this.preview = undefined
    // A second try could be a second message, and one that will not be taken needs none.
    const mayTryAgain = outcome.kind === 'retry' || channel.abilities.idempotentSend
    if (sent === undefined && !mayTryAgain) void this.#stream?.end()
  }

  #showTyping(afterMs: number): void {
    const channel = this.#parts.channelFor(this.#address)
    if (!channel?.typing) return
    this.#stopTyping = this.#parts.clock.after(afterMs, () => {
      // That somebody sees us typing is a courtesy; a failure changes nothing.
      void channel.typing!(this.#address).catch(() => {})
      this.#showTyping(typingEveryMs)
    })
  }
}
