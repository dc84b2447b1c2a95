// The help without a command: all commands in groups, or the commands of one noun; and suggestions for unknown commands.
import { RockpoolError } from '../domain/errors.ts'
import { nounsInCommands } from '../operations/aliases.ts'
import type { CatalogEntry } from '../operations/catalog.ts'
import { pageOf } from './host.ts'
import type { Host } from './host.ts'
import { nearest } from './parse-options.ts'
import { pad, styled, wrap } from './print.ts'
import type { Page } from './print.ts'

interface CommandGroup {
  title: string
  /** The next word: nouns at the top, verbs below a noun. */
  words: readonly string[]
}

/** The order of commands in the help, what a new user needs first: for all commands (''), and for a noun with many verbs.
 *  A test keeps it complete; a command that is missing here is shown at the end. */
export const commandGroups: Readonly<Record<string, readonly CommandGroup[]>> = {
  '': [
    { title: 'Begin', words: ['demo', 'login', 'setup', 'up', 'down', 'status', 'dashboard', 'doctor'] },
    {
      title: 'Claude Code',
      words: [
        'cc',
        'approvals',
        'rules',
        'schedules',
        'mail',
        'vault',
        'why',
        'project',
        'machines',
        'claude-plugin',
      ],
    },
    {
      title: 'Conversations',
      words: ['chat', 'agent', 'history', 'search', 'sessions', 'memory', 'turns', 'agents'],
    },
    { title: 'Channels', words: ['channels', 'devices', 'openclaw', 'pairing', 'message', 'system'] },
    {
      title: 'Maintenance',
      words: ['service', 'config', 'logs', 'health', 'backup', 'restore-backup', 'db'],
    },
    { title: 'For programs', words: ['mcp', 'statusline', 'tokens', 'gateway', 'completion'] },
  ],
  cc: [
    {
      title: 'See',
      words: ['list', 'watch', 'sessions', 'info', 'show', 'read', 'anatomy', 'costs', 'stats'],
    },
    { title: 'Choose and start', words: ['select', 'similar', 'launch', 'again', 'why'] },
    {
      title: 'Follow and answer',
      words: [
        'output',
        'review',
        'pr',
        'respond',
        'approvals',
        'approve',
        'deny',
        'quiet',
        'interrupt',
        'kill',
        'fg',
        'bg',
      ],
    },
    {
      title: 'Continue',
      words: ['resume', 'resume-all', 'fork', 'trim', 'handoff', 'attach', 'release', 'move'],
    },
    { title: 'Organise', words: ['seen', 'label', 'archive', 'repair'] },
  ],
}

/** One line about a first word, if it has many verbs or a long description of its own. */
export const shortDescriptions: Readonly<Record<string, string>> = {
  agents: 'List, add and remove agents.',
  approvals: 'List what sessions ask you, and answer.',
  rules: 'List, add and remove what sessions may do without asking.',
  mail: 'Send messages between sessions, and see their receipts.',
  schedules: 'Start turns, sessions and messages at given times.',
  why: 'Say which session wrote a line, a file or a commit.',
  vault: 'Keep, list, restore and verify copies of sessions.',
  backup: 'Copy the whole state into a new folder.',
  cc: 'List, select, launch, watch and answer Claude Code sessions.',
  channels: 'List, add, test and remove Telegram, Discord and WhatsApp.',
  chat: 'Talk to an agent in this terminal.',
  config: 'Show and change the configuration.',
  dashboard: 'Print a one-time dashboard link.',
  db: 'Show and migrate the PostgreSQL that several machines share.',
  demo: 'Try Rockpool with sample sessions; nothing is kept.',
  down: 'Stop the gateway that runs here.',
  doctor: 'Diagnose problems and preview fixes.',
  gateway: 'Call any method of the gateway.',
  machines: 'List the machines that share a database.',
  login: 'Log in to Claude with the bundled Claude Code.',
  memory: 'List, search, show and add the notes of agents.',
  message: 'Send a message to a chat.',
  devices: 'List, add, test and remove devices that are notified.',
  openclaw: 'Install, show and remove the plugin in OpenClaw.',
  'claude-plugin': 'Install, show and remove the plugin in Claude Code.',
  pairing: 'List, approve, deny and remove people who may talk.',
  project: 'Show a repository: git, pull requests, sessions, documents.',
  'restore-backup': 'Restore a backup; the current state is moved aside.',
  service: 'Start the gateway at login: install, status, logs.',
  sessions: 'List, show, label, fork, reset, import and export sessions.',
  setup: 'Set up Claude, an agent, a first channel, the service.',
  status: 'Show what runs, what waits for you, what it cost today.',
  statusline: "Print Claude Code's status line: cost today, who needs you.",
  system: 'Tell an agent that something happened.',
  tokens: 'List, add and remove access tokens of programs.',
  turns: 'List what each turn used and cost; stop a running turn.',
  up: 'Start the gateway: live sessions, channels, the dashboard.',
}

type Line = Pick<CatalogEntry, 'command' | 'description'>

const footer =
  'Every command takes --json and --no-color. `rockpool <command> --help` shows its options and examples.'

