// Everything that can be typed, in one small list, for the help, the completion and "did you mean". Made from the
// operations; the build writes it to dist/catalog.json, so that `rockpool --help` loads no operation.
import { aliases } from './aliases.ts'
import { allOperations } from './all.ts'
import { fieldsOf } from './fields.ts'
import type { Operation } from './operation.ts'

type Listed = Pick<Operation, 'name' | 'says' | 'input' | 'command'>

export interface CatalogEntry {
  /** The words of the command: `sessions list`. */
  command: string
  says: string
  options: Array<{ flag: string; says: string; choices?: string[]; takesValue: boolean }>
  /** What may stand for the first argument, if that is a choice. */
  argumentChoices?: string[]
  /** Another name of this command. */
  aliasOf?: string
}

/** `others` are the commands that are no operations. */
export async function makeCatalog(others: readonly Listed[]): Promise<CatalogEntry[]> {
  const listed: Listed[] = [...(await allOperations()), ...others]
  const entries = listed.filter(({ command }) => !command?.hidden).map(entryOf)
  for (const [command, { of, says }] of Object.entries(aliases.command)) {
    const target = entries.find((entry) => entry.command === commandOf(of))
    if (target) entries.push({ ...target, says: says ?? target.says, command, aliasOf: target.command })
  }
  return entries.sort((a, b) => (a.command < b.command ? -1 : 1))
}

/** `sessions.list` is `sessions list`. */
export function commandOf(operationName: string): string {
  return operationName.replaceAll('.', ' ')
}

function entryOf(operation: Listed): CatalogEntry {
  const positional = operation.command?.positional ?? []
  const fields = fieldsOf(operation)
  const argumentChoices = fields.find((field) => field.name === positional[0])?.choices ?? []
  const options = fields
    .filter((field) => !positional.includes(field.name))
    .map(({ flag, says, choices, kind }) => ({
      flag,
      says,
      takesValue: kind !== 'yes-no',
      ...(choices.length > 0 ? { choices } : {}),
    }))
  const follow = operation.command?.follow
    ? [{ flag: '--follow', says: 'Go on as more comes.', takesValue: false }]
    : []
  return {
    command: commandOf(operation.name),
    says: operation.says,
    options: [...options, ...follow],
    ...(argumentChoices.length > 0 ? { argumentChoices } : {}),
  }
}
