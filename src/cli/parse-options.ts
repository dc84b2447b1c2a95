// Parses the arguments of a command into the input of its operation. Options and arguments follow from the input schema.
import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import type { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { expectationOf } from '../domain/schema-issue.ts'
import { fieldsOf } from '../operations/fields.ts'
import type { Field } from '../operations/fields.ts'
import type { Operation } from '../operations/operation.ts'

/** An operation, or a command that exists only on the command line. */
export type CommandDefinition = Pick<
  Operation,
  'name' | 'description' | 'input' | 'command' | 'destructive' | 'withoutOptions'
>

export interface ParsedCommand {
  input: Record<string, unknown>
  help: boolean
  follow: boolean
  yes: boolean
}

type Options = NonNullable<ParseArgsConfig['options']>

/** How much of a wrong value an error repeats. */
const mostShown = 80

/** `words`: the command as it was typed, such as `sessions list`. `given`: input that its name implies. */
export function parseCommand(
  definition: CommandDefinition,
  words: string,
  args: readonly string[],
  given: Record<string, unknown> = {},
): ParsedCommand {
  if (definition.withoutOptions && args.every((arg) => arg === '--json'))
    return { input: given, help: false, follow: false, yes: false }
  const fields = fieldsOf(definition)
  const positional = positionalFields(definition, fields)
  const options = optionsOf(definition, fields)
  const { values, positionals } = readArguments(withValuesAlone(args, definition, fields), options, words)
  const help = values['help'] === true
  const input = help
    ? {}
    : { ...given, ...readPositionals(positional, positionals, words, definition.command?.joinsRest) }
  for (const field of fields) {
    const value = values[field.flag.slice(2)]
    if (value === undefined) continue
    if (positional.includes(field) && !help && input[field.name] !== undefined && !(field.name in given))
      throw givenTwice(field, words)
    input[field.name] = valueOf(field, field.flag, value, words)
  }
  if (!help) checkRequired(fields, positional, input, words)
  return { input, help, follow: values['follow'] === true, yes: values['yes'] === true }
}

export function positionalFields(definition: CommandDefinition, fields: Field[]): Field[] {
  return (definition.command?.positional ?? []).map((name) => fields.find((field) => field.name === name)!)
}

function optionsOf(definition: CommandDefinition, fields: Field[]): Options {
  const options: Options = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
  if (definition.command?.nextInput) options['follow'] = { type: 'boolean', short: 'f' }
  if (definition.destructive || definition.command?.acceptsYes)
    options['yes'] = { type: 'boolean', short: 'y' }
  // An argument can be given by its name, too: `system event --text …`.
  for (const field of fields) {
    const short = definition.command?.shortFlags?.[field.name]
    options[field.flag.slice(2)] = {
      type: field.kind === 'yes-no' ? 'boolean' : 'string',
      multiple: field.kind === 'list',
      // parseArgs refuses an undefined `short`.
      ...(short === undefined ? {} : { short }),
    }
  }
  return options
}

/** `--trim` without a value, or before a word that cannot be its value, gets the value in `valueAlone`. */
function withValuesAlone(args: readonly string[], { command }: CommandDefinition, fields: Field[]): string[] {
  const end = args.indexOf('--')
  return args.map((arg, index) => {
    const field = fields.find(({ flag }) => flag === arg)
    const alone = field && command?.valueAlone?.[field.name]
    if (alone === undefined || (end >= 0 && index > end)) return arg
    const next = args[index + 1]
    const isValue = next !== undefined && (field!.schema as z.ZodType).safeParse(next).success
    return isValue ? arg : `${arg}=${alone}`
  })
}

type Values = Record<string, string | boolean | Array<string | boolean> | undefined>

function readArguments(
  args: string[],
  options: Options,
  words: string,
): { values: Values; positionals: string[] } {
  try {
    const joined = withNegativeNumbers(args, options)
    return parseArgs({ args: joined, options, allowPositionals: true, allowNegative: true, strict: true })
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw usageError(error, options, words)
    throw error
  }
}

/** `-t -100123` is a value, not an option: Telegram groups have negative numbers. */
function withNegativeNumbers(args: string[], options: Options): string[] {
  const end = args.indexOf('--')
  const nameOf = (arg: string | undefined): string | undefined =>
    Object.keys(options).find(
      (name) =>
        options[name]!.type === 'string' && (arg === `--${name}` || arg === `-${options[name]!.short}`),
    )
  return args.flatMap((arg, index) => {
    if (end >= 0 && index > end) return [arg]
    const name = nameOf(arg)
    const isJoined = /^-\d+$/.test(arg) && nameOf(args[index - 1]) !== undefined
    if (isJoined) return []
    const next = args[index + 1] ?? ''
    return name !== undefined && /^-\d+$/.test(next) ? [`--${name}=${next}`] : [arg]
  })
}

function readPositionals(
  fields: Field[],
  given: string[],
  words: string,
  joinsRest = false,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  const before = joinsRest ? fields.length - 1 : given.length
  const text = given.slice(before).join(' ')
  const rest = [...given.slice(0, before), ...(given.length > before ? [text] : [])]
  for (const field of fields) {
    if (field.kind === 'list') {
      if (rest.length > 0) input[field.name] = rest.splice(0)
    } else if (rest.length > 0) input[field.name] = valueOf(field, field.name, rest.shift()!, words)
  }
  if (rest.length === 0) return input
  throw new RockpoolError('usage', `${JSON.stringify(rest[0])} is one argument too many.`, {
    hint: seeHelp(words),
  })
}

function givenTwice({ name, flag }: Field, words: string): RockpoolError {
  return new RockpoolError('usage', `${name} occurs twice, as an argument and with ${flag}.`, {
    hint: seeHelp(words),
  })
}

function checkRequired(
  fields: Field[],
  positional: Field[],
  input: Record<string, unknown>,
  words: string,
): void {
  const missing = fields.find((field) => field.required && input[field.name] === undefined)
  if (!missing) return
  const usage = positional.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`))
  const isArgument = positional.includes(missing)
  const what = isArgument ? `<${missing.name}>` : missing.flag
  const example = isArgument ? usage : [...usage, `${missing.flag} …`]
  throw new RockpoolError('usage', `Missing ${what}. Usage: rockpool ${[words, ...example].join(' ')}`, {
    hint: seeHelp(words),
  })
}

/** `name`: the flag, or the argument as the help calls it. */
function valueOf(
  field: Field,
  name: string,
  given: string | boolean | Array<string | boolean>,
  words: string,
): unknown {
  if (Array.isArray(given)) return listOf(field, name, given, words)
  if (typeof given === 'boolean') return given
  if (field.nullable && given === '') return null
  const schema = field.schema as z.ZodType
  const tried = interpretations(given).map((value) => ({ value, result: schema.safeParse(value) }))
  const fitting = tried.find(({ result }) => result.success)
  if (fitting) return fitting.value
  const why = explain(tried.map(({ result }) => result.error?.issues.flatMap(flatIssues) ?? []))
  throw new RockpoolError('input-invalid', `${name} ${JSON.stringify(shortened(given))}: ${why}.`, {
    hint: seeHelp(words),
  })
}

/** Only choices are checked here: the operation checks the rest. */
function listOf(
  field: Field,
  name: string,
  given: Array<string | boolean>,
  words: string,
): Array<string | boolean> {
  const wrong = given.find((value) => field.choices.length > 0 && !field.choices.includes(String(value)))
  if (wrong === undefined) return given
  const expected = `${field.choices.slice(0, -1).join(', ')} or ${field.choices.at(-1)!} is expected`
  throw new RockpoolError(
    'input-invalid',
    `${name} ${JSON.stringify(shortened(String(wrong)))}: ${expected}.`,
    { hint: seeHelp(words) },
  )
}

function shortened(text: string): string {
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text
}

type Issue = z.core.$ZodIssue

/** For a field that takes several types: the issues with each of them. */
function flatIssues(issue: Issue): Issue[] {
  return issue.code === 'invalid_union' ? issue.errors.flat().flatMap(flatIssues) : [issue]
}

/** Explains the interpretation with the fewest type errors: `0` is a number that is too small, not a text. */
function explain(attempts: Issue[][]): string {
  const typeErrors = (issues: Issue[]): number => issues.filter(({ code }) => code === 'invalid_type').length
  const closest = attempts.toSorted((a, b) => typeErrors(a) - typeErrors(b))[0] ?? []
  const isExpected = ' is expected'
  const texts = closest.map(expectationOf)
  if (!texts.every((text) => text.endsWith(isExpected))) return texts.join('; or ')
  return `${texts.map((text) => text.slice(0, -isExpected.length)).join(' or ')}${isExpected}`
}

/** What a typed text may mean, the simplest first. */
function interpretations(text: string): unknown[] {
  const found: unknown[] = [text]
  if (text.trim() !== '' && Number.isFinite(Number(text))) found.push(Number(text))
  if (text === 'true' || text === 'false') found.push(text === 'true')
  if (/^\s*[[{]/.test(text)) {
    try {
      found.push(JSON.parse(text))
    } catch {
      // Not JSON: the schema checks the text itself.
    }
  }
  return found
}

function usageError(error: Error, options: Options, words: string): RockpoolError {
  const message = error.message.split('. ', 1)[0]!.replace(/\.$/, '')
  const unknown = message.match(/^Unknown option '(--[^']*)'/)?.[1]
  const names = Object.keys(options).map((name) => `--${name}`)
  const near = unknown && nearest(unknown, names)
  const hint = near ? `Did you mean ${near}?` : seeHelp(words)
  return new RockpoolError('usage', `${message}.`, { hint, cause: error })
}

function seeHelp(words: string): string {
  return `\`rockpool ${words} --help\` shows what it takes.`
}

/** The name with the fewest changed letters, if that is few enough to be a typing error. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined
  for (const name of names) {
    const distance = editDistance(typed, name)
    if (!best || distance < best.distance) best = { name, distance }
  }
  return best && best.distance <= Math.max(1, Math.floor(typed.length / 3)) ? best.name : undefined
}

/** Two neighbours in the wrong order are one change. */
function editDistance(a: string, b: string): number {
  let previous: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? previous[j - 2]! + 1 : Infinity
      next.push(Math.min(replaced, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    previous = row
    row = next
  }
  return row[b.length]!
}
