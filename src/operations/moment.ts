// A time as people write it: a date, an ISO time, or how long ago.
import { RockpoolError } from '../domain/errors.ts'

const spans: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

export function parseTime(text: string, now: number): number {
  const ago = /^(\d{1,6})([mhdw])$/.exec(text.trim())
  if (ago) return now - Number(ago[1]) * spans[ago[2]!]!
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw new RockpoolError('input-invalid', `${JSON.stringify(text)} is not a time.`, {
    hint: 'Write 2026-11-01, 2026-11-01T08:00:00Z, or how long ago: 30m, 12h, 7d, 4w.',
  })
}
