// Handles unhandled rejections and exceptions: an idle timer whose row could not be stored, a link that could not save
// its keys. They are logged and the process continues, so that one session's failure does not end the others.
import type { Log } from './domain/log.ts'

interface Strays {
  on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown
}

export function reportStrays(process: Strays, log: Log): void {
  process.on('unhandledRejection', (error) =>
    log.error(
      { event: 'unhandled-error', error },
      'Unhandled error in a background task; the process continues.',
    ),
  )
}
