// Writes src/rpc/methods.ts from the schemas of the operations, so that the compiler knows the input and output of each operation
// that the command line or the page calls through the client. The build and the checks write it anew; it is not kept in git, so
// it cannot be old.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { allOperations } from '../src/operations/all.ts'
import type { Operation } from '../src/operations/operation.ts'

type Schema = z.core.JSONSchema.BaseSchema

const file = 'src/rpc/methods.ts'

const intro = `// Every operation as it goes over the wire: what it takes and what it answers. Written by scripts/methods-file.ts.

export interface Methods {
`

export async function writeMethods(): Promise<void> {
  const operations = await allOperations()
  const text = `${intro}${operations.map(methodOf).join('')}}\n`
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
}

function methodOf({ name, description, input, output, changesState }: Operation): string {
  const taken = changesState ? input.extend({ idempotencyKey: z.string().optional() }) : input
  return `  /** ${description} */
  '${name}': {
    input: ${typeOf(z.toJSONSchema(taken, { io: 'input' }))}
    output: ${typeOf(z.toJSONSchema(output, { io: 'output' }))}
  }
`
}

function typeOf(schema: Schema | boolean): string {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const either = schema.anyOf ?? schema.oneOf
  if (either) return [...new Set(either.map(typeOf))].join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ')
  switch (schema.type) {
    case 'integer':
      return 'number'
    case 'array':
      return listOf(schema)
    case 'object':
      return objectOf(schema)
    case undefined:
      return 'unknown'
    default:
      return [schema.type].flat().join(' | ')
  }
}

function listOf({ items, prefixItems }: Schema): string {
  if (prefixItems) return `[${prefixItems.map(typeOf).join(', ')}]`
  return items === undefined || Array.isArray(items) ? 'unknown[]' : `Array<${typeOf(items)}>`
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : '?'
    return `${/^\w+$/.test(name) ? name : JSON.stringify(name)}${optional}: ${typeOf(field)}`
  })
  if (fields.length === 0) return `Record<string, ${typeOf(additionalProperties ?? true)}>`
  // Only a field of any type agrees with the fields that are named.
  if (additionalProperties) fields.push('[field: string]: unknown')
  return `{ ${fields.join('; ')} }`
}
