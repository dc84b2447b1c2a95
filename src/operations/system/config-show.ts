// config.show: every setting with its value, where it comes from, and no secret.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { loadConfig } from '../../store/config-file.ts'
import type { ConfigOrigin } from '../../store/config-file.ts'
import { operation } from '../operation.ts'

export const showConfig = operation({
  name: 'config.show',
  description: 'Show the configuration, and where each value comes from.',
  input: z.strictObject({
    key: z.string().optional().describe('Only this key and what is below it: session.reset.'),
    origin: z.boolean().default(false).describe('Say for each value whether it is written, or a default.'),
  }),
  output: z.object({
    file: z.string(),
    stateDir: z.string(),
    config: z.unknown(),
    origins: z
      .record(
        z.string(),
        z.object({ value: z.unknown(), origin: z.enum(['file', 'default', 'environment']) }),
      )
      .optional(),
    environment: z.record(z.string(), z.string()),
  }),
  scope: 'read',
  operatorOnly: true,
  command: {
    positional: ['key'],
    examples: [
      'rockpool config show',
      'rockpool config show session --origin',
      'rockpool config show --json',
    ],
  },
  async run(app, input) {
    const { config, file, written } = await loadConfig(app.environment)
    const path = input.key?.split('.') ?? []
    const found = at(config, path)
    if (found === undefined) throw nothingAt(input.key ?? '')
    const shown = withoutSecrets(found)
    return {
      file,
      stateDir: app.environment.stateDir,
      config: shown,
      ...(input.origin ? { origins: originsOf(shown, at(written, path), path) } : {}),
      environment: namedVariables(app.environment.variables),
    }
  },
})

function nothingAt(key: string): RockpoolError {
  return new RockpoolError('not-found', `Nothing is set under ${JSON.stringify(key)}.`, {
    hint: '`rockpool config show` shows all that is set; docs/config.md lists every key.',
  })
}

function at(value: unknown, path: string[]): unknown {
  return path.reduce((inner, name) => (isRecord(inner) ? inner[name] : undefined), value)
}

interface Origin {
  value: unknown
  origin: ConfigOrigin
}

function originsOf(value: unknown, written: unknown, path: string[]): Record<string, Origin> {
  if (!isRecord(value) || Object.keys(value).length === 0) {
    return { [path.join('.')]: { value, origin: written === undefined ? 'default' : 'file' } }
  }
  const inner = Object.entries(value).map(([name, one]) =>
    originsOf(one, isRecord(written) ? written[name] : undefined, [...path, name]),
  )
  return Object.assign({}, ...inner) as Record<string, Origin>
}

/** Values whose names say that they are secret, at any depth. */
function withoutSecrets(value: unknown, name = ''): unknown {
  if (typeof value === 'string' && /token|secret|password|apikey/i.test(name)) return '[redacted]'
  if (Array.isArray(value)) return value.map((inner) => withoutSecrets(inner, name))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner, key)]))
}

const known = [
  'ROCKPOOL_STATE_DIR',
  'ROCKPOOL_CONFIG',
  'ROCKPOOL_GATEWAY_URL',
  'ROCKPOOL_GATEWAY_TOKEN',
  'ROCKPOOL_DATABASE_URL',
  'CLAUDE_CONFIG_DIR',
  'OPENCLAW_STATE_DIR',
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_API_KEY',
  'NO_COLOR',
]

/** Which variables are set; secret ones only that they are. */
function namedVariables(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const set = known.filter((name) => variables[name] !== undefined && variables[name] !== '')
  return Object.fromEntries(
    set.map((name) => [name, /TOKEN|KEY|DATABASE_URL/.test(name) ? '[redacted]' : variables[name]!]),
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
