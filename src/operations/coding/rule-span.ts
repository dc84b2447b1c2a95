// How long a permission rule lasts, as people write it.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import type { Caller } from '../operation.ts'

export const lasts = z
  .string()
  .max(20)
  .optional()
  .describe(
    'How long the rule lasts: session (only there), always (in all coding sessions), or a time such as 30m, 2h, 7d.',
  )

const spanMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A time holds for all coding sessions, unless the rule names one. */
export function readSpan(text: string | undefined, now: number): { until?: number; forAll: boolean } {
  if (text === undefined || text === 'session') return { forAll: false }
  if (text === 'always') return { forAll: true }
  const [, count, unit] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? []
  if (unit !== undefined) return { until: now + Number(count) * spanMs[unit]!, forAll: true }
  throw new RockpoolError('input-invalid', `${JSON.stringify(text)} is not a time for a rule.`, {
    hint: 'Write session, always, or a time: 30m, 2h, 7d.',
  })
}

/** An agent, and a token bound to one, may add rules for its own sessions only. */
export function refuseBound({ agentId }: Caller): void {
  if (agentId === undefined) return
  throw new RockpoolError('refused', 'Only a person may add a rule for all sessions.', {
    hint: 'Name one of your own sessions.',
  })
}
