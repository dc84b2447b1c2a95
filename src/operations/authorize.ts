// Decides what a caller may do and see.
import { RockpoolError } from '../domain/errors.ts'
import type { Caller, ForHosts, Operation, Scope } from './operation.ts'

type Guarded = Pick<Operation, 'name' | 'scope' | 'operatorOnly' | 'forHosts'>

/** A caller that is bound to an agent sees only what belongs to that agent, whatever its scopes; what belongs to all is the
 *  operator's. */
export function authorizeOperation(caller: Caller, operation: Guarded): void {
  authorize(caller, operation.scope, operation.name, operation.forHosts)
  if (caller.agentId === undefined || !isOperatorOnly(operation)) return
  throw new RockpoolError('forbidden', `${operation.name} is the operator's, not an agent's.`, {
    hint: `This caller is bound to the agent ${caller.agentId}; use a token that is bound to none.`,
  })
}

export function isOperatorOnly({ scope, operatorOnly }: Guarded): boolean {
  return scope === 'admin' || operatorOnly === true
}

/** Also for routes and subscriptions, which are not operations. */
export function authorize(caller: Caller, needed: Scope, what: string, forHosts?: ForHosts): void {
  if (!hasScope(caller.scopes, needed))
    throw new RockpoolError('forbidden', `${what} needs the scope ${needed}.`, {
      hint: 'Use a token with that scope; `rockpool tokens list` shows what each token may do.',
    })
  const isForHosts = forHosts === 'only' || forHosts === 'agent'
  if (isForHosts && caller.agentPrefix === undefined)
    throw new RockpoolError('forbidden', `${what} is for programs with agents of their own.`, {
      hint: 'Only the plugin in OpenClaw calls it, with a token of its own.',
    })
  const needsAgent = forHosts === undefined || forHosts === 'agent'
  if (needsAgent && isUnnamedHost(caller))
    throw new RockpoolError('forbidden', `${what} needs the agent that calls.`, {
      hint: `Name an agent that begins with ${caller.agentPrefix}: in the header rockpool-agent, or as agentId of connect.`,
    })
}

/** An agent host that has not said which of its agents it speaks for. */
function isUnnamedHost({ agentId, agentPrefix }: Caller): boolean {
  return agentPrefix !== undefined && agentId === agentPrefix
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

/** A filter for what the caller may see: everything, or what belongs to its own agent. Throws when an agent asks for what
 *  belongs to another one. */
export function visibleTo(caller: Caller, wanted: string | undefined): { agentId: string | undefined } {
  if (caller.agentId === undefined) return { agentId: wanted }
  if (wanted === undefined || wanted === caller.agentId) return { agentId: caller.agentId }
  throw new RockpoolError('forbidden', `What belongs to ${JSON.stringify(wanted)} is not yours to see.`)
}
