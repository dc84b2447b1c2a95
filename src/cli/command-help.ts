// `rockpool <command> --help`: what it does, takes and looks like in use.
import { fieldsOf } from '../operations/fields.ts'
import type { Field } from '../operations/fields.ts'
import { commandsBelow, onShelves } from './help.ts'
import type { Host } from './local-command.ts'
import { pad, wrap } from './print.ts'
import { positionalFields } from './parse-options.ts'
import type { Typeable } from './parse-options.ts'

export async function printCommandHelp(typeable: Typeable, words: string, host: Host): Promise<number> {
  const { implied = [] } = typeable.command ?? {}
  const fields = fieldsOf(typeable).filter(({ name }) => !implied.includes(name))
  const positional = positionalFields(typeable, fields)
  const { shortFlags = {} } = typeable.command ?? {}
  // An argument that has a letter, too, is given by it as often: `agent -m`.
  const options = fields.filter(
    (field) => !positional.includes(field) || shortFlags[field.name] !== undefined,
  )
  const usage = [
    'Usage: rockpool',
    words,
    ...positional.map((field) => argumentUsage(field, typeable)),
    '[options]',
  ].join(' ')
  const { width, color } = host.terminal
  const parts = [usage, wrap(typeable.description, width).join('\n')]
  const below = commandsBelow(words, await host.catalog())
  if (below.length > 0) parts.push(onShelves(words, below, { width, color, now: 0 }))
  if (positional.length > 0)
    parts.push(
      section(
        'Arguments',
        positional.map((f) => [f.name, explain(f)]),
        width,
      ),
    )
  parts.push(
    section('Options', [...options.map((field) => optionLine(field, typeable)), ...common(typeable)], width),
  )
  const examples = typeable.command?.examples ?? []
  if (examples.length > 0) parts.push(`Examples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`)
  host.terminal.out(`${parts.join('\n\n')}\n`)
  return 0
}

function argumentUsage(field: Field, { command }: Typeable): string {
  const takesMore = command?.joinsRest === true && field.name === command.positional?.at(-1)
  const name = field.kind === 'list' || takesMore ? `${field.name}...` : field.name
  return field.required ? `<${name}>` : `[${name}]`
}

function optionLine(field: Field, typeable: Typeable): [string, string] {
  const short = typeable.command?.shortFlags?.[field.name]
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
    field.kind === 'list' ? 'Can be given again.' : '',
    field.nullable ? 'An empty text clears it.' : '',
    defaultOf(field),
  ]
  return [field.description, ...notes].filter((note) => note !== '').join(' ')
}

/** `--no-model` says what it does, not what happens without it. */
function turnedOff(description: string): string {
  return `Do not ${description[0]!.toLowerCase()}${description.slice(1)}`
}

function defaultOf({ default: value }: Field): string {
  const shown = Array.isArray(value) ? value.join(', ') : value
  if ((typeof shown !== 'string' && typeof shown !== 'number') || shown === '') return ''
  return `Default: ${String(shown).replace(/\.$/, '')}.`
}

function common(typeable: Typeable): Array<[string, string]> {
  return [
    ...(typeable.command?.nextInput ? [['-f, --follow', 'Go on as more comes.'] as [string, string]] : []),
    ...(typeable.destructive ? [['-y, --yes', 'Do not ask first.'] as [string, string]] : []),
    ['--json', 'Print one JSON document.'],
    ['-h, --help', 'Show this.'],
  ]
}

function section(title: string, lines: Array<[string, string]>, width: number): string {
  const column = Math.min(32, Math.max(...lines.map(([name]) => name.length)))
  const text = lines.map(([name, says]) => {
    const wrapped = wrap(says, Math.max(30, width - column - 4)).join(`\n${' '.repeat(column + 4)}`)
    return name.length > column
      ? `  ${name}\n${' '.repeat(column + 4)}${wrapped}`
      : `  ${pad(name, column)}  ${wrapped}`
  })
  return `${title}:\n${text.map((line) => line.trimEnd()).join('\n')}`
}
