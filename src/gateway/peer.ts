// One WebSocket: who it is, what it asked, what it listens to. A peer that does not read is closed before it can
// grow our memory, and never holds up another.
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Caller } from '../operations/operation.ts'
import { authorize } from '../operations/authorize.ts'
import { checkInput } from '../operations/perform.ts'
import { answer, failure, isRequest, parseJson, rpcError } from '../rpc/frames.ts'
import type { RequestId, RpcRequest, RpcResponse } from '../rpc/frames.ts'
import type { Admission } from './auth.ts'
import type { Calls } from './calls.ts'
import type { EventLog, EventPosition, LoggedEvent } from './event-log.ts'
import { stringifyFairly } from './stringify.ts'
import { concerns, topics } from './subscriptions.ts'
import type { Topic } from './subscriptions.ts'
import { jsonText } from '../domain/json.ts'

export interface PeerParts {
  calls: Calls
  events: EventLog
  /** Turns the first frame of a connection that came without a credential into an admission; throws if it is none. */
  connect(params: Hello): Admission
}

/** What the first frame may say: a token, and that it wants to be less; or the key of our own page. */
export type Hello = z.output<typeof connectInput>

const maxBuffered = 4 * 1024 * 1024
const maxRunning = 256
const maxSubscriptions = 100
const maxMalformed = 100

/** Close codes: 1008 refused, 1009 too large, 1013 too slow. */
const connectInput = z.union([
  z.strictObject({
    token: z.string().max(500),
    scopes: z.array(z.string().max(40)).max(10).optional(),
    agentId: z.string().max(64).optional(),
  }),
  z.strictObject({ pageKey: z.string().max(500) }),
])

interface Subscription {
  topic: Topic
  input: Record<string, unknown>
}

export class Peer {
  readonly socket: WebSocket
  #wire: Duplex
  #parts: PeerParts
  #admission: Admission | undefined
  #subscriptions = new Map<string, Subscription>()
  #running = 0
  #malformed = 0
  #corked = false
  #alive = true
  #stopListening: () => void

  constructor(socket: WebSocket, wire: Duplex, parts: PeerParts, admission: Admission | undefined) {
    this.socket = socket
    this.#wire = wire
    this.#parts = parts
    this.#admission = admission
    this.#stopListening = parts.events.on((logged) => this.#offer(logged))
    socket.on('message', (data: Buffer, isBinary) =>
      this.#receive(isBinary ? undefined : data.toString('utf8')),
    )
    socket.on('pong', () => (this.#alive = true))
    socket.on('close', () => this.#stopListening())
    // A broken connection also emits 'close'; there is no one to answer.
    socket.on('error', () => socket.terminate())
  }

  get credentialId(): string | undefined {
    return this.#admission?.credentialId
  }

  /** Every half minute: a peer that did not answer the last ping is gone. */
  ping(): void {
    if (!this.#alive) return this.socket.terminate()
    this.#alive = false
    this.socket.ping()
  }

  #receive(text: string | undefined): void {
    // What comes after we have hung up is not looked at.
    if (this.socket.readyState !== this.socket.OPEN) return
    let value: unknown
    try {
      if (text === undefined) throw new RockpoolError('input-invalid', 'Frames are text, not binary.')
      value = parseJson(text)
    } catch (error) {
      this.#refuseMalformed(asRockpoolError(error))
      return
    }
    if (!this.#admission) this.#connect(value)
    else if (isRubbish(value) && ++this.#malformed > maxMalformed) this.#hangUp()
    else void this.#answer(value, this.#admission).catch((error: unknown) => this.#unanswered(value, error))
  }

  /** What was done cannot be put into words: it is more than a text can hold. */
  #unanswered(value: unknown, error: unknown): void {
    const id = isRequest(value) ? (value.id ?? null) : null
    this.#send(jsonText(failure(id, rpcError(asRockpoolError(error)))))
  }

  #refuseMalformed(error: RockpoolError): void {
    if (!this.#admission || ++this.#malformed > maxMalformed) return this.#hangUp()
    this.#send(jsonText(failure(null, { code: -32700, message: error.message, data: error.report() })))
  }

  #hangUp(): void {
    this.socket.close(1008, 'malformed frames')
  }

  #connect(value: unknown): void {
    const id = isRequest(value) ? (value.id ?? null) : null
    try {
      if (!isRequest(value) || value.method !== 'connect') {
        throw new RockpoolError('unauthorized', 'The first frame must be `connect` with a token.')
      }
      const params = connectInput.safeParse(value.params)
      if (!params.success)
        throw new RockpoolError('input-invalid', 'connect: takes token, and scopes to have fewer.')
      this.#admission = this.#parts.connect(params.data)
      this.#send(jsonText(answer(id, this.#hello(this.#admission.caller))))
    } catch (error) {
      this.#send(jsonText(failure(id, rpcError(asRockpoolError(error)))))
      this.socket.close(1008, 'not admitted')
    }
  }

  #hello(caller: Caller): unknown {
    const { version } = this.#parts.calls.app
    return { server: { name: 'rockpool', version }, scopes: caller.scopes, ...this.#parts.events.position }
  }

  async #answer(value: unknown, admission: Admission): Promise<void> {
    if (Array.isArray(value)) return this.#answerBatch(value, admission)
    if (isRequest(value) && this.#ownMethod(value, admission.caller)) return
    const [response] = await this.#respond([value], admission)
    if (response) this.#send(await stringifyFairly(response))
  }

  async #answerBatch(batch: unknown[], admission: Admission): Promise<void> {
    if (batch.length === 0 || batch.length > 100) {
      this.#send(jsonText(failure(null, { code: -32600, message: 'A batch holds 1 to 100 requests.' })))
      return
    }
    const answered = await this.#respond(batch, admission)
    if (answered.length > 0) this.#send(await stringifyFairly(answered))
  }

  async #respond(requests: unknown[], admission: Admission): Promise<RpcResponse[]> {
    if (this.#running + requests.length > maxRunning) {
      const busy = new RockpoolError('busy', `This connection has ${maxRunning} requests under way.`)
      return requests.map((request) =>
        failure(isRequest(request) ? (request.id ?? null) : null, rpcError(busy)),
      )
    }
    this.#running += requests.length
    try {
      return await this.#parts.calls.respondToBatch(requests, admission)
    } finally {
      this.#running -= requests.length
    }
  }

