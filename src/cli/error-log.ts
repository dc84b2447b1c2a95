// The log of a command: not stored, but warnings and errors are printed to stderr.
import { silentLog } from '../domain/log.ts'
import type { Log } from '../domain/log.ts'
import { visible } from './print.ts'

export function errorLog(diagnostics: { write(text: string): unknown }): Log {
  const log: Log = {
    ...silentLog,
    error: (_, message) => void diagnostics.write(`rockpool: ${visible(message)}\n`),
    child: () => log,
  }
  return log
}
