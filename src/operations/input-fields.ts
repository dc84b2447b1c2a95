// Input fields that operations of several groups have in common. They are functions, because a schema takes longer to build than most
// commands need for their work: a command builds only its own.
import { z } from 'zod'
import { permissionModes } from '../domain/agent.ts'
import { RockpoolError } from '../domain/errors.ts'

/** Text for an agent. */
export const nonBlankText = () => z.string().regex(/\S/, 'It has no words.')

/** The name or the id of one thing. */
export const nameField = () => z.string().min(1).max(200)
export const sessionField = () =>
  nameField().describe('A session: its name, its id, or the beginning of either.')
export const pathField = () => z.string().max(4_096).optional()
export const agentField = () => z.string().max(100).optional()

/** As many sessions as a person can look through; `--all` shows the others. */
export const shownInTerminal = 40

/** An option that is off unless it is given. */
export const flag = (description: string) => z.boolean().default(false).describe(description)

export const thinkingLevels = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export const permissionMode = () => z.enum(permissionModes).optional()

/** A time as people write it; parseTime reads it. */
export const sinceField = () =>
  z.string().max(64).optional().describe('From this time on: 2026-11-01, an ISO time, or 7d, 12h.')

const spanMs: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** A date, an ISO time, or how long ago. */
export function parseTime(text: string, now: number): number {
  const ago = /^(\d{1,6})([mhdw])$/.exec(text.trim())
  if (ago) return now - Number(ago[1]) * spanMs[ago[2]!]!
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw new RockpoolError('input-invalid', `${JSON.stringify(text)} is not a time.`, {
    hint: 'Write 2026-11-01, 2026-11-01T08:00:00Z, or how long ago: 30m, 12h, 7d, 4w.',
  })
}
