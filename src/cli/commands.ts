// From the words of a command line to the command that they name: an operation, one of its aliases, or a command that
// exists only on the command line. Those are found by their first word and loaded when they are needed.
import { underAlias, findAlias } from '../operations/aliases.ts'
import { findOperation } from '../operations/all.ts'
import type { Operation } from '../operations/operation.ts'
import type { LocalCommand } from './host.ts'

type Group = () => Promise<{ commands: LocalCommand[] }>

const agent: Group = () => import('./agent.ts')
const gateway: Group = () => import('./gateway-commands.ts')

const localGroups: Readonly<Record<string, Group>> = {
  agent,
  cc: () => import('./cc-commands.ts'),
  channels: () => import('./channels-add.ts'),
  chat: agent,
  completion: () => import('./completion.ts'),
  dashboard: () => import('./dashboard-command.ts'),
  demo: () => import('./demo.ts'),
  down: gateway,
  gateway,
  login: () => import('./login.ts'),
  mcp: gateway,
  openclaw: () => import('./openclaw-commands.ts'),
  'restore-backup': gateway,
  service: () => import('./start-at-login.ts'),
  statusline: () => import('./statusline.ts'),
  setup: () => import('./setup.ts'),
  up: gateway,
}

export async function allLocalCommands(): Promise<LocalCommand[]> {
  const loaded = await Promise.all(Object.values(localGroups).map((load) => load()))
  return [...new Set(loaded.flatMap((group) => group.commands))]
}

/** `words`: the words that name the command. `rest`: the arguments after them. `given`: input that an alias implies. */
type Found = { words: string; rest: string[] } & (
  | { kind: 'operation'; operation: Operation; given: Record<string, unknown> }
  | { kind: 'local'; command: LocalCommand }
)

/** Finds the command with the most words. */
export async function findCommand(args: readonly string[]): Promise<Found | undefined> {
  // The sessions are not only those of Claude Code, so `code` is another name for the group.
  if (args[0] === 'code') return findCommand(['cc', ...args.slice(1)])
  // An operation of its own, because it has another input and output.
  const all = args[0] === 'cc' && args[1] === 'resume' ? args.indexOf('--all') : -1
  if (all > 0 && !args.slice(0, all).includes('--'))
    return findCommand(['cc', 'resume-all', ...args.slice(2).filter((arg) => arg !== '--all')])
  const firstOption = args.findIndex((arg) => arg.startsWith('-'))
  const typed = firstOption < 0 ? args : args.slice(0, firstOption)
  for (let count = Math.min(typed.length, 3); count > 0; count--) {
    const words = typed.slice(0, count).join(' ')
    const rest = args.slice(count)
    const alias = findAlias('command', words)
    const operation = await commandOperation(alias?.of ?? words.replaceAll(' ', '.'), alias !== undefined)
    if (operation && isUnknownVerb(operation, words, rest[0])) return undefined
    if (operation) {
      const given = { ...alias?.implied }
      return { kind: 'operation', operation: underAlias(operation, alias), words, rest, given }
    }
    const command = await localCommand(words.replaceAll(' ', '.'))
    if (command) return { kind: 'local', command, words, rest }
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

/** `sessions lsit` is an unknown verb, not `sessions` with an argument. */
function isUnknownVerb({ command }: Operation, name: string, next: string | undefined): boolean {
  const takesNone = (command?.positional ?? []).length === 0
  return takesNone && !name.includes(' ') && next?.startsWith('-') === false
}
