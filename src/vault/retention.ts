// How long Claude Code keeps its sessions, and what it will delete soon. Claude deletes by the modification time of the file,
// some seconds after a start, at most once a day.
import { basename, join } from 'node:path'
import type { SessionTranscript } from '../domain/discovered-session.ts'
import { RockpoolError } from '../domain/errors.ts'
import { readFileSafely, writeFileAtomically } from '../store/disk/atomic-file.ts'

const dayMs = 86_400_000
const defaultDays = 30
/** Sessions that Claude deletes within this many days are reported. */
const soonDays = 7

interface Retention {
  configDir: string
  settingsFile: string
  days: number
  /** Claude's default: no setting names the days. */
  isDefault: boolean
  /** Why the settings cannot be read; Claude ignores the whole file then. */
  problem?: string
}

export function readRetention(configDir: string): Retention {
  const settingsFile = join(configDir, 'settings.json')
  const basis = { configDir, settingsFile, days: defaultDays, isDefault: true }
  try {
    const days = readSettings(settingsFile)['cleanupPeriodDays']
    if (days === undefined) return basis
    if (typeof days === 'number' && Number.isInteger(days) && days >= 1)
      return { ...basis, days, isDefault: false }
    return {
      ...basis,
      problem: `cleanupPeriodDays is ${JSON.stringify(days)}; Claude Code ignores the whole file.`,
    }
  } catch (error) {
    return {
      ...basis,
      problem: `It cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

/** The transcripts of a config directory that Claude may delete within seven days. Those of sub-agents go with their session. */
export function deletedSoon(
  { configDir, days }: Retention,
  transcripts: readonly SessionTranscript[],
  now: number,
): SessionTranscript[] {
  const before = now - (days - soonDays) * dayMs
  return transcripts.filter(
    ({ path, sessionId, mtimeMs }) =>
      path.startsWith(`${configDir}/`) &&
      mtimeMs < before &&
      basename(path, '.jsonl').toLowerCase() === sessionId,
  )
}

interface RetentionChange {
  settingsFile: string
  before: string
  after: string
}

/** The settings file as it is and as it would be. */
export function planRetention({ settingsFile, problem }: Retention, days: number): RetentionChange {
  if (!Number.isInteger(days) || days < 1)
    throw new RockpoolError('input-invalid', `Claude Code cannot keep sessions for ${days} days.`, {
      hint: 'Use a whole number of at least 1. With 0, Claude Code ignores the whole settings file.',
    })
  if (problem?.startsWith('It cannot'))
    throw new RockpoolError('refused', `${settingsFile}: ${problem}`, { hint: 'Correct the file first.' })
  const before = readFileSafely(settingsFile)?.text ?? ''
  const settings = { ...readSettings(settingsFile), cleanupPeriodDays: days }
  return { settingsFile, before, after: `${JSON.stringify(settings, null, 2)}\n` }
}

/** Writes the planned change, unless the file was changed since the plan. */
export async function changeRetention({ settingsFile, before, after }: RetentionChange): Promise<void> {
  const refuseChanged = (): void => {
    if ((readFileSafely(settingsFile)?.text ?? '') !== before)
      throw new RockpoolError('conflict', `${settingsFile} was changed meanwhile.`, { hint: 'Try again.' })
  }
  await writeFileAtomically(settingsFile, after, { beforeCommit: refuseChanged })
}

function readSettings(path: string): Record<string, unknown> {
  const text = readFileSafely(path)?.text ?? ''
  const settings: unknown = text.trim() === '' ? {} : JSON.parse(text)
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new RockpoolError('damaged', 'it is not a JSON object.')
  return settings as Record<string, unknown>
}
