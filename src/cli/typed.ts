// From what was typed to an operation's input: options and arguments follow from the schema.
import { Command, CommanderError } from 'commander'
import type { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { fieldsOf } from '../operations/fields.ts'
import type { Field } from '../operations/fields.ts'
import type { CommandShape } from '../operations/operation.ts'

/** What can be typed: an operation, or a command of the command line alone. */
export interface Typeable {
  name: string
  says: string
  input: z.ZodObject
  command?: CommandShape
  destructive?: boolean
}

export interface Typed {
  input: Record<string, unknown>
  follow: boolean
  yes: boolean
}

export class HelpWanted extends Error {
  readonly text: string
  constructor(text: string) {
    super('help')
    this.text = text
  }
}

/** `words` is the command as it was typed: `sessions list`. Throws HelpWanted for `--help`. */
export function parseTyped(typeable: Typeable, words: string, args: readonly string[], width: number): Typed {
  const fields = fieldsOf(typeable)
  const positional = (typeable.command?.positional ?? []).map((name) => fields.find((f) => f.name === name)!)
  const shown: string[] = []
  const command = describe(typeable, words, fields, positional, width)
  command.configureOutput({ writeErr: () => {}, writeOut: (text) => shown.push(text) })
  try {
    command.parse(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    throw error.code === 'commander.helpDisplayed' ? new HelpWanted(shown.join('')) : asUsage(error, words)
  }
  const options = command.opts<Record<string, unknown>>()
  const input: Record<string, unknown> = {}
  for (const field of fields) {
    const index = positional.indexOf(field)
    const given = index >= 0 ? command.processedArgs[index] : options[optionKey(field)]
    if (given !== undefined) input[field.name] = valueOf(field, given)
  }
  return { input, follow: options['follow'] === true, yes: options['yes'] === true }
}

function describe(
  typeable: Typeable,
  words: string,
  fields: Field[],
  positional: Field[],
  width: number,
): Command {
  const command = new Command(`rockpool ${words}`)
    .description(typeable.says)
    .exitOverride()
    .configureOutput({ getOutHelpWidth: () => width })
    .configureHelp({ sortOptions: false })
  for (const field of positional) {
    const dots = field.kind === 'list' ? '...' : ''
    command.argument(field.required ? `<${field.name}${dots}>` : `[${field.name}${dots}]`, field.says)
  }
  for (const field of fields)
    if (!positional.includes(field)) addOption(command, field, typeable.command?.short)
  if (typeable.command?.follow) command.option('--follow', 'Go on as more comes.')
  if (typeable.destructive) command.option('--yes', 'Do not ask first.')
  command.option('--json', 'Print one JSON document.').helpOption('-h, --help', 'Show this.')
  const examples = typeable.command?.examples ?? []
  if (examples.length === 0) return command
  const text = `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}\n`
  return command.addHelpText('after', text)
}

function addOption(command: Command, field: Field, short: CommandShape['short'] = {}): void {
  const letter = short[field.name] ? `-${short[field.name]}, ` : ''
  const choices = field.choices.length > 0 ? ` (${field.choices.join(', ')})` : ''
  const fallback =
    field.default === undefined || field.default === false ? '' : ` [${JSON.stringify(field.default)}]`
  const says = `${field.says}${choices}${fallback}`
  if (field.kind === 'yes-no') {
    command.option(
      field.default === true ? field.flag.replace('--', '--no-') : `${letter}${field.flag}`,
      says,
    )
    return
  }
  const value =
    field.kind === 'number' ? 'n' : field.kind === 'json' ? 'json' : field.kind === 'list' ? 'value' : 'text'
  const flags = `${letter}${field.flag} <${value}>`
  if (field.kind !== 'list') command.option(flags, says)
  else
    command.option(flags, `${says} Can be given again.`, (next: string, all?: string[]) => [
      ...(all ?? []),
      next,
    ])
}

/** Commander's name for the option's value. */
function optionKey(field: Field): string {
  return field.flag.slice(2).replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function valueOf(field: Field, given: unknown): unknown {
  if (typeof given === 'boolean') return given
  if (Array.isArray(given)) return given.map((text) => (typeof text === 'string' ? text : String(text)))
  const text = String(given)
  if (field.nullable && text === '') return null
  return readings(text).find((value) => accepts(field, value)) ?? text
}

/** What a typed text may mean, the plainest first. */
function readings(text: string): unknown[] {
  const found: unknown[] = [text]
  if (text.trim() !== '' && Number.isFinite(Number(text))) found.push(Number(text))
  if (text === 'true' || text === 'false') found.push(text === 'true')
  if (/^\s*[[{]/.test(text)) {
    try {
      found.push(JSON.parse(text))
    } catch {
      // Not JSON after all: the text itself is judged at the door, with a message about the field.
    }
  }
  return found
}

function accepts(field: Field, value: unknown): boolean {
  return (field.schema as z.ZodType).safeParse(value).success
}

function asUsage(error: CommanderError, words: string): RockpoolError {
  const [message = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = rest.join(' ').match(/\(Did you mean (.*)\?\)/)?.[1]
  return new RockpoolError('usage', `${message}.`.replace(/\.\.$/, '.'), {
    hint: suggestion ? `Did you mean ${suggestion}?` : `\`rockpool ${words} --help\` shows what it takes.`,
    cause: error,
  })
}
