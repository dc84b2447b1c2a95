// A request from outside, whichever way it came: looked up, performed, counted, answered.
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { resolveAlias } from '../operations/aliases.ts'
import { findOperation } from '../operations/all.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import { performOperation, unknownOperation } from '../operations/perform.ts'
import { answer, failure, isRequest, rpcError } from '../rpc/frames.ts'
import type { RpcRequest, RpcResponse } from '../rpc/frames.ts'
import type { Metrics } from './metrics.ts'

export class Calls {
  readonly app: App
  readonly metrics: Metrics
  #operations = new Map<string, Operation>()
  #running = new Set<Promise<unknown>>()
  #draining = false

  constructor(app: App, metrics: Metrics) {
    this.app = app
    this.metrics = metrics
  }

  /** Undefined for a notification: it is done and not answered. */
  async respond(request: unknown, caller: Caller): Promise<RpcResponse | undefined> {
    if (!isRequest(request))
      return failure(null, { code: -32600, message: 'That is not a JSON-RPC 2.0 request.' })
    const id = request.id ?? null
    const work = this.call(request, caller).then(
      (result) => answer(id, result),
      (error: unknown) => failure(id, rpcError(asRockpoolError(error))),
    )
    const response = await work
    return request.id === undefined ? undefined : response
  }

  async call(request: RpcRequest, caller: Caller): Promise<unknown> {
    const started = performance.now()
    const { name, input } = resolveAlias('rpc', request.method, request.params ?? {})
    const work = this.#perform(name, input, caller)
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

  async #perform(name: string, input: Record<string, unknown>, caller: Caller): Promise<unknown> {
    if (this.#draining) throw stopping()
    let operation = this.#operations.get(name)
    if (!operation) {
      operation = await findOperation(name)
      if (!operation) throw unknownOperation(name)
      this.#operations.set(name, operation)
    }
    return performOperation(this.app, operation, input, caller)
  }

  #reportInternal(name: string, error: RockpoolError): void {
    const stack = error.cause instanceof Error ? error.cause.stack : undefined
    this.app.log.error(
      { operation: name, error: error.message, stack },
      'An operation failed in a way nobody foresaw.',
    )
  }
}

function stopping(): RockpoolError {
  return new RockpoolError('unavailable', 'The gateway is stopping.', {
    hint: 'Try again when it has restarted.',
  })
}
