// HTTP: reads request bodies within limits, and writes answers and errors.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { asRockpoolError, RockpoolError, type ErrorCode } from '../domain/errors.ts'
import { jsonText } from '../domain/json.ts'
import { hasLongList, jsonPieces } from '../rpc/json-pieces.ts'

const statuses: Partial<Record<ErrorCode, number>> = {
  usage: 400,
  'input-invalid': 400,
  ambiguous: 400,
  unauthorized: 401,
  forbidden: 403,
  refused: 403,
  'not-found': 404,
  conflict: 409,
  'rate-limited': 429,
  busy: 503,
  locked: 503,
  unavailable: 503,
  'timed-out': 504,
}

/** Headers of every answer: no type sniffing, frames, referrers, cross-origin use or caching. */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: object = {},
): void {
  sendText(response, status, JSON.stringify(value), 'application/json', headers)
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  type: string,
  headers: object = {},
): void {
  response.writeHead(status, {
    ...securityHeaders,
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

/** Sends an error. If the body of the request was not read, the connection is closed. */
export function sendError(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
  const error = asRockpoolError(thrown)
  const status = error instanceof HttpRefusal ? error.status : (statuses[error.code] ?? 500)
  const code = error instanceof HttpRefusal ? error.reason : error.code
  sendJson(response, status, { error: { ...error.report(), code } }, errorHeaders(request, error))
}

export function statusOf(error: RockpoolError): number {
  return statuses[error.code] ?? 200
}

export function errorHeaders(request: IncomingMessage, error: RockpoolError): Record<string, string> {
  return {
    ...(error instanceof TooManyTries ? { 'retry-after': String(error.retryAfterSeconds) } : {}),
    ...(error.code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(error instanceof HttpRefusal ? error.headers : {}),
    ...(request.complete ? {} : { connection: 'close' }),
  }
}

/** Wrong credentials came too often from one source. */
export class TooManyTries extends RockpoolError {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super('rate-limited', `Too many wrong credentials. Try again in ${retryAfterSeconds} s.`)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Refused by a rule of HTTP, with its own status and reason. */
export class HttpRefusal extends RockpoolError {
  readonly status: number
  readonly reason: string
  readonly headers: Record<string, string>
  constructor(status: number, reason: string, message: string, headers: Record<string, string> = {}) {
    super(status === 404 ? 'not-found' : 'refused', message)
    this.status = status
    this.reason = reason
    this.headers = headers
  }
}

/** JSON as text. A large value becomes bytes, piece by piece, so that other requests are served between the pieces. */
export async function stringifyInPieces(value: unknown): Promise<string | Buffer> {
  if (!hasLongList(value)) return jsonText(value)
  const pieces: Buffer[] = []
  for (const piece of jsonPieces(value, jsonText)) {
    pieces.push(Buffer.from(piece))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return Buffer.concat(pieces)
}

/** Reads the body; stops reading and throws if it is too large. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = (): HttpRefusal =>
    new HttpRefusal(413, 'too-large', `The body is larger than ${maxBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request) {
      size += (chunk as Buffer).length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (error instanceof RockpoolError) throw error
    throw new HttpRefusal(400, 'cut-off', 'The body did not arrive.')
  }
  return Buffer.concat(chunks).toString('utf8')
}
