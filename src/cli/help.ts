// The help above single commands: everything there is, or the commands of one noun; and what was probably meant.
import { RockpoolError } from '../domain/errors.ts'
import type { CatalogEntry } from '../operations/catalog.ts'
import type { Host } from './local-command.ts'
import { nearest } from './nearest.ts'
import { fit, pad, styled } from './print.ts'
import type { Page } from './print.ts'

const footer = 'Every command takes --json. `rockpool <command> --help` shows its options and examples.'

/** No command has this name: it is the help that was asked for, or an error with the nearest names. */
export async function helpOrUnknown(args: readonly string[], host: Host): Promise<number> {
  const catalog = await host.catalog()
  const words = args.filter((arg) => !arg.startsWith('-') && arg !== 'help')
  const page = { width: host.terminal.width, color: host.terminal.color, now: 0 }
  const group = words.join(' ')
  const within = catalog.filter((entry) => group === '' || entry.command.startsWith(`${group} `))
  if (words.length > 0 && (within.length === 0 || unknownBelow(words, catalog)))
    throw unknownCommand(words, catalog)
  host.terminal.out(`${group === '' ? everything(catalog, page) : listing(within, page)}\n\n${footer}\n`)
  return 0
}

function unknownBelow(words: string[], catalog: CatalogEntry[]): boolean {
  return !catalog.some((entry) => entry.command.startsWith(`${words.join(' ')} `))
}

function everything(catalog: CatalogEntry[], page: Page): string {
  const nouns = Map.groupBy(catalog, (entry) => entry.command.split(' ', 1)[0]!)
  const lines = [...nouns].map(([noun, entries]) => {
    const own = entries.find((entry) => entry.command === noun)
    const verbs = entries
      .filter((entry) => entry !== own)
      .map((entry) => entry.command.slice(noun.length + 1))
    const says = own && verbs.length === 0 ? own.says : verbs.join(', ')
    return { command: noun, says }
  })
  const usage = 'Usage: rockpool <command> [options]'
  return `Rockpool, the session layer for Claude agents.\n\n${usage}\n\n${listing(lines, page)}`
}

function listing(entries: Array<Pick<CatalogEntry, 'command' | 'says'>>, page: Page): string {
  const width = Math.max(...entries.map((entry) => entry.command.length))
  return entries
    .map(
      ({ command, says }) =>
        `  ${styled(page, 'bold', pad(command, width))}  ${fit(says, page.width - width - 4)}`,
    )
    .join('\n')
}

function unknownCommand(words: string[], catalog: CatalogEntry[]): RockpoolError {
  const typed = words.slice(0, 3).join(' ')
  const names = catalog.map((entry) => entry.command)
  const near = nearest(typed, [...new Set([...names, ...names.map((name) => name.split(' ', 1)[0]!)])])
  return new RockpoolError('usage', `There is no command \`rockpool ${typed}\`.`, {
    hint: near ? `Did you mean \`rockpool ${near}\`?` : '`rockpool --help` lists them all.',
  })
}
