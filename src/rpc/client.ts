// The client of the gateway over one WebSocket: calls, subscriptions, and automatic reconnection. It runs in the command line
// and in the browser, so it uses only the WebSocket of the platform.
import { RockpoolError } from '../domain/errors.ts'
import type { RockpoolEvent } from '../domain/events.ts'
import { fromRpcError } from './frames.ts'
import type { EventFrame, Frame, RpcResponse } from './frames.ts'
import type { Methods } from './methods.ts'

/** The build generates `methods.ts` from the schemas of the operations. */
export type MethodName = keyof Methods
export type InputOf<Name extends MethodName> = Methods[Name]['input']
export type OutputOf<Name extends MethodName> = Methods[Name]['output']

/** Calls an operation, in the gateway or in this process. */
export type Call = <Name extends MethodName>(method: Name, input: InputOf<Name>) => Promise<OutputOf<Name>>

export type ConnectionState = 'connecting' | 'connected' | 'away'

export interface ClientOptions {
  /** `ws://…`. A function is asked before each connection; undefined when the gateway does not run. */
  url: string | (() => Promise<string | undefined>)
  /** Opens a connection; Node's own WebSocket may go through a proxy of the environment. */
  open?: (url: string) => Promise<WebSocket>
  token?: string
  /** The page key, used instead of a token; read for every connection, since another tab may log in again. */
  pageKey?: () => string
  /** Gives up rights of the token: fewer scopes, one agent. */
  narrowed?: { scopes?: string[]; agentId?: string; claudeSession?: string }
  onState?: (state: ConnectionState) => void
  /** The gateway refused the credential: the person must log in again. */
  onRefused?: () => void
}

interface Listener {
  event(event: RockpoolEvent): void
  /** Events were missed that cannot be replayed: reload everything. */
  gap?(): void
  /** The subscription is active. Answers from before this may already be stale. */
  begun?(): void
}

interface Subscription {
  topic: string
  input: Record<string, unknown>
  listener: Listener
  id?: string
  /** The last event that arrived. */
  since?: { epoch: string; seq: number }
}

interface Subscribed {
  subscriptionId: string
  gap: boolean
  epoch: string
  seq: number
}

interface Pending {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

const firstDelayMs = 250
const longestDelayMs = 10_000
const policyViolation = 1008
const messageTooBig = 1009
/** No connection was tried. */
const noGateway = 0

export class GatewayClient {
  #options: ClientOptions
  #socket: WebSocket | undefined
  #ready: Promise<void> | undefined
  #pending = new Map<number, Pending>()
  #subscriptions = new Set<Subscription>()
  #nextId = 1
  #delayMs = firstDelayMs
  #closed = false

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Resolves with the operation's output; rejects with the gateway's own error. */
  async call<Name extends MethodName>(method: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    // The gateway checked the output against the schema that the type was made from.
    return (await this.callByName(method, input)) as OutputOf<Name>
  }

  /** For callers that know the method only at run time. */
  async callByName(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    await this.#connected()
    return this.#request(method, params)
  }

