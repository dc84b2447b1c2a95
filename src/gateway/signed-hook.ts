// A hook whose sender signs what it sends instead of sending its secret, as Standard Webhooks describe it: `webhook-id`,
// `webhook-timestamp` and `webhook-signature: v1,<base64>` over `id.timestamp.body`, made with the hook token.
// What is old, or from the future, is refused before its body is read; what is repeated is one request, by its id.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export interface SignedHook {
  id: string
  timestamp: string
  /** The signatures as bytes: the same one can be written in more than one way. */
  signatures: Buffer[]
}

/** How far the sender's clock may be from ours, and how long a request may have been on its way. */
const windowSeconds = 300
const signatureBytes = 32

export function claimsSignature(request: IncomingMessage): boolean {
  return request.headers['webhook-signature'] !== undefined
}

/** What the headers say; undefined when it cannot be right, whatever the body is. */
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
  // Each is compared, so that the time says nothing about which one was near.
  return signatures.map((each) => timingSafeEqual(each, right)).includes(true)
}

/** Senders write a secret as `whsec_` and base64; any other token is its own bytes. */
function keyOf(token: string): Buffer {
  return token.startsWith('whsec_') ? Buffer.from(token.slice(6), 'base64') : Buffer.from(token)
}
