// Looking at one session: its row, what was said, what it used.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { App } from '../app.ts'
import { lostOf } from './compacted-history.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { previewOf, tailOf } from './session-preview.ts'
import { rowOf, sessionRow } from './session-row.ts'
import { findSession, findSessions, noSession, visibleAgents } from './which-session.ts'
import { withoutEffect } from './ignored-settings.ts'

const which = {
  key: z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
  agentId: z.string().optional().describe('Look only at this agent.'),
}
const storedSession = z.object({
  key: z.string(),
  agentId: z.string(),
  entry: z.looseObject({ sessionId: z.string(), updatedAt: z.number() }),
})

const getSession = operation({
  name: 'sessions.get',
  description: 'Give everything that is stored about a session.',
  input: z.strictObject({
    ...which,
    full: z.boolean().default(false).describe('Also what is large and rarely needed: skills, prompt report.'),
  }),
  output: storedSession,
  scope: 'read',
  forAgents: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions get agent:main:main', 'rockpool sessions get 08ef14de --json'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    if (!input.full) return session
    return {
      ...session,
      entry: (await app.storage.sessions(session.agentId).get(session.key)) ?? session.entry,
    }
  },
})

const showSession = operation({
  name: 'sessions.show',
  description: 'Show one session: its row, where its transcript is, and the last things said.',
  input: z.strictObject({
    ...which,
    limit: z.int().min(0).max(200).default(6).describe('How much was said last.'),
  }),
  output: z.object({
    session: sessionRow,
    transcript: z.object({ exists: z.boolean(), entries: z.number(), damage: z.array(z.string()) }),
    items: z.array(z.object({ role: z.string(), text: z.string() })),
    withoutEffect: z.array(z.string()),
  }),
  scope: 'read',
  redactOutput: true,
  command: { positional: ['key'], flags: { agentId: 'agent' }, examples: ['rockpool sessions show main'] },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const page = await tailOf(app, session, 200)
    const exists = page.header !== undefined || page.entries.length > 0
    return {
      session: rowOf(session, app.clock.now(), app.config.session.mainKey),
      transcript: { exists, entries: page.entries.length, damage: page.damage },
      items: exists && input.limit > 0 ? await previewOf(app, session, input.limit, 2000) : [],
      withoutEffect: withoutEffect(session.entry),
    }
  },
})

const previewSessions = operation({
  name: 'sessions.preview',
  description: 'Give the last things said in some sessions, shortened.',
  input: z.strictObject({
    keys: z.array(z.string().min(1).max(2000)).min(1).describe('Keys, ids or labels; the first 64 count.'),
    limit: z.int().min(1).max(200).default(12).describe('How many messages of each.'),
    maxChars: z.int().min(20).max(100_000).default(240).describe('How long each may be.'),
  }),
  output: z.object({
    ts: z.number(),
    previews: z.array(
      z.object({
        key: z.string(),
        status: z.enum(['ok', 'empty', 'missing', 'error']),
        items: z.array(z.object({ role: z.string(), text: z.string() })),
      }),
    ),
  }),
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: { positional: ['keys'], examples: ['rockpool sessions preview main --limit 4'] },
  async run(app, input, caller) {
    const keys = input.keys.slice(0, 64)
    const previews = await Promise.all(keys.map((key) => preview(app, caller, key, input)))
    return { ts: app.clock.now(), previews }
  },
})

interface Preview {
  key: string
  status: 'ok' | 'empty' | 'missing' | 'error'
  items: Array<{ role: string; text: string }>
}

async function preview(
  app: App,
  caller: Caller,
  key: string,
  { limit, maxChars }: { limit: number; maxChars: number },
): Promise<Preview> {
  try {
    const found = await findSessions(app, caller, key)
    if (found.length !== 1) return { key, status: found.length === 0 ? 'missing' : 'error', items: [] }
    const items = await previewOf(app, found[0]!, limit, maxChars)
    return { key, status: items.length > 0 ? 'ok' : 'empty', items }
  } catch (error) {
    app.log.warn(
      { event: 'preview-failed', key, error: String(error) },
      'Could not read the preview of a session.',
    )
    return { key, status: 'error', items: [] }
  }
}

const resolveSession = operation({
  name: 'sessions.resolve',
  description: 'Find the key of a session from its key, id or label.',
  input: z.strictObject({
    key: z.string().min(1).optional().describe('A key, in any spelling.'),
    sessionId: z.string().min(1).optional().describe('An id, or its beginning.'),
    label: z.string().min(1).optional().describe('A label.'),
    agentId: z.string().optional().describe('Look only at this agent.'),
    spawnedBy: z.string().optional().describe('Only among the sub-agents of this session key.'),
    includeGlobal: z.boolean().optional().describe('Also the session that everybody shares.'),
    includeUnknown: z.boolean().optional().describe('Also the session of unknown senders.'),
  }),
  output: z.object({ ok: z.literal(true), key: z.string(), agentId: z.string(), sessionId: z.string() }),
  scope: 'read',
  forAgents: true,
  command: { positional: ['key'], examples: ['rockpool sessions resolve --label home'] },
  async run(app, input, caller) {
    const given = [input.key, input.sessionId, input.label].filter((ref) => ref !== undefined)
    if (given.length !== 1)
      throw new RockpoolError('input-invalid', 'Give exactly one of key, sessionId and label.')
    const found = (await findSessions(app, caller, given[0]!, input.agentId)).filter((s) => meant(s, input))
    if (found.length === 0) throw noSession(given[0]!)
    if (found.length > 1) return findSession(app, caller, given[0]!, input.agentId).then(resolved)
    return resolved(found[0]!)
  },
})

