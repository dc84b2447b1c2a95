// Makes docs/config.md from the schema, so that the page and the program cannot differ. `--write` writes it; a test
// compares.
import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { fixedAtStart } from '../src/store/config-reload.ts'
import { configSchema } from '../src/domain/config.ts'
import { examples, meaningOf } from './config-meanings.ts'

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  default?: unknown
}

export function configPage(): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const defaults = configSchema.parse({}) as Record<string, unknown>
  const sections = Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const rows = rowsOf(name, part, defaults[name])
    const table = ['| key | meaning | value | default |', '|---|---|---|---|', ...rows]
    return [`## ${name}`, '', ...table, '', ...exampleOf(name), ''].join('\n')
  })
  return [intro, ...sections].join('\n')
}

function exampleOf(section: string): string[] {
  const example = configSchema.parse(examples[section]) && examples[section]
  return ['```json', JSON.stringify(example, null, 2), '```']
}

const intro = `# Configuration

One file, \`rockpool.json\` in the state directory (\`~/.rockpool\`, or \`ROCKPOOL_STATE_DIR\`); \`ROCKPOOL_CONFIG\` names another.
Comments and trailing commas are allowed. Every key has a default, so an empty file is a good one. An unknown key or a wrong
value is an error that names the file and the key. \`rockpool config show --origin\` shows what is in force and where each value
comes from.

The running gateway applies a changed file at once. These keys need a restart, and the log names them: ${restartKeys()}, and the
intervals of heartbeats.

Environment: \`ROCKPOOL_STATE_DIR\`, \`ROCKPOOL_CONFIG\`, \`ROCKPOOL_GATEWAY_URL\`, \`ROCKPOOL_GATEWAY_TOKEN\`,
\`ROCKPOOL_DATABASE_URL\`, \`CLAUDE_CONFIG_DIR\`, \`OPENCLAW_STATE_DIR\` (read; \`rockpool openclaw install\` writes there), \`ANTHROPIC_BASE_URL\`,
\`ANTHROPIC_API_KEY\`, \`ANTHROPIC_AUTH_TOKEN\`, \`CLAUDE_CODE_OAUTH_TOKEN\`, \`TELEGRAM_BOT_TOKEN\`, \`DISCORD_BOT_TOKEN\`, \`NO_COLOR\`.
`

function restartKeys(): string {
  return fixedAtStart.map((key) => `\`${key}\``).join(', ')
}

function rowsOf(path: string, schema: Schema, value: unknown): string[] {
  if (schema.properties && Object.keys(schema.properties).length > 0) {
    const values = (value ?? {}) as Record<string, unknown>
    return Object.entries(schema.properties).flatMap(([name, part]) =>
      rowsOf(`${path}.${name}`, part, values[name]),
    )
  }
  const items = schema.items?.properties
  const inner = items
    ? Object.entries(items).flatMap(([name, part]) => rowsOf(`${path}[].${name}`, part, undefined))
    : []
  const shown = value === undefined ? '' : `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``
  return [`| \`${path}\` | ${meaningOf(path)} | ${typeOf(schema)} | ${shown} |`, ...inner]
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((choice) => `\`${String(choice)}\``).join(', ')
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'values'}`
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `names to ${typeOf(schema.additionalProperties)}`
  }
  return String(schema.type ?? 'any')
}

if (process.argv.includes('--write')) writeFileSync('docs/config.md', configPage())
