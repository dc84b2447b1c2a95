// The command line, from the words to the exit code: find the command, read its options, ask, print.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { asRockpoolError } from '../domain/errors.ts'
import type { RockpoolError } from '../domain/errors.ts'
import type { CommandShape, Operation } from '../operations/operation.ts'
import type { Asker } from './call-operation.ts'
import { findCommand } from './find-command.ts'
import type { Host } from './local-command.ts'
import { parseTyped } from './parse-options.ts'
import type { Typeable, Typed } from './parse-options.ts'

/** Runs one command line; resolves to the exit code. Errors are printed here, as text or as JSON. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const json = wantsJson(args)
  try {
    return await runCommand(globalsLast(args), host, json)
  } catch (error) {
    return await reportError(asRockpoolError(error), host, json)
  }
}

async function runCommand(args: string[], host: Host, json: boolean): Promise<number> {
  if (['--version', '-V', '-v', 'version'].includes(args[0] ?? '')) {
    host.terminal.out(json ? `${JSON.stringify({ version: host.version })}\n` : `${host.version}\n`)
    return 0
  }
  const found = await findCommand(args)
  if (!found) return (await import('./help.ts')).helpOrUnknown(args, host)
  const typeable: Typeable = found.kind === 'local' ? found.command : found.operation
  const given = found.kind === 'local' ? {} : found.given
  const typed = parseTyped(typeable, found.words, found.rest, given)
  if (typed.help) return (await import('./command-help.ts')).printCommandHelp(typeable, found.words, host)
  if (found.kind === 'local') {
    const { checkInput } = await import('../operations/perform.ts')
    const output = await found.command.run(host, checkInput(found.command, typed.input), json)
    if (output !== undefined) await print(found.command.name, output, host, json)
    return 0
  }
  typed.input = withPaths(found.operation.command, typed.input, host.cwd)
  return performCommand(found.operation, typed, host, json)
}

/** The gateway has a current directory of its own: paths are settled here. */
function withPaths(
  command: CommandShape | undefined,
  input: Record<string, unknown>,
  cwd: string,
): Record<string, unknown> {
  const { paths = [] } = command ?? {}
  const here =
    typeof command?.currentDirectory === 'function'
      ? command.currentDirectory(input)
      : command?.currentDirectory
  const settled = here === undefined ? { ...input } : { [here]: cwd, ...input }
  for (const field of paths) {
    const typed = settled[field]
    if (typeof typed === 'string' && isPath(typed, cwd)) settled[field] = resolve(cwd, typed)
  }
  return settled
}

/** A bare word that is nothing here may be a name that the configuration knows. */
function isPath(typed: string, cwd: string): boolean {
  if (/^https?:\/\//i.test(typed)) return false
  return /[/\\]|^\.+$/.test(typed) || existsSync(resolve(cwd, typed))
}

/** `--json` may stand anywhere before `--`. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).includes('--json')
}

/** `rockpool --json sessions` is `rockpool sessions --json`. */
function globalsLast(args: readonly string[]): string[] {
  const first = args.findIndex((arg) => arg !== '--json')
  const last = first <= 0 ? [...args] : [...args.slice(first), ...args.slice(0, first)]
  return helpLast(last)
}

/** `rockpool help cc list` and `rockpool cc --help list` are `rockpool cc list --help`. */
function helpLast(args: string[]): string[] {
  const at = args.findIndex((arg) => arg.startsWith('-'))
  if (args[0] === 'help') return [...args.slice(1), '--help']
  const isHelp = at >= 0 && (args[at] === '--help' || args[at] === '-h')
  return isHelp ? [...args.toSpliced(at, 1), args[at]!] : args
}

async function performCommand(
  operation: Operation,
  typed: Typed,
  host: Host,
  json: boolean,
): Promise<number> {
  const { openAsker } = await import('./call-operation.ts')
  if (operation.command?.startsBackgroundWork?.(typed.input)) {
    await (await import('./background-gateway.ts')).ensureGateway(host)
  }
  const asker = await openAsker(host)
  const waiting = await whileWaiting(operation, typed.input, { asker, host, json })
  try {
    if (operation.destructive && !typed.yes && host.terminal.canAsk) {
      await (await import('./confirm.ts')).confirm(operation, typed.input, asker)
    }
    const output = await asker.ask(operation, typed.input)
    waiting?.stop()
    await print(operation.name, output, host, json, typed.follow, typed.input)
    if (typed.follow) await follow(operation, typed.input, output, asker, host, json)
    return operation.command?.isFailure?.(output as Record<string, unknown>) ? 1 : 0
  } finally {
    waiting?.stop()
    await asker.close()
  }
}

/** A command that stays until a session is done answers for it meanwhile. */
async function whileWaiting(
  operation: Operation,
  input: Record<string, unknown>,
  around: { asker: Asker; host: Host; json: boolean },
): Promise<{ stop(): void } | undefined> {
  if (input['wait'] !== true || !operation.name.startsWith('coding.')) return undefined
  const { askWhileWaiting } = await import('./ask-while-waiting.ts')
  const prompt = input['prompt']
  return askWhileWaiting(around.asker, around.host, { prompt, json: around.json })
}

/** Asks again and again for what came since, until the command is interrupted. */
async function follow(
  operation: Operation,
  input: Record<string, unknown>,
  output: unknown,
  asker: Asker,
  host: Host,
  json: boolean,
): Promise<void> {
  for (let last = output; ;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    input = operation.command!.nextInput!(input, last as Record<string, unknown>)
    last = await asker.ask(operation, input)
    await print(operation.name, last, host, json, true)
  }
}

async function print(
  name: string,
  output: unknown,
  host: Host,
  json: boolean,
  following = false,
  input: Record<string, unknown> = {},
): Promise<void> {
  const { terminal } = host
  if (json) {
    const { jsonRuns, jsonText } = await import('./json-text.ts')
    if (terminal.isInteractive && !following) terminal.out(jsonText(output, 2))
    else for (const run of jsonRuns(output)) terminal.out(run)
    terminal.out('\n')
    return
  }
  const { findPrinter } = await import('./printers.ts')
  const print = await findPrinter(name)
  // Each printer knows its own operation's answer; the registry cannot.
  const { width, color, isInteractive: interactive } = terminal
  const page = { width, color, interactive, following, now: host.now(), input }
  const text = print(output as never, page)
  if (text !== '') terminal.out(`${text}\n`)
}

async function reportError(error: RockpoolError, host: Host, json: boolean): Promise<number> {
  const { terminal } = host
  if (json) {
    const { jsonText } = await import('./json-text.ts')
    terminal.out(`${jsonText({ error: error.report() })}\n`)
  } else {
    const { prose, styled } = await import('./print.ts')
    const { width, color, isInteractive: interactive } = terminal
    const page = { width, color, interactive, now: 0 }
    const text = prose(`Error: ${error.message}`, page)
    terminal.err(`${text.replace('Error:', () => styled(page, 'red', 'Error:'))}\n`)
    if (error.hint) terminal.err(`${prose(error.hint, page)}\n`)
    if (error.code === 'internal' && error.cause instanceof Error) terminal.err(`${error.cause.stack}\n`)
  }
  return error.exitCode
}
