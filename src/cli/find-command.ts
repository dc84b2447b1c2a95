// From the words of a command line to the command that they name: an operation, one of its other names, or a command of
// the command line alone.
import { underAlias, findAlias } from '../operations/aliases.ts'
import { findOperation } from '../operations/all.ts'
import type { Operation } from '../operations/operation.ts'
import { localGroups } from './commands.ts'
import type { LocalCommand } from './local-command.ts'

type Found =
  | { kind: 'operation'; operation: Operation; words: string; rest: string[]; given: Record<string, unknown> }
  | { kind: 'local'; command: LocalCommand; words: string; rest: string[] }

/** The longest run of words that names a command. */
export async function findCommand(args: readonly string[]): Promise<Found | undefined> {
  const plain = args.findIndex((arg) => arg.startsWith('-'))
  const words = plain < 0 ? args : args.slice(0, plain)
  for (let count = Math.min(words.length, 3); count > 0; count--) {
    const name = words.slice(0, count).join(' ')
    const rest = args.slice(count)
    const alias = findAlias('command', name)
    const operation = await commandOperation(alias?.of ?? name.replaceAll(' ', '.'), alias !== undefined)
    if (operation && isUnknownVerb(operation, name, rest[0])) return undefined
    if (operation) {
      return {
        kind: 'operation',
        operation: underAlias(operation, alias),
        words: name,
        rest,
        given: { ...alias?.implied },
      }
    }
    const command = await localCommand(name.replaceAll(' ', '.'))
    if (command) return { kind: 'local', command, words: name, rest }
  }
  return undefined
}

async function commandOperation(name: string, byAlias: boolean): Promise<Operation | undefined> {
  const operation = await findOperation(name)
  return operation && (byAlias || !operation.command?.hidden) ? operation : undefined
}

async function localCommand(name: string): Promise<LocalCommand | undefined> {
  const group = name.split('.', 1)[0]!
  if (!Object.hasOwn(localGroups, group)) return undefined
  return (await localGroups[group]!()).commands.find((command) => command.name === name)
}

/** `sessions lsit` is a verb that does not exist, not `sessions` with something behind it. */
function isUnknownVerb({ command }: Operation, name: string, next: string | undefined): boolean {
  const takesNone = (command?.positional ?? []).length === 0
  return takesNone && !name.includes(' ') && next?.startsWith('-') === false
}
