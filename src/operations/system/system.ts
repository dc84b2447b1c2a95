// The state of Rockpool itself: health and log. `status` and the configuration have files of their own.
import { join } from 'node:path'
import { z } from 'zod'
import { parseRecord } from '../../domain/json.ts'
import { readLog } from '../../store/log-file.ts'
import { operation } from '../operation.ts'

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
    shortFlags: { limit: 'n' },
    examples: ['rockpool logs --follow', 'rockpool logs --level warn -n 20'],
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
  const line = parseRecord(text) as { level: number; time: string; msg: string } | undefined
  // A line of another program is shown unchanged.
  if (!line) return { level: 'info', time: '', message: text }
  const { level, time, msg, ...rest } = line
  return { level: levelNames[level] ?? 'info', time, message: msg, ...rest }
}

export const operations = [showHealth, showLogs]
