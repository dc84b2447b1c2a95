// JSON-RPC 2.0: the frames of the WebSocket and of POST /rpc, and our errors in them. Data and pure functions only: this file
// also runs in the browser.
import { RockpoolError, errorKinds } from '../domain/errors.ts'
import type { ErrorCode, ErrorReport } from '../domain/errors.ts'
import type { RockpoolEvent } from '../domain/events.ts'

export type RequestId = string | number | null

export interface RpcRequest {
  jsonrpc: '2.0'
  /** Without an id the request is a notification, which is performed and never answered. */
  id?: RequestId
  method: string
  params?: Record<string, unknown>
}

export interface RpcError {
  code: number
  message: string
  /** Our own error, with a code that programs can rely on. */
  data?: ErrorReport
}

export type RpcResponse =
  | { jsonrpc: '2.0'; id: RequestId; result: unknown }
  | { jsonrpc: '2.0'; id: RequestId; error: RpcError }

/** Sent to subscribers. `seq` increases by one within an epoch; every start of the gateway is a new epoch. */
export interface EventFrame {
  jsonrpc: '2.0'
  method: 'event'
  params: { subscriptionId: string; epoch: string; seq: number; event: RockpoolEvent }
}

export type Frame = RpcRequest | RpcResponse | EventFrame

/** The codes of JSON-RPC where there is one; our own start at -32000. */
const numbers: Partial<Record<ErrorCode, number>> = {
  usage: -32602,
  'input-invalid': -32602,
  internal: -32603,
  unauthorized: -32001,
  forbidden: -32003,
  'not-found': -32004,
  'rate-limited': -32029,
}

export function rpcError(error: RockpoolError): RpcError {
  const unknownMethod = error.code === 'not-found' && error.message.startsWith('There is no operation ')
  const code = unknownMethod ? -32601 : (numbers[error.code] ?? -32000)
  return { code, message: error.message, data: error.report() }
}

/** The error as the other side threw it. */
export function fromRpcError(error: RpcError | ErrorReport): RockpoolError {
  // A request that was refused before it was parsed is answered with the plain report.
  const data = 'data' in error ? error.data : typeof error.code === 'string' ? error : undefined
  const code = data && Object.hasOwn(errorKinds, data.code) ? data.code : 'internal'
  return new RockpoolError(code, data?.message ?? error.message, data?.hint ? { hint: data.hint } : {})
}

export function answer(id: RequestId, result: unknown): RpcResponse {
  return { jsonrpc: '2.0', id, result: result ?? null }
}

export function failure(id: RequestId, error: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error }
}

/** The answer to a text that `parseJson` refused: nothing of it is known, not even its id. */
export function parseFailure(error: RockpoolError): RpcResponse {
  return failure(null, { ...rpcError(error), code: -32700 })
}

/** The id that an answer must have, also to what is not a request. */
export function idIn(value: unknown): RequestId {
  const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

const maxDepth = 64
const maxKeys = 10_000

/** Parses a text from outside. Refuses JSON that is too deep or has too many keys: it could be parsed, but not stored. */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new RockpoolError('input-invalid', 'The text is not JSON.')
  }
  if (!isSmall(text)) checkShape(value)
  return value
}

/** True for a request that needs no further check: too short to have many keys, not deep, and without `__proto__`. */
function isSmall(text: string): boolean {
  return text.length < 4096 && !/\\|__proto__/.test(text) && openings(text) <= maxDepth
}

function openings(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x7b || code === 0x5b) count++
  }
  return count
}

function checkShape(root: unknown): void {
  let keys = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth)
      throw new RockpoolError('input-invalid', `The JSON is nested deeper than ${maxDepth}.`)
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      const entries = Object.entries(value)
      keys += entries.length
      if (keys > maxKeys) throw new RockpoolError('input-invalid', `The JSON has more than ${maxKeys} keys.`)
      for (const [key, inner] of entries) {
        if (key === '__proto__')
          throw new RockpoolError('input-invalid', 'A field may not be called __proto__.')
        if (typeof inner === 'object' && inner !== null) next.push(inner)
      }
    }
    level = next
  }
}

export function isRequest(value: unknown): value is RpcRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { jsonrpc, id, method, params } = value as Record<string, unknown>
  const idFits = id === undefined || id === null || typeof id === 'string' || typeof id === 'number'
  const paramsFit =
    params === undefined || (typeof params === 'object' && params !== null && !Array.isArray(params))
  return jsonrpc === '2.0' && typeof method === 'string' && method.length <= 200 && idFits && paramsFit
}
