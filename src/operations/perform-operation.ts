// Performs an operation for every interface (RPC, command, MCP tool, hook, chat): authorizes the caller, checks the input,
// answers a repeated request with its first answer, runs the operation, and masks secrets in the output.
import type { z } from 'zod'
import { RockpoolError, asRockpoolError } from '../domain/errors.ts'
import { maskTexts, type Redactor } from '../domain/redact.ts'
import type { App } from './app.ts'
import { authorizeOperation } from './authorize.ts'
import type { Caller, Operation } from './operation.ts'

export async function performOperation(
  app: App,
  operation: Operation,
  input: Record<string, unknown>,
  caller: Caller,
): Promise<unknown> {
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
  const request = { who: callerId(caller), operation: operation.name, key: idempotencyKey, input: fields }
  return app.storage.answers.once(request, work)
}

/** The error of a platform may contain the requested address, and a token in it. */
function withoutSecrets(thrown: unknown, redactor: Redactor): RockpoolError {
  const error = asRockpoolError(thrown)
  const [message, hint] = [error.message, error.hint ?? ''].map((text) => redactor.everything(text))
  if (message === error.message && hint === (error.hint ?? '')) return error
  return new RockpoolError(error.code, message!, { hint: hint || undefined, cause: thrown })
}

/** Different callers never share an idempotency key. */
function callerId(caller: Caller): string {
  return [caller.via, caller.agentId ?? '', caller.name ?? ''].join('|')
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
  operation: Pick<Operation, 'name' | 'input'>,
  input: Record<string, unknown>,
): Record<string, unknown> {
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
  return path ? `${path}: ${issue.message}` : issue.message
}
