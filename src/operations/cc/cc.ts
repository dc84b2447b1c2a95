// Claude Code sessions of the machine: look into one, add up what they cost, mend one.
import { z } from 'zod'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { discoveredSession, seenBy, withoutTranscript, written } from './cc-list.ts'
import { codingRow, findCoding, rowOf } from '../coding/coding-row.ts'
import { parseTime, sinceField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { isElsewhere } from '../coding/which-machine.ts'
import type { Caller } from '../operation.ts'

const text = z.string()
const number = z.number()
const flag = z.boolean()

const sessionHealth = z.object({
  sessionId: text,
  verdict: z.enum(['sound', 'degraded', 'broken']),
  records: number,
  reachable: number,
  reachableShare: number,
  orphanedToolResults: number,
  unansweredToolCalls: number,
  tornLines: number,
  damagedLines: number,
  overlongLines: number,
  branchPoints: number,
  twoWriters: flag,
  brokenLinks: number,
  findings: z.array(text),
})

const cost = z.object({
  inputTokens: number,
  outputTokens: number,
  cacheReadTokens: number,
  cacheCreationTokens: number,
  costUsd: number,
  guessed: flag,
})
/** Whose spending it was. */
export const costParts = z.object({
  chatsUsd: number.describe('Chats with agents.'),
  codingUsd: number.describe('Coding sessions.'),
  nativeUsd: number.describe('Sessions that Claude Code ran without Rockpool.'),
})
export const sessionId = z.string().min(1).max(200).describe("Claude's id of the session, or its beginning.")

const showSession = operation({
  name: 'cc.info',
  description:
    'Show one Claude Code session: where it stands, what it cost, and whether it can be resumed whole.',
  input: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(200)
      .describe("Claude's id, or its beginning; or a coding session's name or id."),
  }),
  output: z.object({
    session: discoveredSession,
    health: sessionHealth.optional(),
    coding: codingRow.optional(),
  }),
  scope: 'read',
  command: {
    positional: ['id'],
    examples: ['rockpool cc info 3f2a', 'rockpool cc info fix-login-bug --json'],
  },
  async run(app, { id }, caller) {
    const coding = codingNamed(app, id, caller)
    const row = coding && { coding: rowOf(app, coding) }
    // What Claude wrote of one on another machine is there.
    if (coding && (coding.sdkSessionId === undefined || isElsewhere(app, coding))) {
      return { session: written(withoutTranscript(app, coding)), ...row }
    }
    const session = await ownSession(app, coding?.sdkSessionId ?? id, caller)
    return { session: written(session), health: await app.discovery().health(session.sessionId), ...row }
  },
})

const addUpCosts = operation({
  name: 'cc.costs',
  description: 'Add up tokens and dollars over all Claude Code sessions, each message once.',
  input: z.strictObject({
    since: sinceField,
    until: z.string().max(64).optional().describe('Up to this time.'),
    by: z.enum(['repo', 'agent', 'day', 'model', 'session']).default('repo').describe('What to group by.'),
    repo: z.string().max(4_096).optional().describe('Only this repository.'),
    agent: z.string().max(100).optional().describe("Only this agent's sessions."),
  }),
  output: z.object({
    totals: cost,
    parts: costParts,
    by: z.array(
      cost.extend({ key: z.string(), name: z.string(), sessions: z.number(), messages: z.number() }),
    ),
    pricesAsOf: z.string(),
  }),
  scope: 'read',
  command: {
    paths: ['repo'],
    examples: [
      'rockpool cc costs',
      'rockpool cc costs --since 7d --by day',
      'rockpool cc costs --by model --json',
    ],
  },
  async run(app, { since, until, by, repo, agent }, caller) {
    const now = app.clock.now()
    return app.discovery().costs({
      by,
      repoPath: repo,
      since: since === undefined ? undefined : parseTime(since, now),
      until: until === undefined ? undefined : parseTime(until, now),
      ...seenBy(caller, agent),
    })
  },
})

const repairSession = operation({
  name: 'cc.repair',
  description:
    'Make a repaired copy of a damaged session, as a session of its own; the original is not touched.',
  input: z.strictObject({ id: sessionId }),
  output: z.object({ sessionId: z.string(), filePath: z.string(), health: sessionHealth, left: z.number() }),
  scope: 'write',
  changesState: true,
  command: { positional: ['id'], examples: ['rockpool cc repair 3f2a'] },
  async run(app, { id }, caller) {
    const session = await ownSession(app, id, caller)
    return app.discovery().repair(session.sessionId)
  },
})

export const operations = [showSession, addUpCosts, repairSession]

/** By exactly its name or id: the beginning of an id may be another session's. */
function codingNamed(app: App, ref: string, caller: Caller): CodingSession | undefined {
  const [found] = app.storage.existingCoding()?.resolve(ref) ?? []
  if (!found || (found.id !== ref && found.name !== ref)) return undefined
  return findCoding(app, caller, found.id)
}

export async function ownSession(app: App, id: string, caller: Caller): Promise<DiscoveredSession> {
  const session = await app.discovery().get(id)
  if (caller.agentId === undefined || session.agentId === caller.agentId) return session
  throw new RockpoolError('not-found', `There is no Claude Code session ${JSON.stringify(id)} of yours.`)
}
