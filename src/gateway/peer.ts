// One WebSocket connection: its caller, its requests and its subscriptions. A client that does not read is disconnected
// before its unread answers fill the memory.
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Caller } from '../operations/operation.ts'
import { authorize, checkInput, requireAgentOf } from '../operations/perform-operation.ts'
import { answer, failure, idIn, isRequest, parseFailure, parseJson, rpcError } from '../rpc/frames.ts'
import type { RequestId, RpcRequest, RpcResponse } from '../rpc/frames.ts'
import type { Admission } from './auth.ts'
import type { Calls } from './calls.ts'
import { EventFrames, pingFrame } from './event-frame.ts'
import { EventBatch, type EventLog, type EventPosition } from './event-log.ts'
import { stringifyInPieces } from './http.ts'
import { isVisibleTo, topics, type SubscriptionCounts, type Topic } from './subscriptions.ts'
import { jsonText } from '../domain/json.ts'

interface PeerParts {
  calls: Calls
  events: EventLog
  counts: SubscriptionCounts
  /** Authenticates a connection by its first frame; throws if it has no valid credential. */
  connect(params: ConnectParams): Admission
}

export type ConnectParams = z.output<typeof connectInput>

const maxBuffered = 4 * 1024 * 1024
const maxRunning = 256
const maxMalformed = 100

/** The first frame: a token, optionally with fewer rights; or the page key of the dashboard. */
const connectInput = z.union([
  z.strictObject({
    token: z.string().max(500),
    scopes: z.array(z.string().max(40)).max(10).optional(),
    agentId: z.string().max(64).optional(),
    claudeSession: z.string().max(64).optional(),
  }),
  z.strictObject({ pageKey: z.string().max(500) }),
])

interface Subscription {
  id: string
  topic: Topic
  input: Record<string, unknown>
  /** Only events after this number. */
  from: number
  end?: () => void
}

export class Peer {
  readonly socket: WebSocket
  #stream: Duplex
  #parts: PeerParts
  #admission: Admission | undefined
  #subscriptions: Subscription[] = []
  /** Connections with the same text get the same events. */
  #audience = ''
  #running = 0
  #malformed = 0
  #corked = false
  #pingedAt: number | undefined
  #hasAnswered = true
  #stopListening: () => void

