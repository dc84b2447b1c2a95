// Baileys logs whole protocol messages, words and keys included. None of it may reach a log of ours.

interface Logger {
  level: string
  child(): Logger
  trace(): void
  debug(): void
  info(): void
  warn(): void
  error(): void
}

export const quietLogger: Logger = {
  level: 'silent',
  child: () => quietLogger,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}
