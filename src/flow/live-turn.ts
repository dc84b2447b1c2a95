// A turn while it runs: everything that the agent does is recorded, shown to watchers, and previewed in the chat. Messages
// that arrive meanwhile may join the turn.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../domain/agent.ts'
import { callCost } from '../discovery/price-table.ts'
import type { Channel } from '../domain/channel.ts'
import type { Session } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry } from '../domain/transcript.ts'
import type { TurnEvent, TurnResult, Usage } from '../domain/turn.ts'
import { untrustedWriter } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import type { PreviewStream } from '../replies/stream.ts'
import { makePreviewStream } from '../replies/stream.ts'
import { appendUntrustedContext } from '../inbound/message-text.ts'
import { picturesOf } from '../store/media/media-files.ts'
import type { TranscriptRef } from '../store/session-store.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { TurnParts } from './flow-parts.ts'
import { collectPrompt, entriesOf, markOf } from './questions.ts'
import type { Question } from './questions.ts'
import { prepareInput } from './turn-place.ts'
import type { TurnPlace } from './turn-place.ts'
import { hasLostRights } from './turn-rights.ts'
import type { TurnControls } from './turn-queue.ts'
import { TurnRecord } from './turn-record.ts'

/** Typing is shown only when the answer takes a moment, and again before platforms let it fade. */
const typingAfterMs = 400
const typingEveryMs = 4_500

/** A message in the chat that shows the answer while it is written. `mayBeThere`: whether it was sent is unknown. */
export type Preview = { messageId: string } | { messageId?: undefined; mayBeThere: true }

export class LiveTurn implements TurnControls {
  readonly events: TurnEvent[] = []
  readonly steered = new Map<string, WaitingInput>()
  #result: TurnResult | undefined
  preview: Preview | undefined
  /** The last entry that this turn wrote. */
  lastEntryId: string | undefined
  #firstEntryId = ''
  /** Usage of the last model call; the size of its prompt tells how full the context is. */
  lastUsage: Usage | undefined
  #turnId: string
  #session: Session
  #inputs: readonly WaitingInput[]
  #parts: TurnParts
  #transcript: TranscriptRef
  #place: TurnPlace
  /** The author when the turn began. */
  #author: Author
  #record: TurnRecord
  #stream: PreviewStream | undefined
  #conversation: Conversation | undefined
  /** Resolves when the conversation is open; to undefined if the turn ended before. */
  #opening = Promise.withResolvers<Conversation | undefined>()
  /** Resolves to whether the end of the turn was stored. */
  #isStored = Promise.withResolvers<boolean>()
  #stopTyping: (() => void) | undefined
  #interrupted = false
  #costUsd = 0
  #isOverBudget = false
  #isAsked = false
  /** False while appended entries may not be on disk yet. */
  #isOnDisk = true