  constructor(socket: WebSocket, stream: Duplex, parts: PeerParts, admission: Admission | undefined) {
    this.socket = socket
    this.#stream = stream
    this.#parts = parts
    this.#admission = admission
    this.#stopListening = parts.events.on((batch) => this.#deliver(batch))
    socket.on('message', (data: Buffer, isBinary) =>
      this.#receive(isBinary ? undefined : data.toString('utf8')),
    )
    socket.on('pong', () => (this.#hasAnswered = true))
    socket.on('close', () => {
      this.#stopListening()
      for (const { end } of this.#subscriptions) end?.()
      this.#setSubscriptions([])
    })
    // 'close' follows.
    socket.on('error', () => socket.terminate())
  }

  get credentialId(): string | undefined {
    return this.#admission?.credentialId
  }

  /** Sends a ping if the last one is older than `everyMs`; disconnects a client that did not answer the last one. `now` is monotonic. */
  pingWhenDue(now: number, everyMs: number): void {
    this.#pingedAt ??= now
    if (now - this.#pingedAt < everyMs) return
    if (!this.#hasAnswered) return this.socket.terminate()
    this.#pingedAt = now
    this.#hasAnswered = false
    if (this.#canSend()) this.#stream.write(pingFrame)
  }

  #receive(text: string | undefined): void {
    // Frames that arrive after our close frame are ignored.
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
    else if (isMalformed(value) && ++this.#malformed > maxMalformed) this.#closeMalformed()
    else
      void this.#answer(value, this.#admission).catch((error: unknown) => this.#sendError(idIn(value), error))
  }

  #refuseMalformed(error: RockpoolError): void {
    if (!this.#admission || ++this.#malformed > maxMalformed) return this.#closeMalformed()
    this.#send(jsonText(parseFailure(error)))
  }

  #closeMalformed(): void {
    this.socket.close(1008, 'malformed frames')
  }

  #connect(value: unknown): void {
    const id = idIn(value)
    try {
      if (!isRequest(value) || value.method !== 'connect')
        throw new RockpoolError('unauthorized', 'The first frame must be `connect` with a token.')
      const params = connectInput.safeParse(value.params)
      if (!params.success)
        throw new RockpoolError('input-invalid', 'connect takes a token, and scopes or agentId to limit it.')
      this.#admission = this.#parts.connect(params.data)
      this.#sendResult(id, this.#welcome(this.#admission.caller))
    } catch (error) {
      this.#sendError(id, error)
      this.socket.close(1008, 'not admitted')
    }
  }

  #welcome(caller: Caller): unknown {
    const { version } = this.#parts.calls.app
    return { server: { name: 'rockpool', version }, scopes: caller.scopes, ...this.#parts.events.position }
  }

  async #answer(value: unknown, admission: Admission): Promise<void> {
    if (Array.isArray(value)) return this.#answerBatch(value, admission)
    if (isRequest(value) && this.#connectionMethod(value, admission.caller)) return
    const [response] = await this.#respond([value], admission)
    if (response) this.#send(await stringifyInPieces(response))
  }

  async #answerBatch(batch: unknown[], admission: Admission): Promise<void> {
    if (batch.length === 0 || batch.length > 100) {
      this.#send(jsonText(failure(null, { code: -32600, message: 'A batch holds 1 to 100 requests.' })))
      return
    }
    const answered = await this.#respond(batch, admission)
    if (answered.length > 0) this.#send(await stringifyInPieces(answered))
  }

  async #respond(requests: unknown[], admission: Admission): Promise<RpcResponse[]> {
    if (this.#running + requests.length > maxRunning) {
      const busy = new RockpoolError('busy', `This connection has ${maxRunning} running requests.`)
      return requests.map((request) => failure(idIn(request), rpcError(busy)))
    }
    this.#running += requests.length
    try {
      return await this.#parts.calls.respondToBatch(requests, admission)
    } finally {
      this.#running -= requests.length
    }
  }

  /** Handles methods of the connection itself. False if the method is an operation. */
  #connectionMethod(request: RpcRequest, caller: Caller): boolean {
    const id = request.id ?? null
    if (request.method === 'connect') {
      this.#sendResult(id, this.#welcome(caller))
      return true
    }
    if (!request.method.endsWith('subscribe')) return false
    const [, name, verb] = request.method.match(/^(.*)\.(subscribe|unsubscribe)$/) ?? []
    const topic = topics.find((candidate) => candidate.name === name)
    if (!topic) return false
    try {
      requireAgentOf(this.#parts.calls.app, caller)
      authorize(caller, topic.scope, request.method, topic.forHosts)
      if (verb === 'subscribe') this.#subscribe(topic, request.params ?? {}, id)
      else this.#unsubscribe(topic, request.params ?? {}, id)
    } catch (error) {
      this.#sendError(id, error)
    }
    return true
  }

  #subscribe(topic: Topic, params: Record<string, unknown>, id: RequestId): void {
    const input = checkInput({ name: `${topic.name}.subscribe`, input: topic.input }, params)
    this.#parts.counts.checkRoom(this.#subscriptions.length, this.credentialId!)
    const subscriptionId = randomUUID()
    const { since, ...rest } = input as { since?: EventPosition }
    const { events, calls } = this.#parts
    const { gap, missed } = since ? events.since(since) : { gap: false, missed: new EventBatch([]) }
    this.#sendResult(id, { subscriptionId, gap, ...events.position })
    const send = (event: object): void => {
      const text = { ...events.position, json: calls.app.redactor().knownValues(jsonText(event)) }
      this.#sendFrames(new EventFrames([{ text, subscription: 0 }]), [subscriptionId])
    }
    const subscription = { id: subscriptionId, topic, input: rest, end: topic.open?.(calls.app, send) }
    this.#sendFrames(this.#framesOf(missed, [{ ...subscription, from: since?.seq ?? -1 }]), [subscriptionId])
    // The answer covers earlier events.
    this.#setSubscriptions([...this.#subscriptions, { ...subscription, from: events.position.seq }])
  }

  #unsubscribe(topic: Topic, params: Record<string, unknown>, id: RequestId): void {
    const wanted = params['subscriptionId']
    const isGone = (of: Subscription): boolean =>
      of.topic === topic && (wanted === undefined || wanted === of.id)
    const gone = this.#subscriptions.filter(isGone)
    this.#setSubscriptions(this.#subscriptions.filter((subscription) => !isGone(subscription)))
    for (const { end } of gone) end?.()
    this.#sendResult(id, { removed: gone.length })
  }

