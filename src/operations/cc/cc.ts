// Claude Code sessions of the machine: show one, add up costs, repair, label and archive.
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { resumeChanges } from '../../coding/session/resume-origin.ts'
import { programOf, requireClaude, resumeHint } from '../../discovery/agents/readers.ts'
import { withOpinion } from '../../domain/cache-opinion.ts'
import { priceWithTrim } from '../../discovery/trim/trim-price.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { agentKinds, offlineModel } from '../../domain/agent.ts'
import { sessionHealth, sessionRecord } from '../../domain/discovered-session.ts'
import { costGroups, costReport } from '../../domain/costs.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { sessionPrice } from '../../domain/selection.ts'
import { plainLine, shellWord } from '../../domain/text.ts'
import { sessionLines } from '../../domain/why-answers.ts'
import { writeNativeArchived, writeNativeTitle } from '../../store/transcripts/claude-file.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import { visibleTo } from '../perform-operation.ts'
import { codingRow, rowOf } from '../coding/coding-row.ts'
import { isElsewhere } from '../coding/which-machine.ts'
import { parseTime, sinceField, flag, pathField, agentField, sessionField } from '../input-fields.ts'
import { operation, type Caller } from '../operation.ts'
import { goneSession } from '../vault/kept-sessions.ts'
import { livingLines } from '../why/explain.ts'
import { toRecord, withoutTranscript } from './cc-list.ts'

const showSession = operation({
  name: 'cc.info',
  description: 'Show one session: its state, its cost, and whether a resume finds all of it.',
  input: z.strictObject({
    id: sessionField(),
    health: z
      .boolean()
      .default(true)
      .describe('Check in the whole transcript whether a resume finds all of it.'),
    lines: z.boolean().default(true).describe('Ask git which of its lines are still in HEAD.'),
  }),
  output: z.object({
    session: sessionRecord,
    health: sessionHealth.optional(),
    coding: codingRow.optional(),
    onResume: z.string().optional().describe('What would change if Rockpool resumed it.'),
    folderGone: z.boolean().optional().describe('Its folder no longer exists, so it cannot be resumed.'),
    price: sessionPrice.optional().describe('What the next message costs, without its output.'),
    lines: sessionLines.optional().describe('Its commits and lines that are still in HEAD.'),
  }),
  scope: 'read',
  isCostly: true,
  command: {
    positional: ['id'],
    examples: ['rockpool cc info 3f2a', 'rockpool cc info fix-login-bug --json'],
  },
  async run(app, { id, health: isChecked, lines: isTraced }, caller) {
    const coding = await codingNamed(app, id, caller)
    const row = coding && { coding: rowOf(app, coding, caller) }
    // The transcript of a session on another machine is there.
    if (coding && (coding.sdkSessionId === undefined || isElsewhere(app, coding)))
      return { session: toRecord(withoutTranscript(app, coding)), ...row }
    const session = await ownOrKept(app, coding?.id ?? id, caller).catch((error: unknown) => {
      if (coding && asRockpoolError(error).code === 'not-found') return undefined
      throw error
    })
    if (!session) return { session: toRecord(withoutTranscript(app, coding!)), ...row }
    const isRead = isChecked && !session.kept
    const health = isRead ? await app.discovery().health(session.sessionId) : undefined
    const isClaude = session.agentKind === 'claude'
    const changes = (): string | undefined => (coding ? undefined : resumeChanges(session, app.config.coding))
    const onResume = isClaude ? changes() : resumeHint(session)
    const predicted = await priceWithTrim(session, app.config.coding, app.clock.now())
    const opinion = app.cacheOpinions.of(session.sessionId)
    const price = withOpinion(predicted, opinion, session.lastUsageAt)
    const folderGone = !existsSync(session.repoPath)
    const mayRead = (one: DiscoveredSession): boolean => mayReadSession(one, caller.agentId)
    const lines = isTraced && !session.kept ? await livingLines(app, session, mayRead) : undefined
    return { session: toRecord(session), health, onResume, folderGone, price, lines, ...row }
  },
})

const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/)
  .optional()

const addUpCosts = operation({
  name: 'cc.costs',
  description: 'Add up tokens and dollars over the sessions of all coding agents, each message once.',
  input: z.strictObject({
    since: sinceField(),
    until: z.string().max(64).optional().describe('Up to this time.'),
    firstDay: day.describe('From this day on, in the time zone of the configuration: 2026-11-01.'),
    lastDay: day.describe('Up to this day, which is included.'),
    by: z.enum(costGroups).default('repo').describe('What to group by.'),
    repo: pathField().describe('Only this repository.'),
    agent: agentField().describe("Only this agent's sessions."),
    agentKind: z.enum(agentKinds).optional().describe('Only sessions of this program.'),
  }),
  output: costReport,
  scope: 'read',
  isCostly: true,
  command: {
    paths: ['repo'],
    examples: [
      'rockpool cc costs',
      'rockpool cc costs --since 7d --by day',
      'rockpool cc costs --by month',
      'rockpool cc costs --by model --json',
    ],
  },
  async run(app, { since, until, firstDay, lastDay, by, repo, agent, agentKind }, caller) {
    const now = app.clock.now()
    return app.discovery().costs({
      by,
      agentKind,
      repoPath: repo,
      firstDay,
      lastDay,
      since: since === undefined ? undefined : parseTime(since, now),
      until: until === undefined ? undefined : parseTime(until, now),
      ...visibleTo(caller, agent),
    })
  },
})