interface ResolveInput {
  sessionId?: string
  label?: string
  spawnedBy?: string
  includeGlobal?: boolean
  includeUnknown?: boolean
}

function meant({ key, entry }: Session, input: ResolveInput): boolean {
  if (key === 'global' && input.includeGlobal === false) return false
  if (key === 'unknown' && input.includeUnknown === false) return false
  if (input.spawnedBy !== undefined && entry.spawnedBy !== input.spawnedBy) return false
  if (input.sessionId !== undefined) return entry.sessionId.startsWith(input.sessionId)
  return input.label === undefined || entry.label === input.label
}

function resolved({ key, agentId, entry }: Session): {
  ok: true
  key: string
  agentId: string
  sessionId: string
} {
  return { ok: true, key, agentId, sessionId: entry.sessionId }
}

const historyOutput = z.object({
  key: z.string(),
  agentId: z.string(),
  sessionId: z.string(),
  header: z.unknown(),
  entries: z.array(z.looseObject({ type: z.string(), id: z.string(), timestamp: z.string() })),
  before: z.number().optional(),
  damage: z.array(z.string()),
})

const readHistory = operation({
  name: 'sessions.history',
  description: 'Read what was said in a session, the last part first.',
  input: z.strictObject({
    key: which.key.optional(),
    agentId: which.agentId,
    limit: z.int().min(1).max(5000).default(50).describe('How many entries.'),
    before: z.int().min(0).optional().describe('Continue before this mark of an earlier page.'),
    lost: z.boolean().default(false).describe('What compactions have removed from the context instead.'),
  }),
  output: historyOutput,
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  forAgents: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: [
      'rockpool history',
      'rockpool history main --lost',
      'rockpool history main --limit 200',
      'rockpool history 08ef14de --json',
    ],
  },
  async run(app, input, caller) {
    if (input.lost) return lostPage(app, caller, input)
    const session = input.key
      ? await findSession(app, caller, input.key, input.agentId)
      : await newestSession(app, caller, input.agentId)
    return page(app, session, input.limit, input.before)
  },
})

/** What was removed, as entries; also of Claude's own sessions. */
async function lostPage(
  app: App,
  caller: Caller,
  { key, agentId, limit }: { key?: string; agentId?: string; limit: number },
): Promise<z.input<typeof historyOutput>> {
  const ref = key ?? (await newestSession(app, caller, agentId)).key
  const { lines, compactions, total, ...session } = await lostOf(app, caller, ref, limit)
  const entries = lines.map(({ role, text, at }, i) => ({
    type: 'message',
    id: `lost-${total - lines.length + i + 1}`,
    timestamp: at,
    message: { role, content: [{ type: 'text', text }] },
  }))
  const damage = compactions === 0 ? ['Nothing was removed: this session was never compacted.'] : []
  return { ...session, header: null, entries, damage }
}

async function newestSession(app: App, caller: Caller, agentId?: string): Promise<Session> {
  const agents = visibleAgents(app, caller, agentId)
  const pages = await Promise.all(agents.map((id) => app.storage.sessions(id).list({ limit: 1 })))
  const newest = pages
    .flatMap((each) => each.sessions)
    .sort((a, b) => b.entry.updatedAt - a.entry.updatedAt)[0]
  if (newest) return newest
  throw new RockpoolError('not-found', 'There are no sessions yet.', { hint: '`rockpool chat` begins one.' })
}

async function page(
  app: App,
  { key, agentId, entry }: Session,
  limit: number,
  before?: number,
): Promise<z.input<typeof historyOutput>> {
  const found = await tailOf(app, { key, agentId, entry }, limit, before)
  return {
    key,
    agentId,
    sessionId: entry.sessionId,
    header: found.header ?? null,
    entries: found.entries,
    ...(found.before === undefined ? {} : { before: found.before }),
    damage: found.damage,
  }
}

const tailSession = operation({
  name: 'sessions.tail',
  description: 'Show the end of a transcript, and follow it as it grows.',
  input: z.strictObject({
    ...which,
    tail: z.int().min(0).max(5000).default(80).describe('How many entries.'),
    after: z.string().optional().describe('Only what came after the entry with this id.'),
  }),
  output: historyOutput,
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions tail main --follow', 'rockpool sessions tail main --tail 10 --json'],
    nextInput(input, output) {
      const last = (output['entries'] as Array<{ id: string }>).at(-1)?.id
      return last === undefined ? input : { ...input, after: last }
    },
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const found = await page(app, session, Math.max(1, input.after === undefined ? input.tail : 1000))
    const seen = input.after === undefined ? -1 : found.entries.findIndex((entry) => entry.id === input.after)
    return { ...found, entries: found.entries.slice(seen + 1) }
  },
})

export const readOperations = [
  getSession,
  showSession,
  previewSessions,
  resolveSession,
  readHistory,
  tailSession,
]
