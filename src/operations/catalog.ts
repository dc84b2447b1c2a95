// All commands in one small list, for the help, the completion and "did you mean". Made from the operations; the build writes
// it to dist/catalog.json, so that `rockpool --help` loads no operation.
import { aliases, underAlias, commandName, nounsInCommands } from './aliases.ts'
import { allOperations } from './all.ts'
import { fieldsOf } from './fields.ts'
import type { Operation } from './operation.ts'

type Listed = Pick<Operation, 'name' | 'description' | 'input' | 'command'>

export interface CatalogEntry {
  /** The words of the command: `sessions list`. */
  command: string
  description: string
  options: Array<{ flag: string; description: string; choices?: string[]; takesValue: boolean }>
  /** The values of the first argument, if it is a choice. */
  argumentChoices?: string[]
}

/** `others` are the commands that are not operations. */
export async function makeCatalog(others: readonly Listed[]): Promise<CatalogEntry[]> {
  const listed = [...(await allOperations()), ...others].filter(({ command }) => !command?.hidden)
  const own = listed.filter(({ name }) => !Object.hasOwn(nounsInCommands, name.split('.', 1)[0]!))
  const entries = own.map((operation) => entryOf(operation, commandName(operation.name)))
  for (const [command, alias] of Object.entries(aliases.command)) {
    const operation = listed.find(({ name }) => name === alias.of)
    if (operation) entries.push(entryOf(underAlias(operation, alias), command))
  }
  return entries.sort((a, b) => (a.command < b.command ? -1 : 1))
}

function entryOf(operation: Listed, command: string): CatalogEntry {
  const { positional = [], implied = [], shortFlags = {} } = operation.command ?? {}
  const isOnlyArgument = (name: string): boolean =>
    positional.includes(name) && shortFlags[name] === undefined
  const fields = fieldsOf(operation)
  const argumentChoices = fields.find((field) => field.name === positional[0])?.choices ?? []
  const options = fields
    .filter(({ name }) => !isOnlyArgument(name) && !implied.includes(name))
    .map(({ flag, description, choices, kind }) => ({
      flag,
      description,
      takesValue: kind !== 'yes-no',
      choices: choices.length > 0 ? choices : undefined,
    }))
  const follow = operation.command?.nextInput
    ? [{ flag: '--follow', description: 'Continue as more arrives.', takesValue: false }]
    : []
  return {
    command,
    description: operation.description,
    options: [...options, ...follow],
    argumentChoices: argumentChoices.length > 0 ? argumentChoices : undefined,
  }
}
