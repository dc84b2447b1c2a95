// Performs an operation by its name. Operations themselves use perform-operation.ts: they cannot import the registry, which
// imports them.
import { RockpoolError } from '../domain/errors.ts'
import { findOperation } from './all.ts'
import type { App } from './app.ts'
import type { Caller } from './operation.ts'
import { performOperation } from './perform-operation.ts'

export async function perform(
  app: App,
  name: string,
  input: Record<string, unknown>,
  caller: Caller,
): Promise<unknown> {
  const operation = await findOperation(name)
  if (!operation) throw unknownOperation(name)
  return performOperation(app, operation, input, caller)
}

export function unknownOperation(name: string): RockpoolError {
  return new RockpoolError('not-found', `There is no operation ${JSON.stringify(name.slice(0, 80))}.`, {
    hint: 'docs/operations.md lists them all.',
  })
}
