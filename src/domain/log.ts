// The logger as the rest of the program uses it. store/log-file.ts makes a real one (pino).

/** `event` is a stable name of what happened, to search logs for; the message may be reworded. */
type Fields = { event: string } & Record<string, unknown>

export interface Log {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
  /** The same log with these fields on every line. */
  child(fields: Record<string, unknown>): Log
}

export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
}
