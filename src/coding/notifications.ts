// Notifies people and agents about their coding sessions. Every notification goes through the outbox under a key that names the
// event, so that each is sent once, also after a crash.
import type { Address } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { Approval, CodingSession, OutputBlock } from '../domain/coding-session.ts'
import { isLimited } from '../domain/coding-state.ts'
import type { Log } from '../domain/log.ts'
import type { Reply } from '../domain/reply.ts'
import { formatUsd } from '../domain/text.ts'
import { markEvent } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import { approvalReply } from './approvals/approval-reply.ts'
import { formatDuration, oneLine } from './session/names.ts'
import { addressOfOrigin, isOpenClawOrigin } from './session/origin.ts'
import { OutputStreams } from './watching.ts'

export interface NotificationParts {
  store: CodingStore
  clock: Clock
  log: Log
  /** Puts a reply into the outbox, once for each key. `codingId` connects a reply to this message with the session. */
  deliver: (
    address: Address,
    reply: Reply,
    key: string,
    codingId: string,
    /** Streamed output: the channel may append it to the message before. */
    isOutput?: boolean,
  ) => Promise<void>
  /** Lets the agent take a turn for a system event, once for each key. */
  wake: (event: {
    text: string
    agentId: string
    sessionKey?: string
    key: string
    askedBy: Author
  }) => Promise<void>
  /** The owner has not yet decided whether sessions continue by themselves after a usage limit. */
  asksToContinue?: () => boolean
  /** Leaves a note for a session, to be read with its next message. */
  note: (progress: Progress) => Promise<void>
}

/** A report of what a session does, for the session that launched it. */
export interface Progress {
  sessionKey: string
  text: string
  /** The beginning of earlier reports of the same session, which this one replaces. */
  instead: string
}

const waitingDebounceMs = 5_000
const previewLines = 5
const previewChars = 500

export class NotificationRouter {
  #parts: NotificationParts
  #streams: OutputStreams
  #progress: ProgressReports
  #lastWaiting = new Map<string, number>()
  #waitingLater = new Map<string, () => void>()

