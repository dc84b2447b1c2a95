// Claude's process for one coding session. It starts with the first turn, ends when its room is needed while the session waits,
// and starts again with the next message.
import { randomUUID } from 'node:crypto'
import type { AgentRuntime, AskPermission, BeforeTool } from '../../domain/agent.ts'
import type { Conversation, ConversationEnd, ConversationOptions } from '../../domain/agent.ts'
import type { CodingParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { openingOf } from './opening.ts'

const continuedElsewhere =
  'Somebody continued this session in another process. Resuming it with what was said there.'

export interface ConversationEvents {
  askPermission: AskPermission
  beforeTool: BeforeTool
  /** Something that people should know is added to the output. */
  say: (notice: string) => void
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

  /** Starts the process if there is none. Looks before every turn whether somebody else continues the session: two writers lose
   *  each other's turns. */
  async ready(): Promise<Conversation> {
    const other = this.#open?.otherWriter()
    if (other) await this.park()
    if (other && !other.isOpen) this.#events.say(continuedElsewhere)
    this.#open = await (this.#opening ??= this.#start())
    return this.#open
  }

  /** A session that is open elsewhere is forked; the fork has an id that was not used. */
  async #forkIfOpen(runtime: AgentRuntime): Promise<Pick<ConversationOptions, 'resume' | 'newSdkSessionId'>> {
    const { sdkSessionId } = this.#record.session
    if (sdkSessionId === undefined) return {}
    const found = await runtime.resumable(sdkSessionId)
    if (found.ok || found.why !== 'in-use') return {}
    this.#events.say(
      `${found.reason} Continuing in a fork of it, so that the two do not lose each other's turns.`,
    )
    return { resume: { sdkSessionId, fork: true }, newSdkSessionId: randomUUID() }
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
    const opening = { ...openingOf(session, this.#parts), ...(await this.#forkIfOpen(runtime)) }
    const conversation = await runtime.open({ ...opening, askPermission, beforeTool })
    const { id: coding, name } = session
    this.#parts.log.info({ event: 'coding-started', coding, name }, 'A coding session started.')
    void conversation.ended.then((end) => {
      if (!this.#parked.has(conversation)) this.#events.onGone(end)
    })
    return conversation
  }
}
