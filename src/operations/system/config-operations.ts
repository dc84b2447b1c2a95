// The configuration: shows it, and reads and changes single values. Comments and format of the file stay.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { isRecord } from '../../domain/json.ts'
import { editConfigText, notChanged } from '../../store/config-edit.ts'
import { checkConfigText, loadConfig, parseConfig } from '../../store/config-file.ts'
import { fixedAtStart } from '../../store/config-reload.ts'
import { setInText } from '../../store/config-text.ts'
import { operation } from '../operation.ts'

const showConfig = operation({
  name: 'config.show',
  description: 'Show the configuration, and where each value comes from.',
  input: z.strictObject({
    key: z.string().optional().describe('Only this key and what is below it: session.reset.'),
    origin: z.boolean().default(false).describe('Show for each value whether the file sets it.'),
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
      origins: input.origin ? originsOf(shown, at(written, path), path) : undefined,
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
  return path.reduce(
    (inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  )
}

interface Origin {
  value: unknown
  origin: 'file' | 'default'
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

/** Masks values whose names look like secrets, at any depth. */
function withoutSecrets(value: unknown, name = ''): unknown {
  if (typeof value === 'string' && /token|secret|password|apikey/i.test(name)) return '[redacted]'
  if (Array.isArray(value)) return value.map((inner) => withoutSecrets(inner, name))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner, key)]))
}

const variableNames = [
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

/** The variables that are set, secrets masked. */
function namedVariables(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const set = variableNames.filter((name) => variables[name] !== undefined && variables[name] !== '')
  return Object.fromEntries(
    set.map((name) => [name, /TOKEN|KEY|DATABASE_URL/.test(name) ? '[redacted]' : variables[name]!]),
  )
}

const key = z
  .string()
  .regex(/^[^.]+(\.[^.]+)*$/, 'Write it with dots: coding.maxSessions.')
  .refine((text) => !text.split('.').includes('__proto__'), 'No key is called __proto__.')
  .describe('The key, with dots: coding.maxSessions. docs/config.md lists every key.')

const getValue = operation({
  name: 'config.get',
  description: 'Print one value of the configuration; secrets are masked.',
  input: z.strictObject({ key }),
  output: z.object({ key: z.string(), value: z.unknown(), origin: z.enum(['file', 'default']) }),
  scope: 'read',
  operatorOnly: true,
  command: { positional: ['key'], examples: ['rockpool config get coding.maxSessions'] },
  async run(app, input) {
    const { config, written } = await loadConfig(app.environment)
    const path = input.key.split('.')
    const value = at(config, path)
    if (value === undefined) throw nothingAt(input.key)
    const isWritten = at(written, path) !== undefined
    return {
      key: input.key,
      value: withoutSecrets(value, path.at(-1)),
      origin: isWritten ? ('file' as const) : ('default' as const),
    }
  },
})

const setValue = operation({
  name: 'config.set',
  description: 'Set one value of the configuration file; its comments stay, and an invalid value is refused.',
  input: z.strictObject({
    key,
    value: z.string().optional().describe('The value: JSON, or a text without quotes.'),
    unset: z.boolean().default(false).describe('Remove the value from the file, so that the default holds.'),
  }),
  output: z.object({
    file: z.string(),
    key: z.string(),
    value: z.unknown().describe('Absent if the value was removed.'),
    previous: z.unknown().describe('The value that the file had; absent if it had none.'),
    needsRestart: z.boolean().describe('A running gateway uses the value only after a restart.'),
  }),
  scope: 'admin',
  changesState: true,
  command: {
    positional: ['key', 'value'],
    examples: [
      'rockpool config set coding.maxSessions 10',
      'rockpool config set agents.defaults.model opus',
      'rockpool config set coding.maxSessions --unset',
    ],
  },
  async run(app, input) {
    if (input.unset === (input.value !== undefined)) {
      throw new RockpoolError('usage', 'Give a value, or --unset.', {
        hint: 'Like this: rockpool config set coding.maxSessions 10',
      })
    }
    const { configFile: file } = app.environment
    const path = input.key.split('.')
    let previous: unknown
    let value: unknown
    await editConfigText(file, async (text) => {
      previous = at(parseConfig(text, file), path)
      const changed = await validChange(text, path, input.value, file)
      value = at(parseConfig(changed, file), path)
      return changed
    })
    const name = path.at(-1)
    const needsRestart = fixedAtStart.some((fixed) => `${input.key}.`.startsWith(`${fixed}.`))
    return {
      file,
      key: input.key,
      value: withoutSecrets(value, name),
      previous: withoutSecrets(previous, name),
      needsRestart,
    }
  },
})

/** `5` is a number where the schema takes one, else a text. Throws if neither is valid. */
async function validChange(
  text: string,
  path: string[],
  given: string | undefined,
  file: string,
): Promise<string> {
  // If it is not JSON, only the text itself is tried.
  const values =
    given === undefined ? [undefined] : [...attempt(() => [JSON.parse(given) as unknown], []), given]
  let failure: unknown
  for (const value of values) {
    const changed = setInText(text, path, value)
    try {
      await checkConfigText(changed, file)
    } catch (error) {
      failure ??= error
      continue
    }
    if (isDeepStrictEqual(at(parseConfig(changed, file), path), value)) return changed
  }
  throw notChanged(failure)
}

export const operations = [showConfig, getValue, setValue]
