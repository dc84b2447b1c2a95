// The chats of OpenClaw as a channel. Rockpool only sends here: what people write in those chats is read by OpenClaw's own
// agents, and commands reach Rockpool as operations. The plugin in OpenClaw sends each delivery once for its key, and says so
// afterwards.
import { createHash } from 'node:crypto'
import { openclawChannel } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { Channel, ChannelAbilities, ChannelHost, SendOptions, SendOutcome } from '../domain/channel.ts'
import { readTarget } from '../domain/openclaw-contract.ts'
import type { OpenClawDelivery } from '../domain/openclaw-contract.ts'
import type { Reply } from '../domain/reply.ts'
import { BaseChannel } from './base-channel.ts'
import type { OpenClawLink } from './openclaw-link.ts'

const notConnected = 'No OpenClaw plugin is connected.'

export class OpenClawChannel extends BaseChannel implements Channel {
  readonly abilities: ChannelAbilities = {
    // The plugin splits texts as OpenClaw's own channels need it.
    maxTextLength: 100_000,
    idempotentSend: true,
    formatting: 'markdown',
  }

  #link: OpenClawLink
  #stopFollowing: (() => void) | undefined

  constructor(host: ChannelHost, link: OpenClawLink) {
    super(openclawChannel, 'default', host)
    this.#link = link
  }

  /** While no plugin is connected, deliveries wait. */
  get canSend(): boolean {
    return this.#link.isConnected
  }

  async start(): Promise<void> {
    this.#stopFollowing = this.#link.onChange(() => this.#showStatus())
    this.#showStatus()
  }

  async stop(): Promise<void> {
    this.#stopFollowing?.()
    this.setStatus('stopped')
  }

  async send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const target = readTarget(address.to)
    if (!target) return { kind: 'refused', reason: 'The address is not a chat of OpenClaw.' }
    if (!this.canSend) return { kind: 'retry', reason: notConnected }
    const done = await this.#link.deliver(deliveryOf(target, reply, options))
    if (!done) return { kind: 'unknown', reason: 'The OpenClaw plugin did not answer.' }
    const { messageIds = [], refused, retryAfterMs } = done
    if (retryAfterMs !== undefined)
      return { kind: 'retry', reason: refused ?? 'OpenClaw is busy.', retryAfterMs }
    return refused === undefined ? { kind: 'sent', messageIds } : { kind: 'refused', reason: refused }
  }

  #showStatus(): void {
    if (this.#link.isConnected) this.setStatus('connected')
    else this.setStatus('starting', { lastError: notConnected })
  }
}

function deliveryOf(
  target: OpenClawDelivery['target'],
  reply: Reply,
  { idempotencyKey: key, resent, sessionKey, isOutput }: SendOptions,
): OpenClawDelivery {
  return {
    // Made from the key, so that an acknowledgement is valid after a restart.
    id: createHash('sha256').update(key).digest('hex').slice(0, 24),
    key,
    target,
    text: reply.text ?? '',
    buttons: reply.buttons ?? [],
    kind: isOutput ? 'output' : reply.approvalId !== undefined ? 'question' : 'notice',
    codingId: sessionKey?.startsWith('coding:') ? sessionKey.slice('coding:'.length) : undefined,
    wake: reply.wakesAgent === true,
    isMaybeSecond: resent,
  }
}
