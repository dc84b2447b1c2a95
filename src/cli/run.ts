// The command line, from the arguments to the exit code: find the command, parse its options, perform it, print the output.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { CommandShape, Operation } from '../operations/operation.ts'
import type { OutputOf } from '../rpc/client.ts'
import type { OperationClient } from './call-operation.ts'
import { findCommand } from './commands.ts'
import { pageOf, type Host, type LocalCommand, type Terminal } from './host.ts'
import { parseCommand, type CommandDefinition, type ParsedCommand } from './parse-options.ts'
import type { Page } from './print.ts'

/** Runs one command line; resolves to the exit code. Errors are printed here, as text or as JSON. */
export async function run(args: readonly string[], host: Host): Promise<number> {
  const json = wantsJson(args)
  const rest = withoutColorOption(args)
  const shown = rest.length < args.length ? { ...host, terminal: withoutColor(host.terminal) } : host
  try {
    return await runCommand(globalOptionsLast(rest), shown, json)
  } catch (error) {
    return await reportError(asRockpoolError(error), shown, json)
  }
}

/** `--no-color` may be anywhere before `--`. */
function withoutColorOption(args: readonly string[]): string[] {
  const end = args.indexOf('--')
  return args.filter((arg, index) => arg !== '--no-color' || (end >= 0 && index > end))
}

/** A copy would open stdin, which most commands do not use. */
function withoutColor(terminal: Terminal): Terminal {
  return Object.create(terminal, { color: { value: false } }) as Terminal
}

async function runCommand(args: string[], host: Host, json: boolean): Promise<number> {
  if (['--version', '-V', '-v', 'version'].includes(args[0] ?? '')) {
    host.terminal.out(json ? `${JSON.stringify({ version: host.version })}\n` : `${host.version}\n`)
    return 0
  }
  const found = await findCommand(args)
  if (!found) return (await import('./help.ts')).helpOrUnknown(args, host)
  const isLocal = found.kind === 'local'
  const definition: CommandDefinition = isLocal ? found.command : found.operation
  const parsed = parseCommand(definition, found.words, found.rest, isLocal ? {} : found.given)
  if (parsed.help) return (await import('./command-help.ts')).printCommandHelp(definition, found.words, host)
  if (isLocal) return runLocalCommand(found.command, parsed, host, json)
  parsed.input = withAbsolutePaths(found.operation.command, parsed.input, host.cwd)
  return performCommand(found.operation, parsed, host, json)
}

async function runLocalCommand(
  command: LocalCommand,
  { input }: ParsedCommand,
  host: Host,
  json: boolean,
): Promise<number> {
  const { checkInput } = await import('../operations/perform-operation.ts')
  const output = await command.run(host, checkInput(command, input), json)
  if (output === undefined) return 0
  if (json || !command.print) await print(command.name, output, host, json)
  else host.terminal.out(`${command.print(output, pageOf(host))}\n`)
  return 0
}

/** The gateway has another current directory, so paths are made absolute here. */
function withAbsolutePaths(
  command: CommandShape | undefined,
  input: Record<string, unknown>,
  cwd: string,
): Record<string, unknown> {
  const { paths = [] } = command ?? {}
  const { currentDirectory } = command ?? {}
  const here = typeof currentDirectory === 'function' ? currentDirectory(input) : currentDirectory
  const absolute = here === undefined ? { ...input } : { [here]: cwd, ...input }
  for (const field of paths) {
    const typed = absolute[field]
    if (typeof typed === 'string' && isPath(typed, cwd)) absolute[field] = resolve(cwd, typed)
  }
  return absolute
}

