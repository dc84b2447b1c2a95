// Tells people and agents what their coding sessions do. Everything goes through the outbox under a key that says what
// is said, so that each thing is said once, also after a crash.
import type { Address } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { Approval, CodingSession, OutputBlock } from '../domain/coding-session.ts'
import type { Log } from '../domain/log.ts'
import type { Reply } from '../domain/reply.ts'
import { formatUsd } from '../domain/text.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import type { Author } from '../rights/author.ts'
import { formatDuration, oneLine } from './session/names.ts'
import { approvalReply } from './approvals/approval-reply.ts'
import { addressOfOrigin } from './session/origin.ts'
import { ProgressRelay } from './progress-relay.ts'
import type { Progress } from './progress-relay.ts'

export interface NotificationParts {
  store: CodingStore
  clock: Clock
  log: Log
  /** Puts a reply into the outbox; the same key is put in once. `codingId` lets a reply to it find the session. */
  deliver: (
    address: Address,
    reply: Reply,
    key: string,
    codingId: string,
    /** Output that streams: it may be added to what was streamed before. */
    isOutput?: boolean,
  ) => Promise<void>
  /** A system event for the agent: it takes a turn at once. The same key wakes once. */
  wake: (event: {
    text: string
    agentId: string
    sessionKey?: string
    key: string
    askedBy: Author
  }) => Promise<void>
  /** A note for a session, to be read with its next message. */
  note: (progress: Progress) => Promise<void>
}

const streamDebounceMs = 500
/** A session that never pauses is passed on in pieces, and never gathered without end. */
const maxGathered = 50
const maxGatheredChars = 4_000
const waitingDebounceMs = 5_000
const previewLines = 5
const previewChars = 500

export class NotificationRouter {
  #parts: NotificationParts
  #streams = new Map<string, { blocks: OutputBlock[]; cancel: () => void }>()
  #lastWaiting = new Map<string, number>()
  #waitingLater = new Map<string, () => void>()
  #relay: ProgressRelay

