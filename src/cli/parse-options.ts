// From what was typed to an operation's input: options and arguments follow from the schema.
import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import type { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { fieldsOf } from '../operations/fields.ts'
import type { Field } from '../operations/fields.ts'
import type { CommandShape } from '../operations/operation.ts'
import { nearest } from './nearest.ts'

/** What can be typed: an operation, or a command of the command line alone. */
export interface Typeable {
  name: string
  description: string
  input: z.ZodObject
  command?: CommandShape
  destructive?: boolean
}

export interface Typed {
  input: Record<string, unknown>
  help: boolean
  follow: boolean
  yes: boolean
}

type Options = NonNullable<ParseArgsConfig['options']>

/** `words` is the command as it was typed: `sessions list`. `given` is what that name implies. */
export function parseTyped(
  typeable: Typeable,
  words: string,
  args: readonly string[],
  given: Record<string, unknown> = {},
): Typed {
  const fields = fieldsOf(typeable)
  const positional = positionalFields(typeable, fields)
  const options = optionsOf(typeable, fields)
  const { values, positionals } = readArguments([...args], options, words)
  const help = values['help'] === true
  const input = help
    ? {}
    : { ...given, ...readPositionals(positional, positionals, words, typeable.command?.joinsRest) }
  for (const field of fields) {
    const value = values[field.flag.slice(2)]
    if (value === undefined) continue
    if (positional.includes(field) && !help && input[field.name] !== undefined && !(field.name in given))
      throw givenTwice(field, words)
    input[field.name] = valueOf(field, field.flag, value, words)
  }
  if (!help) checkRequired(fields, input, words)
  return { input, help, follow: values['follow'] === true, yes: values['yes'] === true }
}

export function positionalFields(typeable: Typeable, fields: Field[]): Field[] {
  return (typeable.command?.positional ?? []).map((name) => fields.find((field) => field.name === name)!)
}

function optionsOf(typeable: Typeable, fields: Field[]): Options {
  const options: Options = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
  if (typeable.command?.nextInput) options['follow'] = { type: 'boolean', short: 'f' }
  if (typeable.destructive) options['yes'] = { type: 'boolean', short: 'y' }
  // An argument may be given by its name as well: `system event --text …`.
  for (const field of fields) {
    const short = typeable.command?.shortFlags?.[field.name]
    options[field.flag.slice(2)] = {
      type: field.kind === 'yes-no' ? 'boolean' : 'string',
      multiple: field.kind === 'list',
      ...(short === undefined ? {} : { short }),
    }
  }
  return options
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
    if (error instanceof Error && 'code' in error) throw asUsage(error, options, words)
    throw error
  }
}

/** `-t -100123` is the group with that number, not an option called 1: groups on Telegram are numbers below zero. */
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
  return new RockpoolError('usage', `${name} is given twice, as an argument and with ${flag}.`, {
    hint: seeHelp(words),
  })
}

function checkRequired(fields: Field[], input: Record<string, unknown>, words: string): void {
  const missing = fields.find((field) => field.required && input[field.name] === undefined)
  if (missing) throw new RockpoolError('usage', `${missing.name} is missing.`, { hint: seeHelp(words) })
}

/** `name` is what a person typed: the flag, or the argument as the help calls it. */
function valueOf(
  field: Field,
  name: string,
  given: string | boolean | Array<string | boolean>,
  words: string,
): unknown {
  if (typeof given === 'boolean' || Array.isArray(given)) return given
  if (field.nullable && given === '') return null
  const tried = readings(given).map((value) => ({ value, result: check(field, value) }))
  const fitting = tried.find(({ result }) => result.success)
  if (fitting) return fitting.value
  const why = whyNot(tried.map(({ result }) => result.error?.issues.flatMap(plainIssues) ?? []))
  throw new RockpoolError('input-invalid', `${name} ${JSON.stringify(given)}: ${why}.`, {
    hint: seeHelp(words),
  })
}

type Issue = z.core.$ZodIssue

/** Of several forms that a value may have, what is wrong with it as each of them. */
function plainIssues(issue: Issue): Issue[] {
  return issue.code === 'invalid_union' ? issue.errors.flat().flatMap(plainIssues) : [issue]
}

/** The reading that came closest says most: `0` is a number that is too small, not a text. */
function whyNot(readings: Issue[][]): string {
  const farOff = (issues: Issue[]): number => issues.filter(({ code }) => code === 'invalid_type').length
  const closest = readings.toSorted((a, b) => farOff(a) - farOff(b))[0] ?? []
  return closest.map(saidPlainly).join('; or ')
}

/** Turns a schema error into a message that says which values are accepted. */
function saidPlainly(issue: Issue): string {
  if (issue.code === 'invalid_type')
    return `a ${issue.expected === 'int' ? 'whole number' : issue.expected} is expected`
  if (issue.code === 'invalid_value')
    return `${issue.values.join(', ').replace(/, ([^,]*)$/, ' or $1')} is expected`
  if (issue.code === 'too_small') return `at least ${issue.minimum}${unitOf(issue.origin)}`
  if (issue.code === 'too_big') return `at most ${issue.maximum}${unitOf(issue.origin)}`
  return issue.message
}

function unitOf(origin: string): string {
  return origin === 'string' ? ' characters' : ''
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

function check(field: Field, value: unknown): z.ZodSafeParseResult<unknown> {
  return (field.schema as z.ZodType).safeParse(value)
}

function asUsage(error: Error, options: Options, words: string): RockpoolError {
  const message = error.message.split('. ', 1)[0]!.replace(/\.$/, '')
  const unknown = message.match(/^Unknown option '(--[^']*)'/)?.[1]
  const near =
    unknown &&
    nearest(
      unknown,
      Object.keys(options).map((name) => `--${name}`),
    )
  const hint = near ? `Did you mean ${near}?` : seeHelp(words)
  return new RockpoolError('usage', `${message}.`, { hint, cause: error })
}

function seeHelp(words: string): string {
  return `\`rockpool ${words} --help\` shows what it takes.`
}
