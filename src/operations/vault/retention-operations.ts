// How long Claude Code itself keeps sessions, what it will delete soon, and changing that in its settings file.
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { configDirsOf } from '../../discovery/list-files.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { changeRetention, deletedSoon, planRetention, readRetention } from '../../vault/retention.ts'
import type { App } from '../app.ts'
import { flag } from '../input-fields.ts'
import { operation } from '../operation.ts'

export const retention = z.object({
  configDir: z.string(),
  settingsFile: z.string(),
  days: z.number().describe('Claude Code deletes sessions that were not changed for this many days.'),
  isDefault: z.boolean(),
  problem: z.string().optional(),
  deletedSoon: z.number().describe('Sessions that Claude Code may delete within seven days.'),
  keptOfThem: z.number().describe('How many of them the vault has.'),
})

const setRetention = operation({
  name: 'vault.retention',
  description: 'Show how long Claude Code keeps sessions, or change it in its settings file.',
  input: z.strictObject({
    days: z.int().min(1).max(36_500).optional().describe('The new number of days; at least 1.'),
    configDir: z.string().optional().describe("Claude's config directory, if there are several."),
    apply: flag('Write the settings file. Without this, the change is only shown.'),
  }),
  output: z.object({
    retention: z.array(retention),
    change: z.object({ settingsFile: z.string(), before: z.string(), after: z.string() }).optional(),
    applied: z.boolean(),
  }),
  scope: 'admin',
  changesState: true,
  heavyParts: ['discovery'],
  command: {
    positional: ['days'],
    paths: ['configDir'],
    examples: [
      'rockpool vault retention',
      'rockpool vault retention 365',
      'rockpool vault retention 365 --apply',
    ],
  },
  async run(app, { days, configDir, apply }) {
    if (days === undefined) return { retention: await retentionOf(app), applied: false }
    const dirs = claudeDirs(app)
    const dir = configDir ?? (dirs.length === 1 ? dirs[0] : undefined)
    if (dir === undefined || !dirs.includes(dir))
      throw new RockpoolError(
        'ambiguous',
        `Which of Claude's config directories: ${dirs.join(', ') || 'there is none'}?`,
        {
          hint: 'Name one with --config-dir.',
        },
      )
    const change = planRetention(readRetention(dir), days)
    if (apply) await changeRetention(change)
    return { retention: await retentionOf(app), change, applied: apply }
  },
})

/** For each config directory of Claude's that exists. */
export async function retentionOf(app: App): Promise<Array<z.infer<typeof retention>>> {
  const kept = new Set(
    existsSync(app.paths.vault)
      ? (await (await app.vault()).sessions()).map(({ sessionId }) => sessionId)
      : [],
  )
  const transcripts = await app.discovery().transcripts()
  return claudeDirs(app).map((configDir) => {
    const found = readRetention(configDir)
    const soon = new Set(deletedSoon(found, transcripts, app.clock.now()).map(({ sessionId }) => sessionId))
    return { ...found, deletedSoon: soon.size, keptOfThem: [...soon].filter((id) => kept.has(id)).length }
  })
}

export function claudeDirs({ environment, config }: App): string[] {
  return configDirsOf({ ...environment, discovery: config.discovery }).filter((dir) => existsSync(dir))
}

export const operations = [setRetention]
