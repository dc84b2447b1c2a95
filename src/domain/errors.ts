// Every error that a person or a program may see has a code here, an exit code, and a paragraph in docs/errors.md.

type ErrorKind = { exit: number; retryable: boolean }

const kind = (exit: number, retryable = false): ErrorKind => ({ exit, retryable })

export const errorKinds = {
  usage: kind(2),
  'config-invalid': kind(2),
  'input-invalid': kind(2),
  ambiguous: kind(2),
  'not-found': kind(3),
  refused: kind(4),
  unauthorized: kind(4),
  forbidden: kind(4),
  'rate-limited': kind(4, true),
  busy: kind(5, true),
  locked: kind(5, true),
  'lock-lost': kind(5, true),
  conflict: kind(5, true),
  damaged: kind(6),
  'schema-newer': kind(6),
  'timed-out': kind(7, true),
  unavailable: kind(69, true),
  exposed: kind(78),
  'agent-failed': kind(1),
  'disk-failed': kind(1),
  internal: kind(1),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

/** The shape of an error on the wire and in `--json` output. */
export interface ErrorReport {
  code: ErrorCode
  message: string
  hint?: string
  retryable: boolean
}

export class RockpoolError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined

  /** `message` says what failed and with which value; `hint` says what to do. Neither may hold a secret. */
  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RockpoolError'
    this.code = code
    this.hint = options.hint
  }

  get exitCode(): number {
    return errorKinds[this.code].exit
  }

  report(): ErrorReport {
    const { code, message, hint } = this
    return { code, message, hint, retryable: errorKinds[code].retryable }
  }
}

/** The message of anything that was thrown, for a log line or inside another message. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The message of anything that was thrown, with the hint what to do about it, in one line for a person or an agent. */
export function messageAndHint(thrown: unknown): string {
  const { message, hint } = asRockpoolError(thrown)
  return [message, hint].filter(Boolean).join(' ')
}

/** The result of `work`, or `otherwise` if it throws. A comment at the call says why the failure does not matter. */
export function attempt<T, F = undefined>(work: () => T, otherwise?: F): T | F {
  try {
    return work()
  } catch {
    return otherwise as F
  }
}

/** Anything that was thrown, as an error that can be shown. Unknown errors keep their message and become `internal`. */
export function asRockpoolError(thrown: unknown): RockpoolError {
  if (thrown instanceof RockpoolError) return thrown
  const message = errorText(thrown)
  if (diskFaults.test(message))
    return new RockpoolError('disk-failed', `${message}.`, {
      hint: 'Check free space and permissions.',
      cause: thrown,
    })
  return new RockpoolError('internal', message, { cause: thrown })
}

/** How Node's messages for failures of the disk begin. */
const diskFaults = /^(ENOSPC|EDQUOT|EROFS|EFBIG|EIO): /
