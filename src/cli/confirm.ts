// Asks for confirmation at a terminal before something is removed, unless the target does not exist.
import { RockpoolError } from '../domain/errors.ts'
import type { Operation } from '../operations/operation.ts'
import type { Asker } from './call-operation.ts'

/** Throws if the answer is no. Does not ask about a missing target: the operation reports that itself. */
export async function confirm(
  operation: Operation,
  input: Record<string, unknown>,
  asker: Asker,
): Promise<void> {
  if (!(await isThere(operation, input, asker))) return
  const prompts = await import('@clack/prompts')
  const what = Object.values(input)
    .filter((value) => typeof value === 'string')
    .join(' ')
  const message = `${operation.description.replace(/\.$/, '')}: ${what}. Are you sure?`
  const yes = await prompts.confirm({ message, initialValue: false })
  if (yes !== true)
    throw new RockpoolError('refused', `${operation.name} was not confirmed; nothing changed.`)
}

async function isThere(operation: Operation, input: Record<string, unknown>, asker: Asker): Promise<boolean> {
  const look = operation.command?.confirmIfFound?.(input)
  if (!look) return true
  const found = (await asker.ask({ name: look.name }, look.input ?? {})) as Record<string, unknown>
  return look.isFound?.(found) ?? true
}
