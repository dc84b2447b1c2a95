// For platforms that send an event only once: retry until the message is stored, or until the process stops.
import type { ChannelHost } from '../domain/channel.ts'
import { errorText } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import { backOffMs, pause } from './back-off.ts'

export interface OfferParts {
  accept: (message: Message) => Promise<void>
  host: ChannelHost
  signal: AbortSignal
}

export function offerUntilTaken(message: Message, parts: OfferParts): Promise<void> {
  return untilStored(() => parts.accept(message), parts)
}

/** Rejects only when we stop. */
export async function untilStored(
  store: () => Promise<void>,
  { host, signal }: Pick<OfferParts, 'host' | 'signal'>,
): Promise<void> {
  for (let failures = 0; ;) {
    try {
      return await store()
    } catch (error) {
      if (signal.aborted) throw error
      failures += 1
      const reason = errorText(error)
      host.log.error(
        { event: 'message-store-failed', error: reason, failures },
        'Could not store a message; retrying.',
      )
      await pause(host.clock, backOffMs(failures), signal)
    }
  }
}
