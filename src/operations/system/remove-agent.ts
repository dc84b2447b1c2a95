// Ends everything that works for an agent, before the agent is removed: tokens, schedules, coding sessions, questions, turns and
// permission rules. What was stopped can be started again once the agent is added again, except the tokens and the rules.
import { z } from 'zod'
import { sleep } from '../../domain/async.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { changeTokenRecords } from '../../store/gateway-tokens.ts'
import type { App } from '../app.ts'
import { rulesSeenBy } from '../coding/rule-operations.ts'
import { noticeChange } from '../schedules/schedule-row.ts'

export const stoppedParts = z.object({
  tokens: z.array(z.string()).describe('The names of removed tokens.'),
  schedules: z.array(z.string()).describe('The names of paused schedules.'),
  sessions: z.array(z.string()).describe('The names of ended coding sessions.'),
  approvals: z.array(z.string()).describe('The ids of requests that are no longer open.'),
  turns: z.array(z.string()).describe('The sessions whose turns were stopped.'),
  rules: z.array(z.string()).describe('The ids of removed permission rules.'),
})

/** Removes the tokens first, so that no program uses them to start again what was just stopped. */
export async function stopAgent(app: App, agentId: string): Promise<z.input<typeof stoppedParts>> {
  const tokens = await removeTokens(app, agentId)
  const schedules = await pauseSchedules(app, agentId)
  const asked = app.coding().approvals.pending(agentId)
  const sessions = await endSessions(app, agentId)
  const turns = await stopTurns(app, agentId)
  await app.coding().approvals.expireOpen((approval) => approval.agentId === agentId)
  const rules = await removeRules(app, agentId)
  return { tokens, schedules, sessions, approvals: asked.map(({ id }) => id), turns, rules }
}

async function removeTokens(app: App, agentId: string): Promise<string[]> {
  const removed: string[] = []
  await changeTokenRecords(app.paths.root, (records) => {
    const bound = records.filter((record) => record.agentId === agentId)
    removed.push(...bound.map(({ name }) => name))
    return records.filter((record) => !bound.includes(record))
  })
  return removed
}

async function pauseSchedules(app: App, agentId: string): Promise<string[]> {
  const paused: string[] = []
  for (const schedule of app.storage.schedules.list(agentId)) {
    if (schedule.paused !== undefined) continue
    await app.storage.schedules.change(schedule.id, () => ({
      paused: `The owner removed the agent ${agentId}.`,
    }))
    await noticeChange(app, schedule)
    paused.push(schedule.name)
  }
  return paused
}

async function endSessions(app: App, agentId: string): Promise<string[]> {
  const { pool } = app.coding()
  await pool.recoverOrphans()
  const open = pool.list({ agentId, open: true })
  for (const { id } of open) await pool.kill(id)
  return open.map(({ name }) => name)
}

/** How long a turn may take to end after it was stopped. */
const turnEndMs = 20_000

/** A turn that still runs would write to the agent's folder after it was set aside, and so create it again. */
async function stopTurns(app: App, agentId: string): Promise<string[]> {
  // Only the gateway takes turns of its own accord; every other process waits for the turn that it was started for.
  if (!app.gateway) return []
  const conversations = await app.conversations()
  const busy = (): string[] =>
    conversations.converse.queue.activeLanes().filter((lane) => lane.startsWith(`agent:${agentId}:`))
  const stopped = busy()
  for (const lane of stopped) await conversations.stopTurn(lane)
  const until = app.clock.monotonic() + turnEndMs
  while (busy().length > 0) {
    if (app.clock.monotonic() >= until)
      throw new RockpoolError('busy', `The turn of ${busy().join(', ')} does not end.`, {
        hint: 'Its tokens, schedules and coding sessions are stopped. Remove the agent again in a moment.',
      })
    await sleep(app.clock, 20)
  }
  return stopped
}

/** A rule would hold again for a new agent with this id. */
async function removeRules(app: App, agentId: string): Promise<string[]> {
  const rules = rulesSeenBy(app, { agentId })
  for (const { id } of rules) await app.storage.approvals.revoke(id)
  return rules.map(({ id }) => id)
}