  constructor(parts: NotificationParts) {
    const { store, clock } = parts
    this.#parts = parts
    this.#streams = new OutputStreams({
      store,
      clock,
      send: (address, text, key, codingId) => this.#deliver(address, { text }, key, codingId, true),
    })
    this.#progress = new ProgressReports(clock, (progress) => {
      void this.#logFailure(progress.text, parts.note(progress))
    })
  }

  async onLaunched(session: CodingSession): Promise<void> {
    const about = oneLine(session.request.prompt, 80)
    await this.#notifyReachable(session, 'launched', { text: `🚀 [${session.name}] Launched: ${about}` })
  }

  async onResumed(session: CodingSession, message: string): Promise<void> {
    const text = `▶️ [${session.name}] Resumed: ${oneLine(message, 80)}`
    await this.#notifyReachable(session, `resumed:${session.lastSeq}`, { text })
  }

  async onResponded(session: CodingSession, message: string): Promise<void> {
    const text = `↩️ [${session.name}] Responded: ${oneLine(message, 200)}`
    // Several messages may wait for the same turn.
    const event = `responded:${session.lastSeq}.${session.inbox.length}`
    await this.#notifyReachable(session, event, { text })
  }

  /** Text and tool lines, to every chat that has the session in its foreground. */
  onOutput(session: CodingSession, block: OutputBlock): void {
    this.#progress.add(session, block)
    this.#streams.add(session.id, block)
  }

  /** Sends output that is still gathered. */
  flush(codingId: string): Promise<void> {
    return this.#streams.flush(codingId)
  }

  async onWaitingForInput(session: CodingSession): Promise<void> {
    const now = this.#parts.clock.now()
    const since = now - (this.#lastWaiting.get(session.id) ?? -Infinity)
    if (since < waitingDebounceMs) return this.#notifyLater(session.id, waitingDebounceMs - since)
    this.#lastWaiting.set(session.id, now)
    this.#progress.end(session.id)
    await this.flush(session.id)
    const { id, name } = session
    const kind = session.request.multiTurn ? 'multi-turn' : 'single-turn'
    const heading = `🔔 [${name}] finished its turn`
    const hint = `A ${kind} session that waits for input (${id}): claude_respond(session="${id}", message="…") to answer, claude_output(session="${id}") to read more`
    await this.#notifyAgentOrChat(session, `waiting:${session.turns}`, heading, hint)
  }

  /** Too soon after the last notification: sent later, if the session then still waits. */
  #notifyLater(id: string, afterMs: number): void {
    if (this.#waitingLater.has(id)) return
    const cancel = this.#parts.clock.after(afterMs, () => {
      this.#waitingLater.delete(id)
      const session = this.#parts.store.get(id)
      if (session?.lifecycle === 'awaiting-input') void this.onWaitingForInput(session)
    })
    this.#waitingLater.set(id, cancel)
  }

  /** Before the process ends: sends what is gathered, and cancels what would be sent later. */
  async close(): Promise<void> {
    for (const cancel of this.#waitingLater.values()) cancel()
    this.#waitingLater.clear()
    this.#progress.close()
    await this.#streams.flushAll()
  }

  /** `alike`: the sessions of this chat that ask the same. */
  async onApproval(session: CodingSession, approval: Approval, alike: string[] = []): Promise<void> {
    await this.flush(session.id)
    const inOpenClaw = isOpenClawOrigin(session.request.originChannel)
    const reply = approvalReply(`[${session.name}]`, approval, alike, inOpenClaw)
    await this.#notifyChat(session, `approval:${approval.id}`, reply)
  }

  async onSessionComplete(session: CodingSession): Promise<void> {
    this.#waitingLater.get(session.id)?.()
    this.#waitingLater.delete(session.id)
    this.#lastWaiting.delete(session.id)
    this.#progress.end(session.id)
    await this.flush(session.id)
    const took = formatDuration((session.end?.at ?? this.#parts.clock.now()) - session.createdAt)
    const cost = session.costUsd > 0 ? `, ${formatUsd(session.costUsd)}` : ''
    const why = session.end?.message ? `: ${session.end.message}` : ''
    const event = `end:${session.turns}:${session.end?.reason ?? ''}`
    if (session.status === 'completed') {
      const hint = `claude_output(session="${session.id}") to read everything`
      return this.#notifyAgentOrChat(session, event, `✅ [${session.name}] finished (${took}${cost})`, hint)
    }
    const isSuspended = session.lifecycle === 'suspended'
    const limited = isLimited(session)
    const icon = limited ? '⏳' : isSuspended ? '💤' : session.status === 'killed' ? '⛔' : '❌'
    const state = limited ? 'limited' : isSuspended ? 'suspended' : session.status
    const resume = session.sdkSessionId ? `\nResume: /claude_resume ${session.name}` : ''
    const text = `${icon} [${session.name}] ${state} (${took}${cost})${why}${resume}`
    // The person who ended the session knows its end. The agent that launched the session must learn of every other end.
    if (session.end?.reason === 'user') await this.#notifyChat(session, event, { text })
    else await this.#notifyAgentOrChat(session, event, text)
    if (limited && this.#parts.asksToContinue?.()) await this.#askToContinue(session)
  }

  /** Asks the owner once, in the chat of the first limited session. The row of that session records that the owner was asked. */
  async #askToContinue({ id, request }: CodingSession): Promise<void> {
    const { store } = this.#parts
    const address = addressOfOrigin(request.originChannel, request.originThreadId)
    if (!address || store.list().some(({ askedToContinue }) => askedToContinue)) return
    const text =
      'Sessions can continue by themselves after a usage limit. Switch it on: `rockpool config set coding.continueAfterLimit true`; off: `… false`.'
    await this.#deliver(address, { text }, 'continue-after-limit', id)
    await store.update(id, (session) => (session.askedToContinue = true))
  }

  /** Any other text about a session, to its chat, or to its agent when no chat can be reached. */
  async routeEventMessage(session: CodingSession, eventText: string, label: string): Promise<void> {
    await this.#notifyChat(session, `event:${label}`, { text: eventText })
  }

  /** Notifies the chat once for each turn that takes long. */
  async onLongRunning(session: CodingSession, since: number): Promise<void> {
    const took = formatDuration(this.#parts.clock.now() - since)
    const doing = session.doing ? `\nNow: ${session.doing}` : ''
    const text = `⏱️ [${session.name}] running for ${took}${doing}`
    await this.#notifyChat(session, `long-running:${session.turns}`, { text })
  }

  /** An agent that launched the session takes a turn and writes to its chat itself; otherwise the chat is notified. */
  async #notifyAgentOrChat(
    session: CodingSession,
    event: string,
    heading: string,
    hint?: string,
  ): Promise<void> {
    const lines = [heading, this.#preview(session)]
    if (session.request.originSessionKey !== undefined)
      return this.#wake(session, [...lines, hint].filter(Boolean).join('\n'), event)
    await this.#notifyChat(session, event, { text: lines.filter(Boolean).join('\n'), wakesAgent: true })
  }

  /** Notifies the chat that launched the session; if it cannot be reached, the agent takes a turn instead. */
  async #notifyChat(session: CodingSession, event: string, reply: Reply): Promise<void> {
    const isReached = await this.#notifyReachable(session, event, reply)
    if (!isReached && session.request.originChannel !== 'gateway')
      await this.#wake(session, reply.text ?? '', event)
  }

  /** Notifies the chat if it can be reached. False if not: the event is not worth a turn of an agent. */
  async #notifyReachable(session: CodingSession, event: string, reply: Reply): Promise<boolean> {
    const address = addressOfOrigin(session.request.originChannel, session.request.originThreadId)
    if (address) await this.#deliver(address, reply, `coding:${session.id}:${event}`, session.id)
    return address !== undefined
  }

  async #wake(session: CodingSession, text: string, event: string): Promise<void> {
    const { launchedBy, originSessionKey: sessionKey } = session.request
    const agentId = launchedBy ?? session.request.agentId
    const key = `coding:${session.id}:${event}`
    const askedBy = authorOf(session)
    await this.#logFailure(key, this.#parts.wake({ text, agentId, sessionKey, key, askedBy }))
  }

  async #deliver(...[address, reply, key, codingId, isOutput]: Parameters<NotificationParts['deliver']>) {
    await this.#logFailure(key, this.#parts.deliver(address, reply, key, codingId, isOutput))
  }

  /** A failed notification does not stop the session. */
  async #logFailure(key: string, sending: Promise<void>): Promise<void> {
    try {
      await sending
    } catch (error) {
      this.#parts.log.error(
        { event: 'notice-failed', notice: key, error: String(error) },
        'Could not queue a notification; the chat does not get it.',
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

function authorOf({ request }: CodingSession): Author {
  return request.byProgram ? 'program' : 'owner'
}

/** Reports from time to time what a session does to the session that launched it: a note for its next turn, only the latest. It
 *  costs no turn, and ends with the session. */
class ProgressReports {
  #clock: Clock
  #report: (progress: Progress) => void
  #waiting = new Map<string, { latest: string; cancel: () => void }>()

  constructor(clock: Clock, report: (progress: Progress) => void) {
    this.#clock = clock
    this.#report = report
  }

  add(session: CodingSession, { kind, text }: Pick<OutputBlock, 'kind' | 'text'>): void {
    const { relay, originSessionKey: sessionKey } = session.request
    if (!relay || sessionKey === undefined || (kind === 'tool' && !relay.tools)) return
    const latest = oneLine(text, 200)
    const waiting = this.#waiting.get(session.id)
    if (waiting) return void (waiting.latest = latest)
    const cancel = this.#clock.after(relay.everySeconds * 1_000, () => this.#send(session, sessionKey))
    this.#waiting.set(session.id, { latest, cancel })
  }

  end(codingId: string): void {
    this.#waiting.get(codingId)?.cancel()
    this.#waiting.delete(codingId)
  }

  close(): void {
    for (const id of this.#waiting.keys()) this.end(id)
  }

  #send(session: CodingSession, sessionKey: string): void {
    const latest = this.#waiting.get(session.id)?.latest
    this.#waiting.delete(session.id)
    if (latest === undefined) return
    const took = formatDuration(this.#clock.now() - (session.startedAt ?? session.createdAt))
    const instead = markEvent(authorOf(session), `⏳ [${session.name}] `)
    this.#report({ sessionKey, instead, text: `${instead}works since ${took}: ${latest}` })
  }
}
