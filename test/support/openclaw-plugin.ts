// A client that speaks to the gateway as the plugin in OpenClaw does. It remembers the keys that it has delivered, as the
// plugin's journal does, so that a test can tell an offer from a message.
import { WebSocket } from 'ws'
import { vi } from 'vitest'
import { formatOpenClawOrigin } from '../../src/domain/openclaw-contract.ts'
import type { OpenClawDelivery, OpenClawEvent, OpenClawQuestion } from '../../src/domain/openclaw-contract.ts'

export interface PluginTokens {
  agentToken: string
  personToken: string
}

export const chat = { channel: 'telegram', to: '501', sessionKey: 'agent:main:telegram:501', agentId: 'main' }
export const origin = formatOpenClawOrigin(chat)

interface Answer {
  result?: Record<string, unknown>
  error?: { message: string; data?: { code: string } }
}

export class OpenClawPlugin {
  /** Every offer, in order. */
  readonly offered: OpenClawDelivery[] = []
  readonly questions: OpenClawQuestion[] = []
  /** By key. */
  readonly delivered = new Map<string, OpenClawDelivery>()
  #url: string
  #tokens: PluginTokens
  #socket: WebSocket
  /** The deliveries that it does not acknowledge. */
  #leavesOpen: (delivery: OpenClawDelivery) => boolean

  constructor(url: string, tokens: PluginTokens, leavesOpen: (delivery: OpenClawDelivery) => boolean) {
    this.#url = url
    this.#tokens = tokens
    this.#leavesOpen = leavesOpen
    this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`)
    this.#socket.on('open', () => {
      this.#frame('connect', { token: tokens.personToken })
      this.#frame('openclaw.subscribe', {})
    })
    this.#socket.on('message', (data: Buffer) => {
      const { params } = JSON.parse(data.toString()) as { params?: { event: OpenClawEvent } }
      if (params) void this.#receive(params.event)
    })
    // The gateway is killed in the test.
    this.#socket.on('error', () => {})
  }

  /** A tool of the model. */
  tool(method: string, params: object, agent = 'openclaw-main'): Promise<Answer> {
    return this.#rpc(this.#tokens.agentToken, method, params, agent)
  }

  /** A command or a button of an authorised sender. */
  person(method: string, params: object, agent = 'openclaw-main'): Promise<Answer> {
    return this.#rpc(this.#tokens.personToken, method, params, agent)
  }

  /** The plugin itself. */
  own(method: string, params: object): Promise<Answer> {
    return this.#rpc(this.#tokens.personToken, method, params)
  }

  until<T>(find: () => T | undefined | false): Promise<T> {
    return vi.waitUntil(find, { timeout: 60_000, interval: 10 })
  }

  close(): void {
    this.#socket.terminate()
  }

  async #receive(event: OpenClawEvent): Promise<void> {
    if (event.type === 'openclaw-question') return void this.questions.push(event.question)
    this.offered.push(event.delivery)
    if (this.#leavesOpen(event.delivery)) return
    this.delivered.set(event.delivery.key, event.delivery)
    await this.own('openclaw.delivered', { id: event.delivery.id, messageIds: ['m1'] })
  }

  #frame(method: string, params: object): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id: method, method, params }))
  }

  async #rpc(token: string, method: string, params: object, agent?: string): Promise<Answer> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` }
    if (agent !== undefined) headers['rockpool-agent'] = agent
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return (await fetch(`${this.#url}/rpc`, { method: 'POST', headers, body })).json() as Promise<Answer>
  }
}