/** A single word that is not a file here may be the name of a repository in the configuration. */
function isPath(typed: string, cwd: string): boolean {
  if (/^https?:\/\//i.test(typed)) return false
  return /[/\\]|^\.+$/.test(typed) || existsSync(resolve(cwd, typed))
}

/** `--json` may be anywhere before `--`. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).includes('--json')
}

/** `rockpool --json sessions` is `rockpool sessions --json`. */
function globalOptionsLast(args: readonly string[]): string[] {
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
  { input, follow, yes }: ParsedCommand,
  host: Host,
  json: boolean,
): Promise<number> {
  const { openClient } = await import('./call-operation.ts')
  if (operation.command?.startsBackgroundWork?.(input)) {
    const { ensureGateway } = await import('./gateway-commands.ts')
    await ensureGateway(host, () =>
      operation.command?.checkBeforeStart?.(input, {
        environment: host.environment,
        openApp: () => host.openApp(),
      }),
    )
  }
  const client = await openClient(host)
  const call: OperationCall = { operation, input, client, host, json }
  const stopAsking = await answerWhileWaiting(call)
  try {
    if (operation.destructive && !yes) {
      if (host.terminal.canAsk) await confirm(operation, input, client)
      else checkNamed(operation, input)
    }
    const output = await callOperation(call)
    stopAsking()
    await print(operation.name, output, host, json, { following: follow, input })
    if (follow) await followOutput(call, output)
    return operation.command?.isFailure?.(output as Record<string, unknown>) ? 1 : 0
  } finally {
    stopAsking()
    const notice = await client.close(host.terminal.isInteractive && !json)
    if (notice !== undefined) {
      const { prose } = await import('./print.ts')
      host.terminal.err(`\n${prose(notice, pageOf(host))}\n`)
    }
  }
}

/** One operation that a command performs, with the input as it was typed. */
interface OperationCall {
  operation: Operation
  input: Record<string, unknown>
  client: OperationClient
  host: Host
  json: boolean
}

/** A person looks at a screen or two, so a list without options is short for a person and complete for a program. */
function askedInput({ operation: { withoutOptions }, input, json }: OperationCall): Record<string, unknown> {
  if (!withoutOptions || Object.keys(input).length > 0) return input
  return json ? withoutOptions.program : withoutOptions.person
}

/** Calls an operation. Without an id, `approvals.answer` shows each open request first, so nothing is answered by accident. */
async function callOperation(call: OperationCall): Promise<unknown> {
  const { client, host, json } = call
  const { name } = call.operation
  const input = askedInput(call)
  const isUnnamed = name === 'approvals.answer' && !input['id']
  if (!isUnnamed) return client.callByName(name, input)
  return (await import('./answer-request.ts')).answerRequests(client, host, input, json)
}

/** With `--wait`, the terminal shows what the session does and answers what it asks. Returns a function that ends this. */
async function answerWhileWaiting({
  operation,
  input,
  client,
  host,
  json,
}: OperationCall): Promise<() => void> {
  const { wait, prompt } = input
  if (wait !== true || !operation.name.startsWith('coding.')) return () => {}
  const { waitWithProgress } = await import('./wait-progress.ts')
  return waitWithProgress(client, host, { prompt, json })
}

/** Asks before something is removed; throws if the answer is no. A missing target is reported by the operation itself. */
export async function confirm(
  operation: Operation,
  input: Record<string, unknown>,
  client: Pick<OperationClient, 'callByName'>,
): Promise<void> {
  const lookup = operation.command?.confirmIfFound?.(input)
  const found =
    lookup && ((await client.callByName(lookup.name, lookup.input ?? {})) as Record<string, unknown>)
  if (found && lookup.isFound?.(found) === false) return
  const prompts = await import('@clack/prompts')
  const steps = (found && lookup.steps?.(found)) ?? []
  const target = Object.values(input).filter((value) => typeof value === 'string')
  const about = `${target.length > 0 ? `${target.join(' ')}: ` : ''}${operation.description} Are you sure?`
  const message = steps.length > 0 ? `${steps.join('\n')}\nDo it?` : about
  if ((await prompts.confirm({ message, initialValue: false })) === true) return
  throw new RockpoolError('refused', `${operation.name} was not confirmed; nothing changed.`)
}

function checkNamed({ name, command }: Operation, input: Record<string, unknown>): void {
  const field = command?.namedInScripts
  if (field === undefined || input[field] !== undefined) return
  throw new RockpoolError(
    'usage',
    `${name.replace('.', ' ')} needs <${field}> or --yes without a terminal.`,
    {
      hint: `\`rockpool ${name.replace('.', ' ')} --help\` shows what it takes.`,
    },
  )
}

/** Polls for new output until the command is interrupted. */
async function followOutput(call: OperationCall, output: unknown): Promise<void> {
  const { operation, client, host, json } = call
  if (operation.name === 'coding.output' && !json) {
    const { followSession } = await import('./follow-output.ts')
    return followSession(client, host, output as OutputOf<'coding.output'>)
  }
  let { input } = call
  for (let last = output; ;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    input = operation.command!.nextInput!(input, last as Record<string, unknown>)
    last = await client.callByName(operation.name, input)
    await print(operation.name, last, host, json, { following: true })
  }
}

async function print(
  name: string,
  output: unknown,
  host: Host,
  json: boolean,
  { following = false, input = {} }: Pick<Page, 'following' | 'input'> = {},
): Promise<void> {
  const { terminal } = host
  if (json) {
    const { jsonText } = await import('./json-text.ts')
    const { jsonPieces } = await import('../rpc/json-pieces.ts')
    if (terminal.isInteractive && !following) terminal.out(jsonText(output, 2))
    else for (const piece of jsonPieces(output, jsonText)) terminal.out(piece)
    terminal.out('\n')
    return
  }
  const { findPrinter } = await import('./printers.ts')
  const print = await findPrinter(name)
  const text = print(output, { ...pageOf(host), following, input })
  if (text !== '') terminal.out(`${text}\n`)
}

async function reportError(error: RockpoolError, host: Host, json: boolean): Promise<number> {
  const { terminal } = host
  if (json) {
    const { jsonText } = await import('./json-text.ts')
    terminal.out(`${jsonText({ error: error.report() })}\n`)
  } else {
    const { prose, styled } = await import('./print.ts')
    const page = pageOf(host)
    const text = prose(`Error: ${error.message}`, page)
    terminal.err(`${text.replace('Error:', () => styled(page, 'red', 'Error:'))}\n`)
    if (error.hint) terminal.err(`${prose(error.hint, page)}\n`)
    if (error.code === 'internal' && error.cause instanceof Error) terminal.err(`${error.cause.stack}\n`)
  }
  return error.exitCode
}