  constructor(parts: NotificationParts) {
    this.#parts = parts
    this.#relay = new ProgressRelay(parts.clock, (progress) => {
      void this.#orSay(progress.text, parts.note(progress))
    })
  }

  async onLaunched(session: CodingSession): Promise<void> {
    const about = oneLine(session.request.prompt, 80)
    await this.#tellIfReached(session, 'launched', { text: `🚀 [${session.name}] Launched: ${about}` })
  }

  async onResponded(session: CodingSession, message: string): Promise<void> {
    const text = `↩️ [${session.name}] Responded: ${oneLine(message, 200)}`
    // Several messages may wait for the same turn.
    const what = `responded:${session.lastSeq}.${session.inbox.length}`
    await this.#tellIfReached(session, what, { text })
  }

  /** Text and tool lines, gathered for half a second, to every chat that has the session in its foreground. */
  onOutput(session: CodingSession, block: OutputBlock): void {
    this.#relay.onOutput(session, block)
    for (const watch of this.#parts.store.watches(session.id)) {
      const isNew = watch.foreground && watch.seenSeq < block.seq
      if (isNew && addressOfOrigin(watch.channel)) this.#stream(session.id, watch.channel, block)
    }
  }

  /** Sends what is still gathered; before anything that must come after it, and at the end. */
  async flush(codingId: string): Promise<void> {
    for (const [key, stream] of this.#streams) {
      const channel = key.slice(codingId.length + 1)
      if (key !== `${codingId} ${channel}`) continue
      this.#streams.delete(key)
      stream.cancel()
      await this.#sendStream(codingId, channel, stream.blocks)
    }
  }

  async onWaitingForInput(session: CodingSession): Promise<void> {
    const now = this.#parts.clock.now()
    const since = now - (this.#lastWaiting.get(session.id) ?? -Infinity)
    if (since < waitingDebounceMs) return this.#tellLater(session.id, waitingDebounceMs - since)
    this.#lastWaiting.set(session.id, now)
    this.#relay.end(session.id)
    await this.flush(session.id)
    const kind = session.request.multiTurn ? 'multi-turn' : 'single-turn'
    const heading = `🔔 [${session.name}] waits for input (${kind}, ${session.id})`
    await this.#tellChatOrAgent(session, `waiting:${session.turns}`, heading, [
      `claude_respond(session="${session.id}", message="…") to answer, claude_output(session="${session.id}") to read more`,
    ])
  }

  /** Too soon after the last time. If it still waits when the pause is over, that is said then. */
  #tellLater(id: string, afterMs: number): void {
    if (this.#waitingLater.has(id)) return
    const cancel = this.#parts.clock.after(afterMs, () => {
      this.#waitingLater.delete(id)
      const session = this.#parts.store.get(id)
      if (session?.lifecycle === 'awaiting-input') void this.onWaitingForInput(session)
    })
    this.#waitingLater.set(id, cancel)
  }

  /** Before the process ends: what is gathered is sent, and nothing is said later. */
  async close(): Promise<void> {
    for (const cancel of this.#waitingLater.values()) cancel()
    this.#waitingLater.clear()
    this.#relay.close()
    for (const key of this.#streams.keys()) await this.flush(key.slice(0, key.indexOf(' ')))
  }

  /** `alike` are the sessions of this chat that ask the same. */
  async onApproval(session: CodingSession, approval: Approval, alike: string[] = []): Promise<void> {
    await this.flush(session.id)
    const reply = approvalReply(`[${session.name}]`, approval, alike)
    await this.#tellChat(session, `approval:${approval.id}`, reply)
  }

  async onSessionComplete(session: CodingSession): Promise<void> {
    this.#waitingLater.get(session.id)?.()
    this.#waitingLater.delete(session.id)
    this.#lastWaiting.delete(session.id)
    this.#relay.end(session.id)
    await this.flush(session.id)
    const took = formatDuration((session.end?.at ?? this.#parts.clock.now()) - session.createdAt)
    const cost = session.costUsd > 0 ? `, ${formatUsd(session.costUsd)}` : ''
    const why = session.end?.message ? `: ${session.end.message}` : ''
    const key = `end:${session.turns}:${session.end?.reason ?? ''}`
    if (session.status === 'completed') {
      const hint = `claude_output(session="${session.id}") to read everything`
      return this.#tellChatOrAgent(session, key, `✅ [${session.name}] finished (${took}${cost})`, [hint])
    }
    const icon = session.lifecycle === 'suspended' ? '💤' : session.status === 'killed' ? '⛔' : '❌'
    const word = session.lifecycle === 'suspended' ? 'suspended' : session.status
    const resume = session.sdkSessionId ? `\nResume: /claude_resume ${session.name}` : ''
    const text = `${icon} [${session.name}] ${word} (${took}${cost})${why}${resume}`
    // Whoever ended it himself knows; the agent that launched it must learn of everything else.
    if (session.end?.reason === 'user') await this.#tellChat(session, key, { text })
    else await this.#tellChatOrAgent(session, key, text, [])
  }

  /** Anything else about a session, to where it came from: its chat, or its agent when no chat can be reached. */
  async routeEventMessage(session: CodingSession, eventText: string, label: string): Promise<void> {
    await this.#tellChat(session, `event:${label}`, { text: eventText })
  }

  /** Once for each turn that takes so long. */
  async onLongRunning(session: CodingSession, since: number): Promise<void> {
    const took = formatDuration(this.#parts.clock.now() - since)
    const doing = session.doing ? `\nNow: ${session.doing}` : ''
    await this.#tellChat(session, `long-running:${session.turns}`, {
      text: `⏱️ [${session.name}] running for ${took}${doing}`,
    })
  }

  #stream(codingId: string, channel: string, block: OutputBlock): void {
    const key = `${codingId} ${channel}`
    const stream = this.#streams.get(key)
    stream?.cancel()
    const blocks = stream?.blocks ?? []
    blocks.push(block)
    const chars = blocks.reduce((sum, each) => sum + each.text.length, 0)
    if (blocks.length >= maxGathered || chars >= maxGatheredChars) {
      this.#streams.delete(key)
      return void this.#sendStream(codingId, channel, blocks)
    }
    const cancel = this.#parts.clock.after(streamDebounceMs, () => {
      this.#streams.delete(key)
      void this.#sendStream(codingId, channel, blocks)
    })
    this.#streams.set(key, { blocks, cancel })
  }

  async #sendStream(codingId: string, channel: string, blocks: OutputBlock[]): Promise<void> {
    const address = addressOfOrigin(channel)
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (!first || !last) return
    const text = blocks.map((block) => (block.kind === 'tool' ? `🔧 ${block.text}` : block.text)).join('\n')
    const key = `coding:${codingId}:out:${first.seq}-${last.seq}`
    if (address) await this.#deliver(address, { text }, key, codingId, true)
    await this.#parts.store.markSeen(codingId, channel, last.seq)
  }

  /** An agent that launched it is woken and speaks for itself; otherwise the person is told. Never both. */
  async #tellChatOrAgent(
    session: CodingSession,
    what: string,
    heading: string,
    hints: string[],
  ): Promise<void> {
    const preview = this.#preview(session)
    if (session.request.originSessionKey !== undefined) {
      const text = [heading, preview, ...hints].filter(Boolean).join('\n')
      return this.#wake(session, text, what)
    }
    await this.#tellChat(session, what, { text: [heading, preview].filter(Boolean).join('\n') })
  }

  /** To the chat it came from; when there is none that can be reached, the agent is woken instead. */
  async #tellChat(session: CodingSession, what: string, reply: Reply): Promise<void> {
    if (await this.#tellIfReached(session, what, reply)) return
    if (session.request.originChannel === 'gateway') return
    await this.#wake(session, reply.text ?? '', what)
  }

  /** What whoever asked for it knows already is worth no turn of an agent: it is for the chat alone. */
  async #tellIfReached(session: CodingSession, what: string, reply: Reply): Promise<boolean> {
    const address = addressOfOrigin(session.request.originChannel, session.request.originThreadId)
    if (address) await this.#deliver(address, reply, `coding:${session.id}:${what}`, session.id)
    return address !== undefined
  }

  async #wake(session: CodingSession, text: string, what: string): Promise<void> {
    const { launchedBy, originSessionKey: sessionKey, byProgram } = session.request
    const askedBy = byProgram ? 'program' : 'owner'
    const agentId = launchedBy ?? session.request.agentId
    const key = `coding:${session.id}:${what}`
    await this.#orSay(key, this.#parts.wake({ text, agentId, sessionKey, key, askedBy }))
  }

  async #deliver(...[address, reply, key, codingId, isOutput]: Parameters<NotificationParts['deliver']>) {
    await this.#orSay(key, this.#parts.deliver(address, reply, key, codingId, isOutput))
  }

  /** A notice that cannot be given is in the log; the session that it speaks of goes on. */
  async #orSay(key: string, telling: Promise<void>): Promise<void> {
    try {
      await telling
    } catch (error) {
      this.#parts.log.error(
        { event: 'notice-failed', notice: key, error: String(error) },
        'Could not queue a notification.',
      )
    }
  }

  #preview(session: CodingSession): string {
    const lines = this.#parts.store
      .lastOutput(session.id, 20)
      .filter((block) => block.kind === 'text')
      .flatMap((block) => block.text.split('\n'))
      .filter((line) => line.trim() !== '')
      .slice(-previewLines)
      .join('\n')
    return lines.length <= previewChars ? lines : `…${lines.slice(-previewChars).toWellFormed()}`
  }
}
