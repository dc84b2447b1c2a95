// For platforms that send a thing once: it is offered until it is durable here, or until we stop.
import type { ChannelHost } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { backOffMs, pause } from './back-off.ts'

export interface OfferParts {
  accept: (message: Message) => Promise<void>
  host: ChannelHost
  signal: AbortSignal
}

export async function offerUntilTaken(message: Message, { accept, host, signal }: OfferParts): Promise<void> {
  for (let failures = 0; ;) {
    try {
      return await accept(message)
    } catch (error) {
      if (signal.aborted) throw error
      failures += 1
      const reason = error instanceof Error ? error.message : String(error)
      host.log.error({ error: reason, failures }, 'a message could not be stored; it is offered again')
      await pause(host.clock, backOffMs(failures), signal)
    }
  }
}
