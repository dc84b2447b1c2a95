// logs: what the gateway wrote, newest last.
import { join } from 'node:path'
import { z } from 'zod'
import { readLog } from '../../store/log-file.ts'
import { operation } from '../operation.ts'

const names: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'error' }
const order = ['debug', 'info', 'warn', 'error']

export const showLogs = operation({
  name: 'logs',
  description: "Show the gateway's log.",
  input: z.strictObject({
    limit: z.int().min(1).max(5000).default(200).describe('How many lines.'),
    level: z
      .enum(['debug', 'info', 'warn', 'error'])
      .default('info')
      .describe('Only lines of this weight and above.'),
    cursor: z.string().max(100).optional().describe('Only what came after this mark of an earlier answer.'),
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
      .filter((line) => order.indexOf(line.level) >= order.indexOf(input.level))
    return { file, cursor: page.cursor, lines }
  },
})

function parseLine(text: string): { level: string; time: string; message: string; [field: string]: unknown } {
  try {
    const { level, time, msg, ...rest } = JSON.parse(text) as { level: number; time: string; msg: string }
    return { level: names[level] ?? 'info', time, message: msg, ...rest }
  } catch {
    // A line of another program: shown unchanged.
    return { level: 'info', time: '', message: text }
  }
}
