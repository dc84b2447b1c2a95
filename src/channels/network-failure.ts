// Classifies a failed connection: which error it was, and whether any data can have been sent before it.

/** The connection was never established. */
const unconnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The system's word for it, such as `ECONNRESET`, wherever the libraries have wrapped it; empty when there is none. */
export function networkCode(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 3; cause = cause.cause, depth++) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
  }
  return ''
}

/** True if the message certainly did not arrive, so that it may be sent again without a mark. */
export function neverLeft(error: unknown): boolean {
  return unconnected.has(networkCode(error))
}