  constructor(
    turn: {
      turnId: string
      session: Session
      inputs: readonly WaitingInput[]
      transcript: TranscriptRef
      place: TurnPlace
      author: Author
    },
    parts: TurnParts,
  ) {
    this.#author = turn.author
    this.#turnId = turn.turnId
    this.#session = turn.session
    this.#inputs = turn.inputs
    this.#transcript = turn.transcript
    this.#place = turn.place
    this.#parts = parts
    const { model, modelOverride, thinkingLevel } = turn.session.entry
    this.#record = new TurnRecord({
      append: (bodies) => this.append(bodies),
      clock: parts.clock,
      provider: parts.runtime.kind === 'claude' ? 'anthropic' : 'rockpool',
      session: {
        lastModel: model,
        modelOverride,
        thinkingLevel,
        turnThinking: turn.inputs[0]?.turnOptions?.thinking,
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
   * Appends what people wrote to the transcript before the agent is asked, except what an earlier turn has appended, and
   * resolves to the entries. They need not be on disk yet: until the turn ends the inbox has the messages.
   */
  async recordQuestions(questions: readonly Question[], dropped: readonly string[] = []): Promise<string[]> {
    const { joined, transcripts } = this.#parts
    const inputs = questions.map(({ input }) => input)
    // Only these, so that a long queue costs nothing after a restart.
    const doubtful = inputs.filter(({ id, lostTurns }) => lostTurns > 0 || joined.has(id))
    const recorded = await entriesOf(doubtful, transcripts(this.#session.agentId), this.#transcript)
    const missing = questions.filter(({ input }) => !recorded.has(input))
    const entryIds = [...new Set(recorded.values())]
    if (missing.length + dropped.length > 0) entryIds.push(await this.#appendQuestions(missing, dropped))
    this.#isOnDisk = false
    this.lastEntryId ??= entryIds.at(-1)
    this.#firstEntryId ||= entryIds[0]!
    return entryIds
  }

  async #appendQuestions(questions: readonly Question[], dropped: readonly string[]): Promise<string> {
    const writer = untrustedWriter(this.#author)
    const texts = questions.map(({ text }) => text)
    const message = {
      role: 'user' as const,
      ...(writer ? { writer } : {}),
      inputs: questions.map(({ input }) => markOf(input)),
      content: [{ type: 'text' as const, text: collectPrompt(texts, dropped) }],
      timestamp: this.#parts.clock.now(),
    }
    const [entry] = await this.append([{ type: 'message', message }], true)
    return entry!.id
  }

  opened(conversation: Conversation): void {
    this.#conversation = conversation
    this.#opening.resolve(conversation)
    this.#showTyping(typingAfterMs)
    // The turn was stopped while the process was starting.
    if (this.#interrupted) void conversation.interrupt()
  }

  see(event: TurnEvent): void {
    this.events.push(event)
    if (event.type === 'usage' && !event.subagent) this.lastUsage = event.usage
    if (event.type === 'usage') this.#stopOverBudget(event)
    if (event.type === 'turn-start') this.#noteAsked()
    this.#record.see(event)
    if (event.type === 'text-delta') this.#stream?.push(event.text)
    else if (event.type === 'text') this.#stream?.endBlock()
    const { agentId, key } = this.#session
    this.#parts.events.emit({ type: 'turn-event', agentId, key, turnId: this.#turnId, event })
    for (const input of this.#inputs) this.#parts.watcherOf(input.key)?.onEvent?.(event)
  }

  /** From now on a crash of this turn counts as a failed try of its messages. Stored in the background. */
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

  /** The call that reaches the budget is paid for; no other follows. */
  #stopOverBudget({ model, usage }: Extract<TurnEvent, { type: 'usage' }>): void {
    const { maxBudgetUsd } = this.#inputs[0]?.turnOptions ?? {}
    this.#costUsd += callCost(model, usage)
    if (maxBudgetUsd === undefined || this.#costUsd < maxBudgetUsd || this.#isOverBudget) return
    this.#isOverBudget = true
    void this.interrupt()
  }

  /** A turn that its budget stopped has failed; one that ended with the call that reached the budget is complete. If Claude ended
   *  without a report of the cost, the turn has cost what its calls cost: otherwise no total budget would ever be used up. */
  budgeted(reported: TurnResult): TurnResult {
    const result = { ...reported, costUsd: reported.costUsd || this.#costUsd }
    if (!this.#isOverBudget || result.end.kind !== 'interrupted') return result
    const what = `The turn reached its budget, $${this.#inputs[0]!.turnOptions!.maxBudgetUsd!.toFixed(2)}, and was stopped.`
    return { ...result, end: { kind: 'failed', why: 'budget-reached', message: what, what } }
  }

  async steer(input: WaitingInput): Promise<boolean> {
    const conversation = await this.#opening.promise
    if (!conversation || this.#interrupted) return false
    const { work, joined } = this.#parts
    const { text, received } = await prepareInput(input, this.#place, this.#parts)
    const uuid = randomUUID()
    const images = await picturesOf(received)
    const prompt = { text: appendUntrustedContext(text.forAgent, text.untrusted), uuid }
    if (!conversation.steer({ ...prompt, images: images.length > 0 ? images : undefined })) return false
    this.steered.set(uuid, input)
    // Record first: a joined input ends with the turn, and then it must be in the transcript.
    await this.recordQuestions([{ input, text: text.forAgent }])
    joined.add(input.id)
    if (await work.lanes.join(this.#turnId, [input.id])) return true
    // The turn ended before the store knew that the input had joined. Unanswered, it is one of `unanswered` and gets its own turn.
    // A lost turn has answered nothing: its replies were not stored.
    if (!this.#result || !(await this.#isStored.promise)) return false
    if (this.#result.prompts.includes(uuid)) {
      await work.inbox.end([input.id], 'answered')
      joined.delete(input.id)
    }
    return true
  }

  /** The author may lose rights while the turn runs; it then shows and sends nothing more. */
  get isRevoked(): boolean {
    return hasLostRights(this.#session, this.#inputs, this.#author, this.#parts)
  }

  /** Before each tool and before each further call of the model: stops a turn whose author has lost rights. */
  async checkRights(): Promise<string | undefined> {
    if (!this.isRevoked) return undefined
    void this.interrupt()
    return 'The person who asked no longer has the rights for this.'
  }

  async interrupt(): Promise<void> {
    this.#interrupted = true
    await this.#conversation?.interrupt()
  }

  /** The agent has finished. Resolves when the last preview is shown and everything is recorded. */
  async ended(result: TurnResult): Promise<void> {
    this.#result = result
    this.stopShowing()
    const recorded = this.#record.end(result)
    await (this.#stream ? Promise.all([this.#stream.end(), recorded]) : recorded)
  }

  /** Writes the transcript to disk; called before the messages leave the inbox. */
  async sync(): Promise<void> {
    if (!this.#isOnDisk) await this.#parts.transcripts(this.#session.agentId).sync(this.#transcript)
    this.#isOnDisk = true
  }

  /** Called when the end of the turn is stored. */
  stored(): void {
    this.#isStored.resolve(true)
  }

  /** The turn has ended, perhaps before the agent was asked, or is lost. No message waits for it any more. */
  over(): void {
    this.stopShowing()
    this.#isStored.resolve(false)
  }

  stopShowing(): void {
    if (!this.#conversation) this.#opening.resolve(undefined)
    this.#stopTyping?.()
    this.#stopTyping = undefined
  }

  /** Inputs that joined the turn and that the agent has not answered. */
  unanswered(result: TurnResult): WaitingInput[] {
    return [...this.steered].filter(([uuid]) => !result.prompts.includes(uuid)).map(([, input]) => input)
  }

  get #address() {
    return this.#inputs.at(-1)!.message.address
  }

  /** A preview needs a channel that can change what it has sent. */
  #makeStream(): PreviewStream | undefined {
    const channel = this.#parts.channelFor(this.#address)
    const isForChat = this.#inputs.every((input) => input.turnOptions === undefined)
    if (!channel?.abilities.edits || !channel.edit || !isForChat) return undefined
    return makePreviewStream({
      clock: this.#parts.clock,
      maxChars: channel.abilities.maxTextLength,
      show: (text) => this.#show(channel, text),
    })
  }

  async #show(channel: Channel, text: string): Promise<void> {
    if (this.isRevoked) return
    const { messageId } = this.preview ?? {}
    if (messageId !== undefined) {
      await channel.edit!(this.#address, messageId, { text })
      return
    }
    const options = { idempotencyKey: `preview:${this.#turnId}`, resent: false }
    // Until the send is confirmed, the preview may or may not be visible.
    this.preview = { mayBeThere: true }
    const outcome = await channel.send(this.#address, { text }, options)
    const [sent] = outcome.kind === 'sent' ? outcome.messageIds : []
    if (sent !== undefined) this.preview = { messageId: sent }
    else if (outcome.kind !== 'unknown') this.preview = undefined
    // Trying again could send a second message, or would be refused again.
    const mayTryAgain = outcome.kind === 'retry' || channel.abilities.idempotentSend
    if (sent === undefined && !mayTryAgain) void this.#stream?.end()
  }

  #showTyping(afterMs: number): void {
    const channel = this.#parts.channelFor(this.#address)
    if (!channel?.typing) return
    this.#stopTyping = this.#parts.clock.after(afterMs, () => {
      // The typing indicator is optional, so a failure is ignored.
      void channel.typing!(this.#address).catch(() => {})
      this.#showTyping(typingEveryMs)
    })
  }
}
