// Describes the input fields of an operation for the command line, the help, the completion and the reference page.
import type { z } from 'zod'
import type { Operation } from './operation.ts'

export interface Field {
  name: string
  /** As an option: `--max-lines`. */
  flag: string
  kind: 'text' | 'number' | 'yes-no' | 'choice' | 'list' | 'json'
  required: boolean
  /** `null` is a value: it clears what is stored. */
  nullable: boolean
  choices: string[]
  description: string
  default?: unknown
  schema: z.core.$ZodType
}

export function fieldsOf({ input, command }: Pick<Operation, 'input' | 'command'>): Field[] {
  return Object.entries(input.shape).map(([name, schema]) => ({
    ...describeField(name, schema),
    flag: flagOf(command?.flags?.[name] ?? name),
  }))
}

interface Unwrapped {
  inner: z.core.$ZodType
  required: boolean
  nullable: boolean
  description: string
  default?: unknown
}

function describeField(name: string, schema: z.core.$ZodType): Omit<Field, 'flag'> {
  const { inner, ...rest } = unwrap(schema)
  const choices = choicesOf(inner)
  return { name, kind: kindOf(inner, choices), choices, schema, ...rest }
}

/** Unwraps optional, nullable, default and pipe, and remembers them. */
function unwrap(schema: z.core.$ZodType): Unwrapped {
  const found: Unwrapped = { inner: schema, required: true, nullable: false, description: '' }
  for (;;) {
    const description = (found.inner as z.ZodType).description
    if (description && found.description === '') found.description = description
    const { def } = (found.inner as z.core.$ZodTypes)._zod
    if (def.type === 'optional') found.required = false
    else if (def.type === 'nullable') found.nullable = true
    else if (def.type === 'default' || def.type === 'prefault') {
      found.required = false
      found.default = def.defaultValue
    } else if (def.type === 'pipe') {
      found.inner = def.in
      continue
    } else return found
    found.inner = def.innerType
  }
}

function kindOf(schema: z.core.$ZodType, choices: string[]): Field['kind'] {
  const { type } = (schema as z.core.$ZodTypes)._zod.def
  if (type === 'array') return 'list'
  if (choices.length > 0) return 'choice'
  if (type === 'boolean') return 'yes-no'
  if (type === 'number') return 'number'
  return type === 'object' || type === 'record' ? 'json' : 'text'
}

function choicesOf(schema: z.core.$ZodType): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'array') return choicesOf(def.element)
  if (def.type === 'enum') return Object.values(def.entries).map(String)
  return def.type === 'literal' ? def.values.map(String) : []
}

/** `maxLines` and `max_lines` are both `--max-lines`. */
function flagOf(name: string): string {
  return `--${name.replace(/_/g, '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
