// Performs an operation for every interface (RPC, command, MCP tool, hook, chat): authorizes the caller, checks the input,
// answers a repeated request with its first answer, runs the operation, and masks secrets in the output.
import type { z } from 'zod'
import { RockpoolError, asRockpoolError } from '../domain/errors.ts'
import type { Giver } from '../domain/giver.ts'
import { maskTexts, type Redactor } from '../domain/redact.ts'
import { expectationOf } from '../domain/schema-issue.ts'
import { requireAgent } from '../store/agents.ts'
import type { App } from './app.ts'
import type { Caller, ForHosts, Operation, Scope } from './operation.ts'

export async function performOperation(
  app: App,
  operation: Operation,
  input: Record<string, unknown>,
  caller: Caller,
): Promise<unknown> {
  requireAgentOf(app, caller)
  authorizeOperation(caller, operation)
  const { idempotencyKey, fields } = takeIdempotencyKey(operation, input)
  const checked = checkInput(operation, fields)
  await app.prepare(operation.heavyParts)
  const work = async (): Promise<unknown> => {
    try {
      const output: unknown = await operation.run(app, checked, caller)
      return operation.redactOutput ? maskTexts(output, app.redactor().everything) : output
    } catch (error) {
      throw withoutSecrets(error, app.redactor())
    }
  }
  if (idempotencyKey === undefined || operation.returnsSecret) return work()
  // Different callers never share an idempotency key.
  const who = [caller.via, caller.agentId ?? '', caller.name ?? ''].join('|')
  const request = { who, operation: operation.name, key: idempotencyKey, input: fields }
  return app.storage.answers.once(request, work)
}

/** The error of a platform may contain the requested address, and a token in it. */
function withoutSecrets(thrown: unknown, redactor: Redactor): RockpoolError {
  const error = asRockpoolError(thrown)
  const [message, hint] = [error.message, error.hint ?? ''].map((text) => redactor.everything(text))
  if (message === error.message && hint === (error.hint ?? '')) return error
  return new RockpoolError(error.code, message!, { hint: hint || undefined, cause: thrown })
}

function takeIdempotencyKey(
  operation: Operation,
  input: Record<string, unknown>,
): { idempotencyKey: string | undefined; fields: Record<string, unknown> } {
  if (!operation.changesState || !Object.hasOwn(input, 'idempotencyKey'))
    return { idempotencyKey: undefined, fields: input }
  const { idempotencyKey, ...fields } = input
  if (typeof idempotencyKey === 'string' && idempotencyKey !== '' && idempotencyKey.length <= 200) {
    return { idempotencyKey, fields }
  }
  throw new RockpoolError('input-invalid', 'idempotencyKey must be a text of 1 to 200 characters.')
}

export function checkInput(
  operation: Pick<Operation, 'name' | 'input' | 'withoutOptions'>,
  input: Record<string, unknown>,
): Record<string, unknown> {
  const { program, person } = operation.withoutOptions ?? {}
  // The operation itself wrote these two.
  if (input === program || input === person) return input
  const checked = operation.input.safeParse(input)
  if (checked.success) return checked.data
  const problems = checked.error.issues.slice(0, 5).map(describeIssue)
  throw new RockpoolError('input-invalid', `${operation.name}: ${problems.join('; ')}.`, {
    hint: `It takes ${Object.keys(operation.input.shape).join(', ') || 'nothing'}.`,
  })
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return `unknown field ${issue.keys.map((key) => JSON.stringify(path ? `${path}.${key}` : key)).join(', ')}`
  }
  return path ? `${path}: ${expectationOf(issue)}` : expectationOf(issue)
}

// What a caller may do and see.

/** A token may be older than its agent, and may outlive it: without the agent, nothing exists for the caller. */
export function requireAgentOf(app: Pick<App, 'config' | 'paths'>, { agentId }: Caller): void {
  if (agentId !== undefined) requireAgent(app, agentId)
}

type Guarded = Pick<Operation, 'name' | 'scope' | 'operatorOnly' | 'forHosts'>

/** A caller that is bound to an agent sees only what belongs to that agent, with any scopes. Only the operator, who is bound to
 *  no agent, may use what belongs to all agents. */
export function authorizeOperation(caller: Caller, operation: Guarded): void {
  authorize(caller, operation.scope, operation.name, operation.forHosts)
  if (caller.agentId === undefined || !isOperatorOnly(operation)) return
  throw new RockpoolError('forbidden', `${operation.name} is for the operator only, not for agents.`, {
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
  // An agent host that has not said which of its agents it speaks for.
  const isUnnamedHost = caller.agentPrefix !== undefined && caller.agentId === caller.agentPrefix
  if (needsAgent && isUnnamedHost)
    throw new RockpoolError('forbidden', `${what} needs the agent that calls.`, {
      hint: `Name an agent that begins with ${caller.agentPrefix}: in the header rockpool-agent, or as agentId of connect.`,
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

/** The caller as one who gives messages to coding sessions. Agents, and tokens that are bound to one, never allow anything. */
export function giverOf({ agentId, scopes, codingId }: Caller): Giver {
  return { agentId, mayApprove: agentId === undefined && hasScope(scopes, 'approve'), codingId }
}

/** A filter for what the caller may see: everything, or what belongs to its own agent. Throws when an agent asks for what
 *  belongs to another one. */
export function visibleTo(caller: Caller, wanted: string | undefined): { agentId: string | undefined } {
  if (caller.agentId === undefined) return { agentId: wanted }
  if (wanted === undefined || wanted === caller.agentId) return { agentId: caller.agentId }
  throw new RockpoolError('forbidden', `What belongs to ${JSON.stringify(wanted)} is not yours to see.`)
}
