// May this caller do that? The one place where it is decided.
import { RockpoolError } from '../domain/errors.ts'
import type { Caller, Operation, Scope } from './operation.ts'

type Guarded = Pick<Operation, 'name' | 'scope' | 'operatorOnly'>

/** Whoever is bound to an agent has that agent's world, whatever its scopes: what belongs to all is the operator's. */
export function authorizeOperation(caller: Caller, operation: Guarded): void {
  authorize(caller, operation.scope, operation.name)
  if (caller.agentId === undefined || !isOperatorOnly(operation)) return
  throw new RockpoolError('forbidden', `${operation.name} is the operator's, not an agent's.`, {
    hint: `This caller is bound to the agent ${caller.agentId}; use a token that is bound to none.`,
  })
}

export function isOperatorOnly({ scope, operatorOnly }: Guarded): boolean {
  return scope === 'admin' || operatorOnly === true
}

/** The one authorization function. Routes and subscriptions that are no operations ask it too. */
export function authorize(caller: Caller, needed: Scope, what: string): void {
  if (hasScope(caller.scopes, needed)) return
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

export function hasScope(granted: readonly Scope[], needed: Scope): boolean {
  return granted.some((scope) => includedIn[needed].includes(scope))
}
