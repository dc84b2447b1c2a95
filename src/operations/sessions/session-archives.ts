// Archives: sessions that were removed from the lists, conversations that a reset or a deletion ended, and what
// `sessions compact --max-lines` cut off.
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { readArchiveNote, restoreSession } from '../../sessions/archives.ts'
import { applyCleanup, planCleanup } from '../../sessions/cleanup.ts'
import { archiveSession } from '../../sessions/lifecycle.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { changedSession } from './session-life.ts'
import { agentFlag, findSession, partsOf, spellKey, visibleAgents, whichSession } from './which-session.ts'
import { flag } from '../input-fields.ts'

const archive = z.object({
  name: z.string(),
  agentId: z.string(),
  sessionId: z.string(),
  key: z.string().optional(),
  label: z.string().optional(),
  reason: z.enum(['reset', 'deleted', 'shortened']),
  at: z.number(),
  bytes: z.number(),
})
type ArchiveRow = z.output<typeof archive>

const listArchives = operation({
  name: 'sessions.archives',
  description: 'List conversations that a reset or a deletion archived, and what was cut off, newest first.',
  input: z.strictObject({
    agentId: z.string().optional().describe('Only this agent.'),
    limit: z.int().min(1).max(1000).default(50).describe('How many at most.'),
  }),
  output: z.object({ total: z.number(), archives: z.array(archive) }),
  scope: 'read',
  command: { flags: agentFlag, examples: ['rockpool sessions archives'] },
  async run(app, input, caller) {
    const agents = visibleAgents(app, caller, input.agentId)
    const found = (await Promise.all(agents.map((agentId) => archivesOf(app, agentId)))).flat()
    found.sort((a, b) => b.at - a.at)
    const archives: ArchiveRow[] = []
    for (const one of found.slice(0, input.limit)) archives.push({ ...one, ...(await sessionOf(app, one)) })
    return { total: found.length, archives }
  },
})

async function archivesOf(app: App, agentId: string): Promise<ArchiveRow[]> {
  const all = await app.storage.transcripts(agentId).archives()
  return all.map(({ name, sessionId, reason, at, bytes }) => {
    return { name, agentId, sessionId, reason: reason === 'bak' ? 'shortened' : reason, at, bytes }
  })
}

/** The session that the archive came from; archives of other programs do not name it. */
async function sessionOf(app: App, archived: ArchiveRow): Promise<Pick<ArchiveRow, 'key' | 'label'>> {
  const { agentId, name, sessionId, reason } = archived
  if (reason === 'shortened') {
    const [session] = await app.storage.sessions(agentId).find(sessionId)
    return session ? { key: session.key, label: session.entry.label } : {}
  }
  const note = await readArchiveNote(app.storage.transcripts(agentId), name)
  return note ? { key: note.key, label: note.entry.label } : {}
}

const archiveResult = z.object({
  key: z.string(),
  ok: z.boolean(),
  status: z.string(),
  error: z.string().optional(),
})

const archiveSessions = operation({
  name: 'sessions.archive',
  description: 'Remove sessions from the lists; nothing is lost, and a message brings a session back.',
  input: z.strictObject({
    keys: z.array(z.string().min(1).max(2000)).min(1).max(1000).describe('Keys, ids or labels.'),
    dryRun: flag('Only show what would happen.'),
  }),
  output: z.object({
    ok: z.boolean(),
    operation: z.string(),
    dryRun: z.boolean(),
    results: z.array(archiveResult),
  }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['keys'],
    examples: ['rockpool sessions archive 08ef14de old-label'],
    isFailure: (output) => output['ok'] === false,
  },
  async run(app, { keys, dryRun }, caller) {
    const results = []
    for (const ref of keys) results.push(await archiveOne(app, caller, ref, dryRun))
    return { ok: results.every((one) => one.ok), operation: 'archive', dryRun, results }
  },
})

async function archiveOne(app: App, caller: Caller, ref: string, dryRun: boolean) {
  try {
    const session = await findSession(app, caller, ref)
    if (!dryRun) await archiveSession(partsOf(app, session), session.key)
    return { key: session.key, ok: true, status: dryRun ? 'would-archive' : 'archived' }
  } catch (error) {
    return { key: ref, ok: false, status: 'failed', error: asRockpoolError(error).message }
  }
}

const restore = operation({
  name: 'sessions.restore',
  description: 'Bring back an archived session, a deleted one, or the conversation before a reset.',
  input: z.strictObject({
    ref: whichSession.key.describe('A key, an id or its beginning, a label, or the name of an archive.'),
    agentId: whichSession.agentId,
    key: z.string().optional().describe('The key of the restored session, if the archive does not name one.'),
  }),
  output: changedSession.extend({ archived: z.string().optional() }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['ref'],
    flags: agentFlag,
    examples: ['rockpool sessions restore main', 'rockpool sessions restore 08ef14de'],
  },
  async run(app, input, caller) {
    const { session, archived } = await restoreFromAnyAgent(app, caller, input)
    return { ok: true, key: session.key, entry: session.entry, archived }
  },
})

/** An archive does not name its agent, so this searches the archives of every agent that the caller may see. */
async function restoreFromAnyAgent(
  app: App,
  caller: Caller,
  input: { ref: string; agentId?: string; key?: string },
): ReturnType<typeof restoreSession> {
  const named = /^agent:([^:]+):/.exec(input.ref)?.[1]
  const agents = visibleAgents(app, caller, input.agentId ?? named)
  const spelled = spellKey(app, input.ref)
  // First as a key in any spelling; then as an id, a label or the name of an archive.
  const asKey = agents.includes(spelled.agentId) ? [{ agentId: spelled.agentId, ref: spelled.key }] : []
  let missing: unknown
  for (const { agentId, ref } of [...asKey, ...agents.map((id) => ({ agentId: id, ref: input.ref }))]) {
    try {
      return await restoreSession(partsOf(app, { agentId }), ref, { key: input.key })
    } catch (error) {
      if (!(error instanceof RockpoolError && error.code === 'not-found')) throw error
      missing = error
    }
  }
  throw missing
}

const cleanup = operation({
  name: 'sessions.cleanup',
  description: 'Show which sessions and archives are too old or too many; with --enforce remove them.',
  input: z.strictObject({
    agentId: z.string().optional().describe('Only this agent.'),
    enforce: flag('Do it. Without this, nothing changes.'),
    pruneAfterDays: z.number().min(1).optional().describe('Older than this.'),
    maxEntries: z.int().min(1).optional().describe('Beyond this many sessions.'),
    maxDiskBytes: z.int().min(1).optional().describe('Beyond this much disk.'),
  }),
  output: z.object({
    dryRun: z.boolean(),
    agents: z.array(z.object({ agentId: z.string(), failed: z.array(z.string()) })),
  }),
  scope: 'admin',
  changesState: true,
  command: {
    flags: agentFlag,
    examples: ['rockpool sessions cleanup', 'rockpool sessions cleanup --prune-after-days 90 --enforce'],
  },
  async run(app, { agentId: wanted, enforce, ...given }, caller) {
    const limits = { ...app.config.session.maintenance, ...given }
    const agents = []
    for (const agentId of visibleAgents(app, caller, wanted)) {
      const parts = partsOf(app, { agentId })
      const plan = await planCleanup(parts, limits)
      agents.push({ agentId, ...plan, failed: enforce ? await applyCleanup(parts, plan) : [] })
    }
    return { dryRun: !enforce, agents }
  },
})

export const operations = [listArchives, archiveSessions, restore, cleanup]
