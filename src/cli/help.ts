// The help above single commands: everything there is, or the commands of one noun; and what was probably meant.
import { RockpoolError } from '../domain/errors.ts'
import { nounsInCommands } from '../operations/aliases.ts'
import type { CatalogEntry } from '../operations/catalog.ts'
import { inShort, shelves } from './help-order.ts'
import type { Host } from './local-command.ts'
import { nearest } from './nearest.ts'
import { pad, styled, wrap } from './print.ts'
import type { Page } from './print.ts'

type Line = Pick<CatalogEntry, 'command' | 'description'>

const footer = 'Every command takes --json. `rockpool <command> --help` shows its options and examples.'

/** No command has this name: it is the help that was asked for, or an error with the nearest names. */
export async function helpOrUnknown(args: readonly string[], host: Host): Promise<number> {
  const catalog = await host.catalog()
  const words = args.filter((arg) => !arg.startsWith('-')).map((word, i) => (i === 0 ? nounOf(word) : word))
  const page = { width: host.terminal.width, color: host.terminal.color, now: 0 }
  const noun = words.join(' ')
  const below = commandsBelow(noun, catalog)
  if (below.length === 0) throw unknownCommand(words, catalog)
  const odd = args.find((arg) => arg.startsWith('-') && !askForHelp.includes(arg))
  if (odd !== undefined) throw unknownOption(odd, noun)
  const usage = `Usage: rockpool ${noun === '' ? '' : `${noun} `}<command> [options]`
  const says = noun === '' ? 'Rockpool, the session layer for Claude agents.' : (inShort[noun] ?? '')
  const head = noun === '' ? [says, usage] : [usage, says]
  const parts = [...head.map((line) => whole(line, page)), onShelves(noun, below, page), whole(footer, page)]
  host.terminal.out(`${parts.filter((part) => part !== '').join('\n\n')}\n`)
  return 0
}

const askForHelp = ['--help', '-h', '--json']

function unknownOption(option: string, noun: string): RockpoolError {
  const command = `rockpool ${noun}`.trim()
  return new RockpoolError(
    'usage',
    `${JSON.stringify(option)} is not an option of \`${command}\` by itself.`,
    {
      hint: `\`${command} --help\` lists the commands; options stand behind them.`,
    },
  )
}

function whole(line: string, page: Page): string {
  return wrap(line, page.width).join('\n')
}

/** What one word more can be said below a noun; a noun with verbs of its own is one line. */
export function commandsBelow(noun: string, catalog: readonly CatalogEntry[]): Line[] {
  const start = noun === '' ? '' : `${noun} `
  const within = catalog.filter(({ command }) => command.startsWith(start))
  const next = Map.groupBy(within, ({ command }) => start + command.slice(start.length).split(' ', 1)[0]!)
  return [...next].map(([command, entries]) => {
    const own = entries.find((entry) => entry.command === command)
    return { command, description: inShort[command] ?? own?.description ?? '' }
  })
}

/** Like `Options:` of a command, so that both read alike. */
export function onShelves(noun: string, lines: readonly Line[], page: Page): string {
  const named = shelves[noun] ?? []
  const wordOf = ({ command }: Line): string => command.slice(noun === '' ? 0 : noun.length + 1)
  const shelved = named.map(({ title, words }) => ({
    title,
    lines: words.flatMap((word) => lines.filter((line) => wordOf(line) === word)),
  }))
  const left = lines.filter((line) => !named.some(({ words }) => words.includes(wordOf(line))))
  const all = [...shelved, { title: named.length > 0 ? 'More' : 'Commands', lines: left }]
  const width = Math.max(...lines.map(({ command }) => command.length))
  return all
    .filter((shelf) => shelf.lines.length > 0)
    .map((shelf) => `${shelf.title}:\n${shelf.lines.map((line) => shown(line, width, page)).join('\n')}`)
    .join('\n\n')
}

function shown({ command, description }: Line, width: number, page: Page): string {
  const indent = `\n${' '.repeat(width + 4)}`
  const text = wrap(description, Math.max(24, page.width - width - 4)).join(indent)
  return `  ${styled(page, 'bold', pad(command, width))}  ${text}`
}

/** The noun of the operations is shown as the one that people type. */
function nounOf(word: string): string {
  return Object.hasOwn(nounsInCommands, word) ? nounsInCommands[word]! : word
}

function unknownCommand(words: string[], catalog: CatalogEntry[]): RockpoolError {
  const typed = words.slice(0, 3).join(' ')
  const names = catalog.map((entry) => entry.command)
  const near = nearest(typed, [...new Set([...names, ...names.map((name) => name.split(' ', 1)[0]!)])])
  const noun = words.length > 1 && names.some((name) => name.startsWith(`${words[0]} `)) ? `${words[0]} ` : ''
  return new RockpoolError('usage', `There is no command \`rockpool ${typed}\`.`, {
    hint: near ? `Did you mean \`rockpool ${near}\`?` : `\`rockpool ${noun}--help\` lists them all.`,
  })
}
