// Retries: how long to wait between two attempts, how to wait, and what a failed connection says about the message.
import { errorText } from '../domain/errors.ts'
import type { ChannelHost } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'

const firstMs = 1_000
const longestMs = 60_000

/** Exponential back-off with jitter. Before attempt 1, 2, 3 …: between half and all of 1 s, 2 s, 4 s … 60 s. */
export function backOffMs(attempt: number): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1))
  return ceiling * (0.5 + Math.random() / 2)
}

/** Resolves after `ms`, or at once when `signal` fires. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}

/** For platforms that send an event only once: repeats `store` until it succeeds. Rejects only when we stop. */
export async function untilStored(
  store: () => Promise<void>,
  { host, signal }: { host: ChannelHost; signal: AbortSignal },
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await store()
    } catch (error) {
      if (signal.aborted) throw error
      host.log.error(
        { event: 'message-store-failed', error: errorText(error), failures },
        'Could not store a message; retrying.',
      )
      await pause(host.clock, backOffMs(failures), signal)
    }
  }
}

const neverConnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The system's error code, such as `ECONNRESET`, wherever the libraries have wrapped it; empty when there is none. */
export function networkCode(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 3; cause = cause.cause, depth++) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
  }
  return ''
}

/** True if nothing was sent before the failure. The message is then sent again without the mark `resentMark`. */
export function nothingWasSent(error: unknown): boolean {
  return neverConnected.has(networkCode(error))
}