const repairSession = operation({
  name: 'cc.repair',
  description: 'Make a repaired copy of a damaged session as a new session; the original stays unchanged.',
  input: z.strictObject({ id: sessionField() }),
  output: z.object({ sessionId: z.string(), filePath: z.string(), health: sessionHealth, left: z.number() }),
  scope: 'write',
  changesState: true,
  command: { positional: ['id'], examples: ['rockpool cc repair 3f2a'] },
  async run(app, { id }, caller) {
    const session = await ownSession(app, id, caller)
    requireClaude(session, 'repair it')
    return app.discovery().repair(session.sessionId)
  },
})

const changedSession = z.object({
  sessionId: z.string(),
  title: z.string().optional(),
  archived: z.boolean(),
})

const labelSession = operation({
  name: 'cc.label',
  description: 'Set the title of a Claude Code session; Claude Code shows it, too.',
  input: z.strictObject({ id: sessionField(), title: z.string().min(1).max(200).describe('The title.') }),
  output: changedSession,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['id', 'title'],
    joinsRest: true,
    examples: ['rockpool cc label 3f2a "the login form"'],
  },
  async run(app, input, caller) {
    const session = await ownSession(app, input.id, caller)
    requireClaude(session, 'rename it')
    const title = plainLine(input.title)
    await writeNativeTitle(session.filePath, title)
    app.events.emit({ type: 'native-changed', sessionId: session.sessionId, why: 'title' })
    const runs = (await app.storage.existingCoding()?.setTitle(session.sessionId, title)) ?? []
    for (const { id } of runs) app.events.emit({ type: 'coding-changed', id, why: 'title' })
    return { sessionId: session.sessionId, title, archived: session.archived }
  },
})

const archiveSession = operation({
  name: 'cc.archive',
  description: 'Remove a Claude Code session from the lists, or bring it back; nothing is lost.',
  input: z.strictObject({ id: sessionField(), restore: flag('Bring it back instead.') }),
  output: changedSession,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['id'],
    examples: ['rockpool cc archive 3f2a', 'rockpool cc archive 3f2a --restore'],
  },
  async run(app, input, caller) {
    const session = await ownSession(app, input.id, caller)
    requireClaude(session, 'archive it')
    await writeNativeArchived(session.filePath, !input.restore)
    app.events.emit({ type: 'native-changed', sessionId: session.sessionId, why: 'archived' })
    return { sessionId: session.sessionId, title: session.title, archived: !input.restore }
  },
})

export const operations = [showSession, addUpCosts, repairSession, labelSession, archiveSession]

/** By its exact name or id; by the beginning of either, if it has no conversation of Claude Code and no other session is meant. */
async function codingNamed(app: App, ref: string, caller: Caller): Promise<CodingSession | undefined> {
  const [found, ...more] = app.storage.existingCoding()?.resolve(ref, caller.agentId) ?? []
  if (!found) return undefined
  if (found.id === ref || found.name === ref) return found
  const hasConversation = found.sdkSessionId !== undefined && found.model !== offlineModel
  if (hasConversation || more.length > 0) return undefined
  return (await isNativeSession(app, ref, caller)) ? undefined : found
}

async function isNativeSession(app: App, ref: string, { agentId }: Caller): Promise<boolean> {
  const mayRead = (session: DiscoveredSession): boolean => mayReadSession(session, agentId)
  return app
    .discovery()
    .get(ref, mayRead)
    .then(
      () => true,
      (error: unknown) => asRockpoolError(error).code !== 'not-found',
    )
}

/** By the exact name or id of a coding session, by Claude's id, by its title, or by the beginning of any. */
export async function ownSession(app: App, ref: string, caller: Caller): Promise<DiscoveredSession> {
  const session = await ownOrKept(app, ref, caller)
  if (!session.kept) return session
  const id = session.sessionId
  throw new RockpoolError(
    'not-found',
    `${programOf(session.agentKind)} has deleted ${id}; the vault has a copy.`,
    {
      hint: `Restore it first: \`rockpool vault restore ${shellWord(id)}\`.`,
    },
  )
}

/** Also a session that only the vault still has. */
export async function ownOrKept(app: App, ref: string, caller: Caller): Promise<DiscoveredSession> {
  const coding = await codingNamed(app, ref, caller)
  if (coding && coding.sdkSessionId === undefined) throw noConversation(coding)
  return app
    .discovery()
    .get(coding?.sdkSessionId ?? ref, (session) => mayReadSession(session, caller.agentId))
    .catch((error: unknown) => sessionCalled(app, ref, caller, error))
    .catch((error: unknown) => goneSession(app, coding?.sdkSessionId ?? ref, error, caller))
    .catch((error: unknown) => {
      throw coding?.model === offlineModel ? noConversation(coding) : error
    })
}

/** By the beginning of the name or id of a coding session. Throws `otherwise` if the caller may see none. */
async function sessionCalled(
  app: App,
  ref: string,
  { agentId }: Caller,
  otherwise: unknown,
): Promise<DiscoveredSession> {
  const [ours, ...more] = app.storage.existingCoding()?.resolve(ref, agentId) ?? []
  const isNamed = asRockpoolError(otherwise).code === 'not-found' && ours?.sdkSessionId !== undefined
  if (!isNamed || more.length > 0) throw otherwise
  return app.discovery().get(ours.sdkSessionId!, (session) => mayReadSession(session, agentId))
}

function noConversation({ name }: CodingSession): RockpoolError {
  return new RockpoolError('not-found', `${name} has no conversation of Claude Code yet.`, {
    hint: `\`rockpool cc output ${shellWord(name)}\` shows what it did.`,
  })
}
