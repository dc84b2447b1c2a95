// What failed and nobody waited for: an idle timer whose row could not be stored, a link that could not save its keys. It
// is written down, and everything else goes on; one session's trouble ends no other's.
import type { Log } from './domain/log.ts'

interface Strays {
  on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown
}

export function reportStrays(process: Strays, log: Log): void {
  process.on('unhandledRejection', (error) =>
    log.error({ error }, 'Something failed that nobody waited for. Everything else goes on.'),
  )
}