  /** Subscribes until the returned function is called, also after reconnections. */
  subscribe(topic: string, input: Record<string, unknown>, listener: Listener): () => void {
    const subscription: Subscription = { topic, input, listener }
    this.#subscriptions.add(subscription)
    this.#connected()
      .then(() => (subscription.id === undefined ? this.#resubscribe(subscription) : undefined))
      .catch(ignoreLostConnection)
    return () => {
      this.#subscriptions.delete(subscription)
      const { id: subscriptionId } = subscription
      if (subscriptionId !== undefined && this.#socket?.readyState === WebSocket.OPEN) {
        this.#request(`${topic}.unsubscribe`, { subscriptionId }).catch(ignoreLostConnection)
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#socket?.close()
  }

  #connected(): Promise<void> {
    return (this.#ready ??= this.#connect())
  }

  async #connect(): Promise<void> {
    this.#options.onState?.('connecting')
    const { open } = this.#options
    const found = await this.#find()
    if (found === undefined || this.#closed) throw this.#lost(noGateway)
    const socket = open ? await open(found) : new WebSocket(found)
    this.#socket = socket
    if (this.#closed) socket.close()
    return new Promise((resolve, reject) => {
      socket.addEventListener('message', (message) => this.#receive(String(message.data)))
      socket.addEventListener('close', (event) => {
        reject(this.#lost(event.code))
      })
      socket.addEventListener('open', () => {
        this.#authenticate().then(resolve, (error: unknown) => {
          if (error instanceof RockpoolError && error.code === 'unauthorized') this.#options.onRefused?.()
          reject(error instanceof Error ? error : new Error(String(error)))
        })
      })
    })
  }

  async #find(): Promise<string | undefined> {
    const { url } = this.#options
    if (typeof url === 'string') return url
    try {
      return await url()
    } catch (error) {
      // The next call tries again.
      this.#lost(noGateway)
      throw error
    }
  }

  async #authenticate(): Promise<void> {
    const { token, pageKey, narrowed } = this.#options
    if (token !== undefined) await this.#request('connect', { token, ...narrowed })
    else if (pageKey) await this.#request('connect', { pageKey: pageKey() })
    this.#delayMs = firstDelayMs
    this.#options.onState?.('connected')
    for (const subscription of this.#subscriptions) await this.#resubscribe(subscription)
  }

  async #resubscribe(subscription: Subscription): Promise<void> {
    const { topic, input, since, listener } = subscription
    await this.#request(`${topic}.subscribe`, { ...input, since }, (result) => {
      const { subscriptionId, gap, epoch, seq } = result as Subscribed
      subscription.id = subscriptionId
      if (!since || gap) subscription.since = { epoch, seq }
      if (gap) listener.gap?.()
      else if (!since) listener.begun?.()
    })
  }

  /** `onResult` gets the result before the next frame is read: missed events follow the answer immediately. */
  #request(
    method: string,
    params: Record<string, unknown>,
    onResult: (result: unknown) => void = () => {},
  ): Promise<unknown> {
    const id = this.#nextId++
    return new Promise((settle, reject) => {
      const resolve = (result: unknown): void => {
        onResult(result)
        settle(result)
      }
      this.#pending.set(id, { resolve, reject })
      this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  #receive(text: string): void {
    const frame = JSON.parse(text) as Frame
    if ('method' in frame && frame.method === 'event') return this.#deliver(frame as EventFrame)
    const response = frame as RpcResponse
    const pending = this.#pending.get(Number(response.id))
    this.#pending.delete(Number(response.id))
    if ('error' in response) pending?.reject(fromRpcError(response.error))
    else pending?.resolve(response.result)
  }

  #deliver({ params }: EventFrame): void {
    for (const subscription of this.#subscriptions) {
      if (subscription.id !== params.subscriptionId) continue
      subscription.since = { epoch: params.epoch, seq: params.seq }
      subscription.listener.event(params.event)
    }
  }

  /** Pending calls fail; subscriptions are renewed after the reconnection. */
  #lost(code: number): RockpoolError {
    const error = code === messageTooBig ? tooLarge() : notConnected()
    this.#ready = undefined
    for (const pending of this.#pending.values()) pending.reject(error)
    this.#pending.clear()
    for (const subscription of this.#subscriptions) subscription.id = undefined
    this.#options.onState?.('away')
    if (code === policyViolation) this.#options.onRefused?.()
    else if (!this.#closed && this.#subscriptions.size > 0) this.#reconnect()
    return error
  }

  #reconnect(): void {
    const again = (): void => void this.#connected().catch(ignoreLostConnection)
    setTimeout(again, this.#delayMs * (0.5 + Math.random() / 2))
    this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs)
  }
}

function notConnected(): RockpoolError {
  return new RockpoolError('unavailable', 'The gateway is not connected.', {
    hint: 'Is `rockpool up` running?',
  })
}

function tooLarge(): RockpoolError {
  return new RockpoolError('input-invalid', 'The request is too large: the gateway takes at most 1 MiB.', {
    hint: 'Shorten it, or put the text into a file and name the file.',
  })
}

/** The close handler has already rejected pending calls and scheduled the next attempt. */
function ignoreLostConnection(): void {}
