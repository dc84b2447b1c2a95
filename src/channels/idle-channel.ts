// Stands in for an account that cannot run yet, so that its status can say what is missing.
import type { Channel, ChannelAbilities, ChannelHost, ChannelStatus, SendOutcome } from '../domain/channel.ts'
import { StatusBoard } from './channel-status.ts'

export class IdleChannel implements Channel {
  readonly name: string
  readonly accountId: string
  readonly abilities: ChannelAbilities = {
    maxTextLength: 2_000,
    edits: false,
    buttons: false,
    threads: false,
    typing: false,
    media: false,
    idempotentSend: false,
    formatting: 'plain',
  }
  #needs: string
  #status: StatusBoard

  constructor(name: string, accountId: string, needs: string, host: ChannelHost) {
    this.name = name
    this.accountId = accountId
    this.#needs = needs
    this.#status = new StatusBoard(name, accountId, host.clock)
    this.#status.set('stopped', this.#why)
  }

  async start(): Promise<void> {
    this.#status.set('failed', this.#why)
  }

  async stop(): Promise<void> {
    this.#status.set('stopped', this.#why)
  }

  get #why(): Pick<ChannelStatus, 'lastError' | 'needs'> {
    return { lastError: this.#needs, needs: { kind: 'token', detail: this.#needs } }
  }

  status(): ChannelStatus {
    return this.#status.current
  }

  onStatus(listener: (status: ChannelStatus) => void): () => void {
    return this.#status.on(listener)
  }

  /** The reply stays queued until there is a token; the outbox decides when it expires. */
  async send(): Promise<SendOutcome> {
    return { kind: 'retry', reason: this.#needs, retryAfterMs: 60_000 }
  }
}
