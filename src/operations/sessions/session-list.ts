// sessions.list: a page of sessions, newest first, over one agent or all of them.
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { once } from '../../domain/lazy-parts.ts'
import type { Session } from '../../domain/session.ts'
import { isCronRunSessionKey } from '../../domain/session-key-forms.ts'
import { isFile } from '../../store/disk/foreign-file.ts'
import type { ListFilter, SessionStore } from '../../store/session-store.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { authorizeOperation } from '../perform-operation.ts'
import { rowOf, sessionRow } from './session-row.ts'
import { agentFlag, visibleAgents } from './which-session.ts'
import { flag } from '../input-fields.ts'

const listInput = once(() =>
  z.strictObject({
    limit: z.int().min(1).or(z.literal('all')).default(100).describe('How many at most, or `all`.'),
    offset: z.int().min(0).default(0).describe('How many to skip.'),
    activeMinutes: z.number().min(1).optional().describe('Only sessions active in the last N minutes.'),
    search: z.string().max(500).optional().describe('Part of a key, label, name, subject or id.'),
    label: z.string().min(1).max(512).optional().describe('Exactly this label.'),
    agentId: z.string().optional().describe('Only this agent.'),
    allAgents: z.boolean().optional().describe('All agents; this is the default.'),
    spawnedBy: z.string().optional().describe('Only sub-agents of this session key.'),
    archived: flag('List archived sessions instead.'),
    includeGlobal: z.boolean().optional().describe('Also the session that everybody shares.'),
    includeUnknown: z.boolean().optional().describe('Also the session of unknown senders.'),
    includeDerivedTitles: flag('Add a title for each, made from its first prompt.'),
    includeLastMessage: flag('Add the last message of each.'),
    store: z.string().optional().describe('Another sessions.json to read.'),
  }),
)

type ListInput = z.output<ReturnType<typeof listInput>>

const withoutOptions = {
  limit: 100,
  offset: 0,
  archived: false,
  includeDerivedTitles: false,
  includeLastMessage: false,
}

export const listSessions = operation({
  name: 'sessions.list',
  description: 'List sessions, the newest first.',
  get input() {
    return listInput()
  },
  output: z.lazy(() =>
    z.object({
      ts: z.number(),
      path: z.string(),
      count: z.number(),
      total: z.number(),
      hasMore: z.boolean(),
      defaults: z.object({
        modelProvider: z.string(),
        model: z.string().nullable(),
        contextTokens: z.number().nullable(),
      }),
      sessions: z.array(sessionRow),
    }),
  ),
  scope: 'read',
  // What stands before the offset is read, too.
  isCostly: ({ limit, offset }) => limit === 'all' || numberOf(limit) + numberOf(offset) > 1_000,
  heavyParts: [],
  forAgents: true,
  command: {
    flags: { activeMinutes: 'active', ...agentFlag },
    paths: ['store'],
    examples: [
      'rockpool sessions',
      'rockpool sessions --active 60 --search deploy',
      'rockpool sessions list --agent main --limit all --json',
    ],
  },
  withoutOptions: { program: withoutOptions, person: withoutOptions },
  async run(app, input, caller) {
    const now = app.clock.now()
    const { total, rows, path } = await collect(app, input, caller, now)
    return {
      ts: now,
      path,
      count: rows.length,
      total,
      hasMore: input.offset + rows.length < total,
      defaults: {
        modelProvider: 'anthropic',
        model: app.config.agents.defaults.model ?? null,
        contextTokens: null,
      },
      sessions: rows,
    }
  },
})

function numberOf(given: unknown): number {
  return typeof given === 'number' ? given : 0
}

type Row = ReturnType<typeof rowOf>