  /** Methods of the connection itself. False when it is an operation's. */
  #ownMethod(request: RpcRequest, caller: Caller): boolean {
    const id = request.id ?? null
    if (request.method === 'connect') {
      this.#send(jsonText(answer(id, this.#hello(caller))))
      return true
    }
    if (!request.method.endsWith('subscribe')) return false
    const [, name, verb] = request.method.match(/^(.*)\.(subscribe|unsubscribe)$/) ?? []
    const topic = topics.find((candidate) => candidate.name === name)
    if (!topic) return false
    try {
      authorize(caller, topic.scope, request.method)
      if (verb === 'subscribe') this.#subscribe(topic, request.params ?? {}, id)
      else this.#unsubscribe(topic, request.params ?? {}, id)
    } catch (error) {
      this.#send(jsonText(failure(id, rpcError(asRockpoolError(error)))))
    }
    return true
  }

  #subscribe(topic: Topic, params: Record<string, unknown>, id: RequestId): void {
    const input = checkInput({ name: `${topic.name}.subscribe`, input: topic.input }, params)
    if (this.#subscriptions.size >= maxSubscriptions) {
      throw new RockpoolError('busy', `This connection has ${maxSubscriptions} subscriptions already.`)
    }
    const subscriptionId = randomUUID()
    const since = input['since'] as EventPosition | undefined
    const missed = since ? this.#parts.events.since(since) : { gap: false, events: [] }
    this.#send(jsonText(answer(id, { subscriptionId, gap: missed.gap, ...this.#parts.events.position })))
    this.#subscriptions.set(subscriptionId, { topic, input })
    for (const logged of missed.events) this.#deliver(subscriptionId, { topic, input }, logged)
  }

  #unsubscribe(topic: Topic, params: Record<string, unknown>, id: RequestId): void {
    const wanted = params['subscriptionId']
    const gone = [...this.#subscriptions].filter(
      ([subscriptionId, { topic: of }]) =>
        of === topic && (wanted === undefined || wanted === subscriptionId),
    )
    for (const [subscriptionId] of gone) this.#subscriptions.delete(subscriptionId)
    this.#send(jsonText(answer(id, { removed: gone.length })))
  }

  #offer(logged: LoggedEvent): void {
    for (const [id, subscription] of this.#subscriptions) this.#deliver(id, subscription, logged)
  }

  #deliver(subscriptionId: string, { topic, input }: Subscription, logged: LoggedEvent): void {
    if (!concerns(logged.event, this.#admission?.caller.agentId) || !topic.wants(logged.event, input)) return
    const { epoch } = this.#parts.events
    const head = `{"jsonrpc":"2.0","method":"event","params":{"subscriptionId":"${subscriptionId}"`
    this.#send(`${head},"epoch":"${epoch}","seq":${logged.seq},"event":${logged.json}}}`)
  }

  #send(text: string | Buffer): void {
    if (this.socket.readyState !== this.socket.OPEN) return
    if (this.socket.bufferedAmount > maxBuffered) {
      // It does not read. A close frame would wait behind what it has not read.
      this.socket.terminate()
      return
    }
    this.#cork()
    this.socket.send(typeof text === 'string' ? Buffer.from(text) : text, { binary: false })
  }

  /** Answers that are ready in the same moment leave in one write. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#wire.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#wire.uncork()
    })
  }
}

/** JSON that is neither a request nor a batch. */
function isRubbish(value: unknown): boolean {
  return !isRequest(value) && !(Array.isArray(value) && value.length > 0)
}
