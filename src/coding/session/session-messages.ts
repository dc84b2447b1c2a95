// What is said to a running session, on its way to Claude. Each message waits on disk; then it was given to Claude, which may
// die before it has written it down; then Claude has dealt with it, and it is forgotten here.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../../domain/agent.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { LiveRecord } from './live-record.ts'

export class Messages {
  #record: LiveRecord

  constructor(record: LiveRecord) {
    this.#record = record
  }

  /** The one that begins the next turn. */
  get next(): string | undefined {
    return this.#record.session.inbox[0]
  }

  async add(text: string): Promise<void> {
    await this.#record.change({ inbox: [...this.#record.session.inbox, text] })
  }

  /** The next one is about to reach Claude. Resolves to its uuid. */
  async give(): Promise<string> {
    const { given, inbox } = this.#record.session
    const [text = '', ...rest] = inbox
    const uuid = randomUUID()
    await this.#record.change({ inbox: rest, given: [...given, { uuid, text }] })
    return uuid
  }

  /** Adds one to the running turn. False when that ended while it was written down: then it waits for the next. */
  async join(text: string, conversation: Conversation | undefined, over: AbortSignal): Promise<boolean> {
    const { session } = this.#record
    const message = { uuid: randomUUID(), text }
    await this.#record.change({ given: [...session.given, message] })
    // One that is over has it among what is said when it is resumed.
    if (over.aborted || conversation?.steer(message)) return true
    await this.#record.change({ ...this.without([message.uuid]), inbox: [...session.inbox, text] })
    return false
  }

  /** Claude has dealt with these, or nobody wants it to. */
  without(uuids: readonly string[]): Pick<CodingSession, 'given'> {
    return { given: this.#record.session.given.filter(({ uuid }) => !uuids.includes(uuid)) }
  }
}
