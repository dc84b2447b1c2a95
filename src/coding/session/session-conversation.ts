// Claude's process for one coding session. It starts with the first turn, ends when its room is needed while the session waits,
// and starts again with the next message.
import type { BeforeTool, AskPermission, Conversation, ConversationEnd } from '../../domain/agent.ts'
import type { CodingParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { openingOf } from './opening.ts'

export interface ConversationEvents {
  askPermission: AskPermission
  beforeTool: BeforeTool
  /** Called before a process starts. */
  makeRoom: () => Promise<void>
  /** The process ended by itself. */
  onGone: (end: ConversationEnd) => void
}

export class SessionConversation {
  #parts: CodingParts
  #record: LiveRecord
  #events: ConversationEvents
  #opening: Promise<Conversation> | undefined
  #open: Conversation | undefined
  #parked = new WeakSet<Conversation>()

  constructor(parts: CodingParts, record: LiveRecord, events: ConversationEvents) {
    this.#parts = parts
    this.#record = record
    this.#events = events
  }

  /** Undefined before the process has started. */
  get current(): Conversation | undefined {
    return this.#open
  }

  /** Starts the process if there is none. */
  async ready(): Promise<Conversation> {
    this.#open = await (this.#opening ??= this.#start())
    return this.#open
  }

  /** A process that is just starting is ended as soon as it is there. */
  async kill(): Promise<void> {
    const started = await this.#opening?.catch(() => undefined)
    await started?.kill()
  }

  /** Leaves Claude a moment to write down where it stands. */
  async close(): Promise<void> {
    const started = await this.#opening?.catch(() => undefined)
    await started?.close()
  }

  /** Ends the process; the next turn resumes the conversation in another one. */
  async park(): Promise<void> {
    const open = this.#open
    if (!open) return
    this.#parked.add(open)
    this.#open = undefined
    this.#opening = undefined
    await open.close()
  }

  async #start(): Promise<Conversation> {
    const { session } = this.#record
    const { askPermission, beforeTool, makeRoom } = this.#events
    await makeRoom()
    const runtime = await this.#parts.runtime()
    const conversation = await runtime.open({ ...openingOf(session, this.#parts), askPermission, beforeTool })
    const { id: coding, name } = session
    this.#parts.log.info({ event: 'coding-started', coding, name }, 'A coding session started.')
    void conversation.ended.then((end) => {
      if (!this.#parked.has(conversation)) this.#events.onGone(end)
    })
    return conversation
  }
}
