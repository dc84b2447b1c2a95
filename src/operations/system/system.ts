// The state of Rockpool itself: configuration, health, log. `status` has its own file.
import { join } from 'node:path'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { isRecord } from '../../domain/json.ts'
import { loadConfig } from '../../store/config-file.ts'
import { readLog } from '../../store/log-file.ts'
import { operation } from '../operation.ts'
import { flag } from '../input-fields.ts'

const showHealth = operation({
  name: 'health',
  description: 'Show whether the gateway answers, its version and its uptime.',
  input: z.strictObject({}),
  output: z.object({
    ok: z.boolean(),
    version: z.string(),
    pid: z.number(),
    uptimeMs: z.number(),
    gateway: z.boolean().describe('Whether the gateway answered.'),
  }),
  scope: 'read',
  forHosts: 'too',
  command: { examples: ['rockpool health', 'rockpool health --json'] },
  async run(app) {
    const uptimeMs = app.clock.now() - app.startedAt
    const gateway = app.gateway !== undefined
    return { ok: true, version: app.version, pid: process.pid, uptimeMs, gateway }
  },
})

const origin = z.object({ value: z.unknown(), origin: z.enum(['file', 'default', 'environment']) })

const showConfig = operation({
  name: 'config.show',
  description: 'Show the configuration, and where each value comes from.',
  input: z.strictObject({
    key: z.string().optional().describe('Only this key and what is below it: session.reset.'),
    origin: flag('Show for each value whether the file sets it.'),
  }),
  output: z.object({
    file: z.string(),
    stateDir: z.string(),
    config: z.unknown(),
    origins: z.record(z.string(), origin).optional(),
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
    if (found === undefined)
      throw new RockpoolError('not-found', `Nothing is set under ${JSON.stringify(input.key ?? '')}.`, {
        hint: '`rockpool config show` shows all that is set; docs/config.md lists every key.',
      })
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

function at(value: unknown, path: string[]): unknown {
  return path.reduce((inner, name) => (isRecord(inner) ? inner[name] : undefined), value)
}

function originsOf(value: unknown, written: unknown, path: string[]): Record<string, z.infer<typeof origin>> {
  if (!isRecord(value) || Object.keys(value).length === 0)
    return { [path.join('.')]: { value, origin: written === undefined ? 'default' : 'file' } }
  const inner = Object.entries(value).map(([name, one]) =>
    originsOf(one, isRecord(written) ? written[name] : undefined, [...path, name]),
  )
  return Object.assign({}, ...inner)
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

const levelNames: Record<number, Level> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'error' }
const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

const showLogs = operation({
  name: 'logs',
  description: "Show the gateway's log.",
  input: z.strictObject({
    limit: z.int().min(1).max(5000).default(200).describe('How many lines.'),
    level: z.enum(levels).default('info').describe('Only lines of this level and above.'),
    cursor: z.string().max(100).optional().describe('Only lines after this mark of an earlier answer.'),
  }),
  output: z.object({
    file: z.string(),
    cursor: z.string(),
    lines: z.array(z.looseObject({ level: z.string(), time: z.string(), message: z.string() })),
  }),
  scope: 'admin',
  command: {
    examples: ['rockpool logs --follow', 'rockpool logs --level warn --limit 20'],
    nextInput: (input, output) => ({ ...input, cursor: output['cursor'] }),
  },
  async run(app, input) {
    const file = app.config.log.file ?? join(app.paths.logs, 'rockpool.log')
    const page = readLog(file, input.limit, input.cursor)
    const lines = page.lines
      .map(parseLine)
      .filter((line) => levels.indexOf(line.level) >= levels.indexOf(input.level))
    return { file, cursor: page.cursor, lines }
  },
})

function parseLine(text: string): { level: Level; time: string; message: string; [field: string]: unknown } {
  try {
    const { level, time, msg, ...rest } = JSON.parse(text) as { level: number; time: string; msg: string }
    return { level: levelNames[level] ?? 'info', time, message: msg, ...rest }
  } catch {
    // A line of another program: shown unchanged.
    return { level: 'info', time: '', message: text }
  }
}

export const operations = [showConfig, showHealth, showLogs]
