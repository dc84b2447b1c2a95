// `rockpool <command> --help`: the description, arguments, options and examples of one command.
import { fieldsOf } from '../operations/fields.ts'
import type { Field } from '../operations/fields.ts'
import { commandsBelow, helpPage, inGroups } from './help.ts'

import type { Host } from './host.ts'
import { positionalFields } from './parse-options.ts'
import type { CommandDefinition } from './parse-options.ts'
import { pad, wrap } from './print.ts'

export async function printCommandHelp(
  definition: CommandDefinition,
  words: string,
  host: Host,
): Promise<number> {
  const { implied = [], shortFlags = {}, examples = [] } = definition.command ?? {}
  const fields = fieldsOf(definition).filter(({ name }) => !implied.includes(name))
  const positional = positionalFields(definition, fields)
  // An argument that has a letter is listed as an option, too: `agent -m`.
  const options = fields.filter(
    (field) => !positional.includes(field) || shortFlags[field.name] !== undefined,
  )
  const page = helpPage(host)
  const { width } = page
  const below = commandsBelow(words, await host.catalog())
  const usage = positional.map((field) => argumentUsage(field, definition))
  const parts = [
    ['Usage: rockpool', words, ...usage, '[options]'].join(' '),
    wrap(definition.description, width).join('\n'),
    below.length > 0 && inGroups(words, below, page),
    positional.length > 0 && section('Arguments', positional.map(argumentLine), width),
    section(
      'Options',
      [...options.map((field) => optionLine(field, definition)), ...common(definition)],
      width,
    ),
    examples.length > 0 && `Examples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`,
  ]
  host.terminal.out(`${parts.filter(Boolean).join('\n\n')}\n`)
  return 0
}

function argumentLine(field: Field): [string, string] {
  return [field.name, explain(field)]
}

function argumentUsage(field: Field, { command }: CommandDefinition): string {
  const takesMore = command?.joinsRest === true && field.name === command.positional?.at(-1)
  const name = field.kind === 'list' || takesMore ? `${field.name}...` : field.name
  return field.required ? `<${name}>` : `[${name}]`
}

function optionLine(field: Field, definition: CommandDefinition): [string, string] {
  const short = definition.command?.shortFlags?.[field.name]
  const isOn = field.kind === 'yes-no' && field.default === true
  const flag = isOn ? field.flag.replace('--', '--no-') : field.flag
  const value = {
    'yes-no': '',
    number: ' <n>',
    json: ' <json>',
    list: ' <value>',
    text: ' <text>',
    choice: ' <choice>',
  }
  return [
    `${short ? `-${short}, ` : ''}${flag}${value[field.kind]}`,
    isOn ? turnedOff(field.description) : explain(field),
  ]
}

function explain(field: Field): string {
  const notes = [
    field.choices.length > 0 ? `One of ${field.choices.join(', ')}.` : '',
    field.kind === 'list' ? 'Can be repeated.' : '',
    field.nullable ? 'An empty text clears it.' : '',
    defaultOf(field),
  ]
  return [field.description, ...notes].filter((note) => note !== '').join(' ')
}

/** The description of `--no-model` is the negation of the description of the field. */
function turnedOff(description: string): string {
  if (description.startsWith('No effect')) return description
  return `Do not ${description[0]!.toLowerCase()}${description.slice(1)}`
}

function defaultOf({ default: value }: Field): string {
  const shown = Array.isArray(value) ? value.join(', ') : value
  if ((typeof shown !== 'string' && typeof shown !== 'number') || shown === '') return ''
  return `Default: ${String(shown).replace(/\.$/, '')}.`
}

function common(definition: CommandDefinition): Array<[string, string]> {
  return [
    ...(definition.command?.nextInput
      ? [['-f, --follow', 'Keep printing new output.'] as [string, string]]
      : []),
    ...(definition.destructive ? [['-y, --yes', 'Do not ask for confirmation.'] as [string, string]] : []),
    ...(definition.command?.acceptsYes
      ? [['-y, --yes', 'Accepted as in other removals; this command never asks.'] as [string, string]]
      : []),
    ['--json', 'Print one JSON document.'],
    ['--no-color', 'Print without colours.'],
    ['-h, --help', 'Show this help.'],
  ]
}

function section(title: string, lines: Array<[string, string]>, width: number): string {
  const column = Math.min(32, Math.max(...lines.map(([name]) => name.length)))
  const text = lines.map(([name, text]) => {
    const wrapped = wrap(text, Math.max(30, width - column - 4)).join(`\n${' '.repeat(column + 4)}`)
    return name.length > column
      ? `  ${name}\n${' '.repeat(column + 4)}${wrapped}`
      : `  ${pad(name, column)}  ${wrapped}`
  })
  return `${title}:\n${text.map((line) => line.trimEnd()).join('\n')}`
}
