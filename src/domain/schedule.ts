// A schedule starts something at its times: a turn of an agent, a coding session, a message to a chat, or a wake. Each due time is
// a run, identified by the schedule and that time. `src/schedules/` decides when; the store keeps both.
import { z } from 'zod'

export const missedPolicies = ['skip', 'once', 'all'] as const
export const overlapPolicies = ['skip', 'queue', 'replace'] as const

const when = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cron'), cron: z.string(), timeZone: z.string() }),
  z.object({ kind: z.literal('every'), everyMs: z.number(), from: z.number() }),
  z.object({ kind: z.literal('once'), at: z.number() }),
])
export type When = z.infer<typeof when>

const action = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('turn'),
    text: z.string(),
    sessionKey: z.string().optional().describe("The agent's main session when absent."),
    to: z
      .string()
      .optional()
      .describe('The chat that gets the reply while the session has none: channel|target'),
  }),
  z.object({
    kind: z.literal('coding'),
    text: z.string(),
    workdir: z.string(),
    session: z.string().optional().describe('The session to continue; a fresh one when absent.'),
    model: z.string().optional(),
  }),
  z.object({ kind: z.literal('message'), text: z.string(), to: z.string().describe('channel|target') }),
  z.object({ kind: z.literal('wake'), text: z.string(), sessionKey: z.string().optional() }),
])
export type ScheduledAction = z.infer<typeof action>

export const scheduleSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** The agent that acts, or for which the session is started. */
  agentId: z.string(),
  /** An agent made it for itself: its runs have the limits of an agent. */
  byAgent: z.boolean().optional(),
  /** Added by a caller that may not approve: its runs continue no session that works without asking. */
  withoutApprove: z.boolean().optional(),
  /** The author of the turns that it starts (`src/rights/author.ts`). */
  author: z.enum(['owner', 'program', 'guest', 'group', 'hook']),
  when,
  action,
  jitterSeconds: z.number(),
  notBefore: z.number().optional(),
  notAfter: z.number().optional(),
  missed: z.enum(missedPolicies),
  overlap: z.enum(overlapPolicies),
  runBudgetUsd: z.number().optional(),
  totalBudgetUsd: z.number().optional(),
  /** The chat in which it was added: `channel|target`. It runs only while that chat has the rights that it had then. */
  addedIn: z.string().optional(),
  /** The name of the token with which a program added it. When the token is removed, the schedule is paused. */
  addedWith: z.string().optional(),
  /** The chat that gets notices about runs: `channel|target`. */
  tell: z.string().optional(),
  /** The private chats of people who may not write, `channel|target`, that the operator named or accepted. */
  strangers: z.array(z.string()).optional(),
  createdAt: z.number(),
  /** Why it does not run; absent while it does. */
  paused: z.string().optional(),
  /** The next due time that has no run yet; absent when there is none. */
  nextDue: z.number().optional(),
})
export type Schedule = z.infer<typeof scheduleSchema>

/** Is it paused by the owner, or for a reason that only the owner can accept? Such reasons name the owner. */
export function onlyOwnerResumes({ paused }: Pick<Schedule, 'paused'>): boolean {
  return paused?.includes('owner') === true
}

export const runSchema = z.object({
  /** `<schedule>|<due time>`: each due time has one run, on whichever machine it starts. */
  id: z.string(),
  scheduleId: z.string(),
  dueAt: z.number(),
  /** `due` until a machine begins it. */
  state: z.enum(['due', 'begun', 'ended', 'skipped', 'failed']),
  /** When the row was written. */
  writtenAt: z.number(),
  /** When it may begin: the due time and the jitter. */
  beginAt: z.number(),
  begunAt: z.number().optional(),
  endedAt: z.number().optional(),
  toldAt: z.number().optional(),
  /** The machine that began it. */
  machine: z.string().optional(),
  /** Earlier due times that this late run stands for. */
  missedBefore: z.number().optional(),
  /** A person asked for it: `schedules run`. */
  manual: z.boolean().optional(),
  /** The owner asked for it: it begins also while the owner has paused the schedule. */
  byOwner: z.boolean().optional(),
  /** What it did, or why it did not. */
  note: z.string().optional(),
  codingId: z.string().optional().describe('The coding session that it started.'),
  costUsd: z.number(),
})
export type ScheduleRun = z.infer<typeof runSchema>

/** Why this run may not begin now. A schedule that is paused runs only when somebody asks for it; one that the owner paused, only when
 *  the owner asks. */
export function pauseFor(
  schedule: Pick<Schedule, 'paused'>,
  { manual, byOwner }: Pick<ScheduleRun, 'manual' | 'byOwner'>,
): string | undefined {
  const mayBegin = byOwner === true || (manual === true && !onlyOwnerResumes(schedule))
  return mayBegin ? undefined : schedule.paused
}

export function runId(scheduleId: string, dueAt: number): string {
  return `${scheduleId}|${dueAt}`
}
