// May this caller do that? The one place where it is decided.
import { RockpoolError } from '../domain/errors.ts'
import type { Caller, Scope } from './operation.ts'

/** The one authorization function. Routes and subscriptions that are no operations ask it too. */
export function authorize(caller: Caller, needed: Scope, what: string): void {
  if (includes(caller.scopes, needed)) return
  throw new RockpoolError('forbidden', `${what} needs the scope ${needed}.`, {
    hint: 'Use a token with that scope; `rockpool tokens list` shows what each token may do.',
  })
}

const includedIn: Record<Scope, readonly Scope[]> = {
  read: ['read', 'write', 'approve', 'admin'],
  write: ['write', 'admin'],
  approve: ['approve', 'admin'],
  admin: ['admin'],
}

export function includes(granted: readonly Scope[], needed: Scope): boolean {
  return granted.some((scope) => includedIn[needed].includes(scope))
}
