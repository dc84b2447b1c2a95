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

/** What libsignal says on the console: some of it with the private keys of a conversation. */
const signalWords =
  /^(Closing session|Opening session|Session already|Removing old closed session|Migrating session|Closing open session|Decrypted message with closed session|Failed to decrypt message|Session error)/

const done = Symbol.for('rockpool.quiet-signal')

/** libsignal has no switch for it, so the console itself leaves those lines out, for good. */
export function keepSignalQuiet(target: Console = console): void {
  if (done in target) return
  Object.defineProperty(target, done, { value: true })
  for (const method of ['info', 'warn', 'error'] as const) {
    const write = target[method].bind(target)
    target[method] = (...words: unknown[]) => {
      if (typeof words[0] !== 'string' || !signalWords.test(words[0])) write(...words)
    }
  }
}
