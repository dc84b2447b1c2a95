// What is said to a running session, on its way to Claude. Each message waits on disk; then it was given to Claude, which may
// die before it has written it down; then Claude has dealt with it, and it is forgotten here.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../../domain/agent.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { LiveRecord } from './live-record.ts'

/** Stored together with a message. */
type Beside = Pick<Partial<CodingSession>, 'autoResponds'>

export class Messages {
  #record: LiveRecord

  constructor(record: LiveRecord) {
    this.#record = record
  }

  /** The one that begins the next turn. */
  get next(): string | undefined {
    return this.#record.session.inbox[0]
  }

  /** Throws when it cannot be stored: then the session has not got it. */
  async add(text: string, beside: Beside = {}): Promise<void> {
    await this.#record.request(({ inbox }) => ({ ...beside, inbox: [...inbox, text] }))
  }

  /** The next one is about to reach Claude. Resolves to its uuid. */
  async give(): Promise<string> {
    const uuid = randomUUID()
    await this.#record.change(({ given, inbox: [text = '', ...rest] }) => ({
      inbox: rest,
      given: [...given, { uuid, text }],
    }))
    return uuid
  }

  /** Adds one to the running turn. False when that ended while it was written down: then it waits for the next. */
  async join(
    text: string,
    to: { conversation: Conversation | undefined; over: AbortSignal },
    beside: Beside = {},
  ): Promise<boolean> {
    const message = { uuid: randomUUID(), text }
    await this.#record.request(({ given }) => ({ ...beside, given: [...given, message] }))
    // If the session has ended meanwhile, the message is delivered when it is resumed.
    if (to.over.aborted || to.conversation?.steer(message)) return true
    await this.#record.change((session) => ({
      ...without(session, [message.uuid]),
      inbox: [...session.inbox, text],
    }))
    return false
  }
}

/** Claude has dealt with these messages, or they were withdrawn. */
export function without({ given }: CodingSession, uuids: readonly string[]): Pick<CodingSession, 'given'> {
  return { given: given.filter(({ uuid }) => !uuids.includes(uuid)) }
}
