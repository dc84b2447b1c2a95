// Signed hooks, as described by Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature: v1,<base64>`
// over `id.timestamp.body`, made with the hook token. Old requests are refused before their body is read; repeated requests
// are one request, by their id.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

interface SignedHook {
  id: string
  timestamp: string
  /** As bytes, because the same signature can be written in more than one way. */
  signatures: Buffer[]
}

/** The largest difference between the timestamp and our clock. */
const windowSeconds = 300
const signatureBytes = 32

export function claimsSignature(request: IncomingMessage): boolean {
  return request.headers['webhook-signature'] !== undefined
}

/** Reads the headers; undefined if they cannot be valid with any body. */
export function signedHookOf({ headers }: IncomingMessage, now: number): SignedHook | undefined {
  const [id, timestamp, given] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`] ?? ''),
  ) as [string, string, string]
  if (!/^[\w.:-]{1,200}$/.test(id) || !/^\d{1,12}$/.test(timestamp)) return undefined
  if (Math.abs(now / 1000 - Number(timestamp)) > windowSeconds) return undefined
  const written = given.split(' ').flatMap((each) => /^v1,([\w+/=-]{43,44})$/.exec(each)?.[1] ?? [])
  const signatures = written
    .map((each) => Buffer.from(each, 'base64'))
    .filter(({ length }) => length === signatureBytes)
  return signatures.length > 0 ? { id, timestamp, signatures } : undefined
}

export function isSignedWith(
  token: string,
  { id, timestamp, signatures }: SignedHook,
  body: string,
): boolean {
  const right = createHmac('sha256', keyOf(token)).update(`${id}.${timestamp}.${body}`).digest()
  // Each signature is compared, so that the time reveals nothing about them.
  return signatures.map((each) => timingSafeEqual(each, right)).includes(true)
}

/** A secret of the form `whsec_<base64>` is decoded; any other token is used as it is. */
function keyOf(token: string): Buffer {
  return token.startsWith('whsec_') ? Buffer.from(token.slice(6), 'base64') : Buffer.from(token)
}
