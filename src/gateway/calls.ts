// Performs the requests of HTTP, WebSockets and hooks: finds the operation, runs it within limits, counts it, and answers.
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { AtMost } from '../domain/async.ts'
import type { App } from '../operations/app.ts'
import { resolveAlias } from '../operations/aliases.ts'
import { findOperation, unknownOperation } from '../operations/all.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import { performOperation } from '../operations/perform-operation.ts'
import {
  answer,
  failure,
  idIn,
  isRequest,
  rpcError,
  type RpcRequest,
  type RpcResponse,
} from '../rpc/frames.ts'
import type { Admission } from './auth.ts'
import type { Metrics } from './metrics.ts'

/** For one credential: how many large answers are made at once, and how many requests for them may wait. */
const maxLargeAtOnce = 2
const maxLargeWaiting = 200
/** The same limits for requests that take much processor time. */
const maxCostlyAtOnce = 4
const maxCostlyWaiting = 200
/** The size of all answers to one batch, in characters. */
const batchLimit = 32 * 1024 * 1024

/** The batch that a request belongs to, and the size of its answers so far. */
interface Batch {
  credentialId: string
  size: number
}

export class Calls {
  readonly app: App
  readonly metrics: Metrics
  #operations = new Map<string, Operation>()
  #running = new Set<Promise<unknown>>()
  #draining = new AbortController()
  /** By credential. */
  #large = new Map<string, AtMost>()
  #costly = new Map<string, AtMost>()
  /** The turn of the event loop in which the last costly request begins. */
  #costlyTurn: Promise<unknown> = Promise.resolve()

  constructor(app: App, metrics: Metrics) {
    this.app = app
    this.metrics = metrics
  }

  /** Undefined for a notification, which is performed and not answered. */
  async respond(
    request: unknown,
    { caller, credentialId }: Admission,
    batch: Batch = { credentialId, size: 0 },
  ): Promise<RpcResponse | undefined> {
    if (!isRequest(request))
      return failure(idIn(request), { code: -32600, message: 'This is not a JSON-RPC 2.0 request.' })
    const id = request.id ?? null
    const response = await this.call(request, caller, batch).then(
      (result) => answer(id, result),
      (error: unknown) => failure(id, rpcError(asRockpoolError(error))),
    )
    return request.id === undefined ? undefined : response
  }

  /** Refuses requests whose answers exceed the limit of the batch; the client can send them alone. */
  async respondToBatch(requests: unknown[], admission: Admission): Promise<RpcResponse[]> {
    const batch = { credentialId: admission.credentialId, size: 0 }
    const answers = await Promise.all(requests.map((request) => this.respond(request, admission, batch)))
    return answers.filter((each) => each !== undefined)
  }

  async call(request: RpcRequest, caller: Caller, batch?: Batch): Promise<unknown> {
    const started = performance.now()
    const { name, input } = resolveAlias('rpc', request.method, request.params ?? {})
    const work = this.#perform(name, input, caller, batch)
    this.#running.add(work)
    try {
      const result = await work
      this.metrics.called(name, 'ok', performance.now() - started)
      return result
    } catch (thrown) {
      const error = asRockpoolError(thrown)
      const known = this.#operations.has(name) ? name : 'unknown'
      this.metrics.called(known, error.code, performance.now() - started)
      if (error.code === 'internal') this.#reportInternal(name, error)
      throw error
    } finally {
      this.#running.delete(work)
    }
  }

  /** Fires when the gateway begins to stop. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /** Refuses new requests; resolves when the running ones have ended, or after `ms`. */
  async drain(ms: number): Promise<void> {
    this.#draining.abort()
    const all = Promise.allSettled(this.#running)
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, ms).unref())])
  }

  async #perform(
    name: string,
    input: Record<string, unknown>,
    caller: Caller,
    batch?: Batch,
  ): Promise<unknown> {
    if (this.draining.aborted)
      throw new RockpoolError('unavailable', 'The gateway is stopping.', {
        hint: 'Try again when it has restarted.',
      })
    let operation = this.#operations.get(name)
    if (!operation) {
      operation = await findOperation(name)
      if (!operation) throw unknownOperation(name)
      this.#operations.set(name, operation)
    }
    const perform = (): Promise<unknown> => performOperation(this.app, operation, input, caller)
    if (!batch) return perform()
    const { isCostly = false, largeOutput } = operation
    const work = largeOutput ? () => withinBatch(batch, perform) : perform
    if (typeof isCostly === 'function' ? isCostly(input) : isCostly) return this.#performCostly(work, batch)
    return largeOutput ? this.#performLarge(work, batch) : work()
  }

  /** So that one program, or one page, does not delay the requests of all others. */
  async #performCostly(work: () => Promise<unknown>, { credentialId }: Batch): Promise<unknown> {
    const limit = this.#costly.get(credentialId) ?? new AtMost(maxCostlyAtOnce, maxCostlyWaiting)
    this.#costly.set(credentialId, limit)
    try {
      return await limit.run(async () => {
        await this.#ownTurn()
        return work()
      })
    } finally {
      if (limit.isIdle) this.#costly.delete(credentialId)
    }
  }

  /** Costly requests begin one in each turn of the event loop. Many of them compute without waiting for anything: hundreds in one turn
   *  would let no other request in until the last of them has ended. */
  #ownTurn(): Promise<unknown> {
    this.#costlyTurn = this.#costlyTurn.then(() => new Promise((resolve) => setImmediate(resolve)))
    return this.#costlyTurn
  }

  async #performLarge(work: () => Promise<unknown>, { credentialId }: Batch): Promise<unknown> {
    const limit = this.#large.get(credentialId) ?? new AtMost(maxLargeAtOnce, maxLargeWaiting)
    this.#large.set(credentialId, limit)
    try {
      return await limit.run(work)
    } finally {
      if (limit.isIdle) this.#large.delete(credentialId)
    }
  }

  #reportInternal(name: string, error: RockpoolError): void {
    const stack = error.cause instanceof Error ? error.cause.stack : undefined
    this.app.log.error(
      { event: 'operation-failed', operation: name, error: error.message, stack },
      'An operation failed with an unexpected error; the caller got an internal error.',
    )
  }
}

async function withinBatch(batch: Batch, work: () => Promise<unknown>): Promise<unknown> {
  if (batch.size > batchLimit) throw batchIsFull()
  const result = await work()
  batch.size += textSize(result)
  return result
}

function textSize(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + textSize(inner), 0)
}

function batchIsFull(): RockpoolError {
  const limit = batchLimit / 1_048_576
  return new RockpoolError('refused', `The answers to this batch already exceed ${limit} MiB.`, {
    hint: 'Send this request alone.',
  })
}