  #setSubscriptions(subscriptions: Subscription[]): void {
    this.#parts.counts.change(this.credentialId ?? '', subscriptions.length - this.#subscriptions.length)
    this.#subscriptions = subscriptions
    const wanted = subscriptions.map(({ topic, input }) => [topic.name, input])
    this.#audience = jsonText([this.#admission?.caller.agentId, wanted])
  }

  #deliver(batch: EventBatch): void {
    const subscriptions = this.#subscriptions
    if (subscriptions.length === 0) return
    const first = batch.events[0]!.seq
    const build = (): EventFrames | undefined => this.#framesOf(batch, subscriptions)
    // A new subscription does not get events of the batch that its answer covers.
    const isNew = subscriptions.some(({ from }) => from >= first)
    const frames = isNew ? build() : batch.framesFor(this.#audience, build)
    this.#sendFrames(
      frames,
      subscriptions.map(({ id }) => id),
    )
  }

  /** Undefined if none of the events is for these subscriptions. */
  #framesOf(batch: EventBatch, subscriptions: readonly Subscription[]): EventFrames | undefined {
    const agentId = this.#admission?.caller.agentId
    const frames = batch.events
      .filter(({ event }) => isVisibleTo(agentId, event))
      .flatMap((text) =>
        subscriptions.flatMap(({ topic, input, from }, subscription) =>
          text.seq > from && topic.matches(text.event, input) ? [{ text, subscription }] : [],
        ),
      )
    return frames.length > 0 ? new EventFrames(frames) : undefined
  }

  /** Events are frames already, so they bypass `ws`; answers of the same tick keep their place. */
  #sendFrames(frames: EventFrames | undefined, ids: readonly string[]): void {
    if (!frames || !this.#canSend()) return
    this.#cork()
    this.#stream.write(frames.copyFor(ids))
  }

  #sendResult(id: RequestId, result: unknown): void {
    this.#send(jsonText(answer(id, result)))
  }

  #sendError(id: RequestId, error: unknown): void {
    this.#send(jsonText(failure(id, rpcError(asRockpoolError(error)))))
  }

  #canSend(): boolean {
    if (this.socket.readyState !== this.socket.OPEN) return false
    if (this.socket.bufferedAmount <= maxBuffered) return true
    // The client does not read. A close frame would wait behind the unread answers.
    this.socket.terminate()
    return false
  }

  #send(text: string | Buffer): void {
    if (!this.#canSend()) return
    this.#cork()
    this.socket.send(typeof text === 'string' ? Buffer.from(text) : text, { binary: false })
  }

  /** Answers that are ready in the same tick are sent in one write. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#stream.uncork()
    })
  }
}

/** JSON that is neither a request nor a batch. */
function isMalformed(value: unknown): boolean {
  return !isRequest(value) && !(Array.isArray(value) && value.length > 0)
}