async function collect(app: App, input: ListInput, caller: Caller, now: number) {
  const wanted = input.limit === 'all' ? Infinity : input.offset + input.limit
  const filter: ListFilter = {
    search: input.search,
    label: input.label,
    spawnedBy: input.spawnedBy,
    archived: input.archived,
    activeSince: input.activeMinutes === undefined ? undefined : now - input.activeMinutes * 60_000,
  }
  const { stores, path } = await storesOf(app, input, caller)
  const wantsTexts = input.includeDerivedTitles || input.includeLastMessage
  const sessionOf = new Map<Row, Session>()
  const toRow = (session: Session): Row => {
    const row = rowOf(session, now, app.config.session.mainKey)
    if (wantsTexts) sessionOf.set(row, session)
    return row
  }
  const isShown = (key: string): boolean => isListed(key, input, app)
  const pages = await Promise.all(stores.map((store) => readPages(store, { filter, wanted, isShown, toRow })))
  const shown = pages.flatMap((page) => page.rows)
  if (stores.length > 1) shown.sort((a, b) => b.updatedAt - a.updatedAt)
  const rows = shown.slice(input.offset, wanted)
  for (const row of wantsTexts ? rows : []) await addTexts(app, row, sessionOf.get(row)!, input)
  return { total: pages.reduce((sum, page) => sum + page.total, 0), rows, path }
}

async function addTexts(app: App, row: Row, session: Session, input: ListInput): Promise<void> {
  const { previewOf, titleOf } = await import('./session-history.ts')
  const lastOf = async (): Promise<string | undefined> => (await previewOf(app, session, 1, 240))[0]?.text
  if (input.includeDerivedTitles) row.derivedTitle = await readable(app, row, () => titleOf(app, session))
  if (input.includeLastMessage) row.lastMessagePreview = await readable(app, row, lastOf)
}

/** One unreadable transcript must not hide the other sessions; `doctor` reports the damage. */
async function readable<T>(app: App, { key }: Row, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    app.log.warn(
      { event: 'session-unreadable', key, error: String(error) },
      'Could not read a transcript; the session is listed without its texts.',
    )
    return undefined
  }
}

interface PageOptions {
  filter: ListFilter
  wanted: number
  isShown: (key: string) => boolean
  toRow: (session: Session) => Row
}

/** Reads a page at a time and keeps only the row of each session, so that a list of all sessions does not block others. */
async function readPages(store: SessionStore, { filter, wanted, isShown, toRow }: PageOptions) {
  const found = new Map<string, Row>()
  const left = new Set<string>()
  for (let offset = 0, limit: number; ; offset += limit) {
    limit = Math.min(pageSize, wanted + 1 - found.size)
    const { sessions, total } = await store.list({ ...filter, offset, limit })
    // A session that changed meanwhile moved to the front and pushed others into the next page, so keys may repeat.
    for (const session of sessions) {
      if (isShown(session.key)) found.set(session.key, toRow(session))
      else left.add(session.key)
    }
    if (sessions.length < limit || found.size > wanted)
      return { total: total - left.size, rows: [...found.values()] }
    await setImmediate()
  }
}

const pageSize = 250

async function storesOf(app: App, input: ListInput, caller: Caller) {
  if (input.store !== undefined) {
    // This reads any file of the machine, so only an operator may ask for it.
    authorizeOperation(caller, { name: 'sessions.list with a store of its own', scope: 'admin' })
    if (!isFile(input.store)) throw new RockpoolError('not-found', `There is no file ${input.store}.`)
    const { FileSessions } = await import('../../store/files/sessions-in-file.ts')
    const agentId = input.agentId ?? defaultAgentId(app.config)
    const { clock, log } = app
    const store: SessionStore = new FileSessions({ agentId, path: input.store, clock, log })
    return { stores: [store], path: input.store }
  }
  const agents = visibleAgents(app, caller, input.agentId)
  const path = agents.length === 1 ? app.paths.sessionsJson(agents[0]!) : '(multiple)'
  return { stores: agents.map((id) => app.storage.sessions(id)), path }
}

/** Runs of cron jobs are never listed; the shared sessions only on request or when they are in use. */
function isListed(key: string, input: ListInput, app: App): boolean {
  if (key === 'global') return input.includeGlobal ?? app.config.session.scope === 'global'
  if (key === 'unknown') return input.includeUnknown ?? false
  return !isCronRunSessionKey(key)
}