/** For arguments that name no command: prints the help of a noun or of everything, or throws with the nearest name. */
export async function helpOrUnknown(args: readonly string[], host: Host): Promise<number> {
  const catalog = await host.catalog()
  const words = args.filter((arg) => !arg.startsWith('-')).map((word, i) => (i === 0 ? nounOf(word) : word))
  const page = helpPage(host)
  const noun = words.join(' ')
  const below = commandsBelow(noun, catalog)
  if (below.length === 0) throw unknownCommand(words, catalog)
  const unknown = args.find((arg) => arg.startsWith('-') && !['--help', '-h', '--json'].includes(arg))
  if (unknown !== undefined) throw unknownOption(unknown, noun)
  const usage = `Usage: rockpool ${noun === '' ? '' : `${noun} `}<command> [options]`
  const about =
    noun === '' ? 'Rockpool, the session layer for Claude agents.' : (shortDescriptions[noun] ?? '')
  const head = noun === '' ? [about, usage] : [usage, about]
  const parts = [
    ...head.map((line) => wrapLine(line, page)),
    inGroups(noun, below, page),
    wrapLine(footer, page),
  ]
  host.terminal.out(`${parts.filter((part) => part !== '').join('\n\n')}\n`)
  return 0
}

const widestHelp = 100

/** Help is read by people, also when it is piped into a pager. */
export function helpPage(host: Host): Page {
  const page = pageOf(host)
  return { ...page, width: page.interactive ? page.width : Math.min(widestHelp, page.width) }
}

function unknownOption(option: string, noun: string): RockpoolError {
  const command = `rockpool ${noun}`.trim()
  return new RockpoolError('usage', `${JSON.stringify(option)} is not an option of \`${command}\`.`, {
    hint: `\`${command} --help\` lists the commands; options come after them.`,
  })
}

function wrapLine(line: string, page: Page): string {
  return wrap(line, page.width).join('\n')
}

/** The commands with one more word than the noun; one line for a noun that has verbs of its own. */
export function commandsBelow(noun: string, catalog: readonly CatalogEntry[]): Line[] {
  const start = noun === '' ? '' : `${noun} `
  const within = catalog.filter(({ command }) => command.startsWith(start))
  const next = Map.groupBy(within, ({ command }) => start + command.slice(start.length).split(' ', 1)[0]!)
  return [...next].map(([command, entries]) => {
    const own = entries.find((entry) => entry.command === command)
    return { command, description: shortDescriptions[command] ?? own?.description ?? '' }
  })
}

/** The commands in their groups, formatted like the options of a command. */
export function inGroups(noun: string, lines: readonly Line[], page: Page): string {
  const named = commandGroups[noun] ?? []
  const wordOf = ({ command }: Line): string => command.slice(noun === '' ? 0 : noun.length + 1)
  const groups = named.map(({ title, words }) => ({
    title,
    lines: words.flatMap((word) => lines.filter((line) => wordOf(line) === word)),
  }))
  const left = lines.filter((line) => !named.some(({ words }) => words.includes(wordOf(line))))
  const width = Math.max(...lines.map(({ command }) => command.length))
  return [...groups, { title: named.length > 0 ? 'More' : 'Commands', lines: left }]
    .filter((group) => group.lines.length > 0)
    .map((group) => `${group.title}:\n${group.lines.map((line) => shown(line, width, page)).join('\n')}`)
    .join('\n\n')
}

function shown({ command, description }: Line, width: number, page: Page): string {
  const indent = `\n${' '.repeat(width + 4)}`
  const text = wrap(description, Math.max(24, page.width - width - 4)).join(indent)
  return `  ${styled(page, 'bold', pad(command, width))}  ${text}`
}

/** The noun of some operations has another name on the command line: `coding` is `cc`. */
function nounOf(word: string): string {
  return Object.hasOwn(nounsInCommands, word) ? nounsInCommands[word]! : word
}

function unknownCommand(words: string[], catalog: CatalogEntry[]): RockpoolError {
  const typed = words.slice(0, 3).join(' ')
  const names = catalog.map((entry) => entry.command)
  const known = [...new Set([...names, ...names.map((name) => name.split(' ', 1)[0]!)])]
  // What follows the command may be its arguments, unless the beginning is a noun of ours.
  const noun = words.length > 1 && names.some((name) => name.startsWith(`${words[0]} `)) ? `${words[0]} ` : ''
  // A right noun must not make up for wrong letters behind it.
  const verbs = known.filter((name) => name.startsWith(noun)).map((name) => name.slice(noun.length))
  const beginnings = [3, 2, 1].map((length) => words.slice(0, length).join(' '))
  const near = beginnings
    .map((text) => (known.includes(text) ? undefined : nearest(text.slice(noun.length), verbs)))
    .find(Boolean)
  return new RockpoolError('usage', `There is no command \`rockpool ${typed}\`.`, {
    hint: near ? `Did you mean \`rockpool ${noun}${near}\`?` : `\`rockpool ${noun}--help\` lists them all.`,
  })
}
