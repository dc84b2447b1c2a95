// Errors of PostgreSQL and of the network, and what they mean for the caller.
import { RockpoolError } from '../../domain/errors.ts'
import { errorCode } from '../disk/atomic-file.ts'
import { StoreUnavailable } from '../store-unavailable.ts'

export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error)
  return (
    /^(?:08|57P0)/.test(code) ||
    // A standby: another server accepts writes now.
    code === '25006' ||
    /^E(?:CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND)/.test(code) ||
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      messageOf(error),
    )
  )
}

/** Deadlocks and serialization failures: nothing was changed, and a retry works. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error))
}

/** The code that the function `fence` raises. */
const declaredDeadCode = 'RP001'

/** The message may be shown in a chat: it names neither the database's address nor its user. */
export function asFailure(error: unknown): unknown {
  if (error instanceof RockpoolError) return error
  const code = codeOf(error)
  if (code === declaredDeadCode)
    return new RockpoolError(
      'lock-lost',
      'Other processes considered this one dead and have taken over its work.',
      {
        hint: 'Nothing was changed. It joins the others again by itself.',
        cause: error,
      },
    )
  if (isConnectionLoss(error))
    return new StoreUnavailable(`PostgreSQL cannot be reached: ${reasonOf(error)}.`, {
      hint: 'Nothing that was acknowledged is lost. Check the server and ROCKPOOL_DATABASE_URL.',
      cause: error,
    })
  if (code === '57014' || code === '55P03')
    return new RockpoolError('busy', `PostgreSQL did not answer in time: ${messageOf(error)}.`, {
      hint: 'Try again in a moment; `rockpool db status` shows its state.',
      cause: error,
    })
  const refusal =
    refusals[code] ?? (/client password must be/.test(messageOf(error)) ? noPassword : undefined)
  if (refusal !== undefined)
    return new RockpoolError('config-invalid', `PostgreSQL refused us: ${refusal}.`, {
      hint: 'Check the name, the password and the rights in ROCKPOOL_DATABASE_URL.',
      cause: error,
    })
  return error
}

/** Instead of the driver's message, which is about its protocol. */
const noPassword = 'it asks for a password'

/** Instead of the server's messages, which name the user and the database. */
const refusals: Record<string, string> = {
  '28P01': 'the name or the password is wrong',
  '28000': 'this name may not connect from here',
  '3D000': 'there is no such database',
  '42501': 'a right is missing; to create its schema this user needs CREATE on the database',
}

/** By the code: the system's message names the address. */
function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code.startsWith('E')) return reasons[code] ?? code
  return code === '' ? 'the connection broke' : messageOf(error)
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing answers at its address (ECONNREFUSED)',
  ENOTFOUND: 'its host is not known (ENOTFOUND)',
  ETIMEDOUT: 'it does not answer (ETIMEDOUT)',
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? ''
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
