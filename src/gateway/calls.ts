// A request from outside, whichever way it came: looked up, performed, counted, answered.
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { AtMost } from '../domain/async.ts'
import type { App } from '../operations/app.ts'
import { resolveAlias } from '../operations/aliases.ts'
import { findOperation } from '../operations/all.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import { performOperation, unknownOperation } from '../operations/perform.ts'
import { answer, failure, isRequest, rpcError } from '../rpc/frames.ts'
import type { RpcRequest, RpcResponse } from '../rpc/frames.ts'
import type { Admission } from './auth.ts'
import type { Metrics } from './metrics.ts'

/** Large answers that are made at the same time for one credential, and how many more may wait. */
const largeAtOnce = 2
const largeWaiting = 200
/** What the answers to one batch may have in all, in characters. */
const batchLimit = 32 * 1024 * 1024

/** Whose call it is, and how much the answers to its batch have so far. */
interface Share {
  credentialId: string
  size: number
}

export class Calls {
  readonly app: App
  readonly metrics: Metrics
  #operations = new Map<string, Operation>()
  #running = new Set<Promise<unknown>>()
  #draining = false
  /** By credential. */
  #large = new Map<string, AtMost>()

  constructor(app: App, metrics: Metrics) {
    this.app = app
    this.metrics = metrics
  }

  /** Undefined for a notification: it is done and not answered. */
  async respond(
    request: unknown,
    { caller, credentialId }: Admission,
    share: Share = { credentialId, size: 0 },
  ): Promise<RpcResponse | undefined> {
    if (!isRequest(request))
      return failure(null, { code: -32600, message: 'That is not a JSON-RPC 2.0 request.' })
    const id = request.id ?? null
    const work = this.call(request, caller, share).then(
      (result) => answer(id, result),
      (error: unknown) => failure(id, rpcError(asRockpoolError(error))),
    )
    const response = await work
    return request.id === undefined ? undefined : response
  }

  /** The answers to a batch. What does not fit into one answer any more is refused, and can be asked for by itself. */
  async respondToBatch(batch: unknown[], admission: Admission): Promise<RpcResponse[]> {
    const share = { credentialId: admission.credentialId, size: 0 }
    const answers = await Promise.all(batch.map((request) => this.respond(request, admission, share)))
    return answers.filter((each) => each !== undefined)
  }

  async call(request: RpcRequest, caller: Caller, share?: Share): Promise<unknown> {
    const started = performance.now()
    const { name, input } = resolveAlias('rpc', request.method, request.params ?? {})
    const work = this.#perform(name, input, caller, share)
    this.#running.add(work)
    try {
      const result = await work
      this.metrics.called(name, 'ok', performance.now() - started)
      return result
    } catch (thrown) {
      const error = asRockpoolError(thrown)
      this.metrics.called(
        this.#operations.has(name) ? name : 'unknown',
        error.code,
        performance.now() - started,
      )
      if (error.code === 'internal') this.#reportInternal(name, error)
      throw error
    } finally {
      this.#running.delete(work)
    }
  }

  /** From now on nothing new is begun; resolves when what runs has ended, or the time is up. */
  async drain(ms: number): Promise<void> {
    this.#draining = true
    const all = Promise.allSettled(this.#running)
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, ms).unref())])
  }

  async #perform(
    name: string,
    input: Record<string, unknown>,
    caller: Caller,
    share?: Share,
  ): Promise<unknown> {
    if (this.#draining) throw stopping()
    let operation = this.#operations.get(name)
    if (!operation) {
      operation = await findOperation(name)
      if (!operation) throw unknownOperation(name)
      this.#operations.set(name, operation)
    }
    const work = (): Promise<unknown> => performOperation(this.app, operation, input, caller)
    return operation.largeOutput && share ? this.#performLarge(work, share) : work()
  }

  async #performLarge(work: () => Promise<unknown>, share: Share): Promise<unknown> {
    const places = this.#large.get(share.credentialId) ?? new AtMost(largeAtOnce, largeWaiting)
    this.#large.set(share.credentialId, places)
    try {
      return await places.run(async () => {
        if (share.size > batchLimit) throw batchIsFull()
        const result = await work()
        share.size += textSize(result)
        return result
      })
    } finally {
      if (places.isIdle) this.#large.delete(share.credentialId)
    }
  }

  #reportInternal(name: string, error: RockpoolError): void {
    const stack = error.cause instanceof Error ? error.cause.stack : undefined
    this.app.log.error(
      { event: 'operation-failed', operation: name, error: error.message, stack },
      'An operation failed with an unexpected error.',
    )
  }
}

function textSize(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + textSize(inner), 0)
}

function batchIsFull(): RockpoolError {
  const limit = batchLimit / 1_048_576
  return new RockpoolError('refused', `The answers to this batch have more than ${limit} MiB already.`, {
    hint: 'Ask for this one by itself.',
  })
}

function stopping(): RockpoolError {
  return new RockpoolError('unavailable', 'The gateway is stopping.', {
    hint: 'Try again when it has restarted.',
  })
}
