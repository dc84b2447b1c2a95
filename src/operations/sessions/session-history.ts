// What was said in a session: previews, pages of its transcript, and its end as it grows.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { titleText } from '../../domain/machine-text.ts'
import type { Session } from '../../domain/session.ts'
import { plainLine } from '../../domain/text.ts'
import { contentText, type TranscriptEntry, type TranscriptMessage } from '../../domain/transcript.ts'
import type { TranscriptPage } from '../../store/session-store.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { compactedHistory } from './session-compact.ts'
import { agentFlag, findSession, findSessions, visibleAgents, whichSession } from './which-session.ts'
import { flag } from '../input-fields.ts'

export const previewItem = z.object({
  role: z.enum(['user', 'assistant', 'tool', 'system', 'other']),
  text: z.string(),
})
type PreviewItem = z.infer<typeof previewItem>

const preview = z.object({
  key: z.string(),
  status: z.enum(['ok', 'empty', 'missing', 'error']),
  items: z.array(previewItem),
})

const previewSessions = operation({
  name: 'sessions.preview',
  description: 'Give the last messages of some sessions, shortened.',
  input: z.strictObject({
    keys: z.array(z.string().min(1).max(2000)).min(1).describe('Keys, ids or labels; at most the first 64.'),
    limit: z.int().min(1).max(200).default(12).describe('How many messages of each.'),
    maxChars: z.int().min(20).max(100_000).default(240).describe('The longest text of a message.'),
  }),
  output: z.object({ ts: z.number(), previews: z.array(preview) }),
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: { positional: ['keys'], examples: ['rockpool sessions preview main --limit 4'] },
  async run(app, input, caller) {
    const keys = input.keys.slice(0, 64)
    const previews = await Promise.all(keys.map((key) => previewByKey(app, caller, key, input)))
    return { ts: app.clock.now(), previews }
  },
})

async function previewByKey(
  app: App,
  caller: Caller,
  key: string,
  { limit, maxChars }: { limit: number; maxChars: number },
): Promise<z.infer<typeof preview>> {
  try {
    const found = await findSessions(app, caller, key)
    if (found.length !== 1) return { key, status: found.length === 0 ? 'missing' : 'error', items: [] }
    const items = await previewOf(app, found[0]!, limit, maxChars)
    return { key, status: items.length > 0 ? 'ok' : 'empty', items }
  } catch (error) {
    app.log.warn(
      { event: 'preview-failed', key, error: String(error) },
      'Could not read a session; its preview is empty.',
    )
    return { key, status: 'error', items: [] }
  }
}

/** The last messages, oldest first. */
export async function previewOf(
  app: App,
  session: Session,
  limit: number,
  maxChars: number,
): Promise<PreviewItem[]> {
  const items: PreviewItem[] = []
  let before: number | undefined
  // A page may contain no text at all: model changes, labels, tool calls.
  for (let pages = 0; pages < 5 && items.length < limit; pages++) {
    const page = await tailOf(app, session, limit * 2, before)
    items.unshift(...page.entries.flatMap((entry) => itemOf(entry, maxChars)))
    before = page.before
    if (before === undefined) break
  }
  return items.slice(-limit)
}

function itemOf(entry: TranscriptEntry, maxChars: number): PreviewItem[] {
  if (entry.type === 'compaction') return [{ role: 'system', text: cut(entry.summary, maxChars) }]
  const text = entry.type === 'message' ? contentText(entry.message.content) : ''
  if (entry.type !== 'message' || text === '') return []
  return [{ role: roleOf(entry.message), text: cut(text, maxChars) }]
}

function roleOf(message: TranscriptMessage): PreviewItem['role'] {
  // Neither the person's words nor the agent's.
  if ('writer' in message && message.writer !== undefined) return 'other'
  const { role } = message
  if (role === 'user' || role === 'assistant') return role
  return role === 'toolResult' || role === 'bashExecution' ? 'tool' : 'other'
}

function cut(text: string, maxChars: number): string {
  const clean = text.replace(/\s+/g, ' ').trim()
  return clean.length <= maxChars ? clean : `${Array.from(clean.slice(0, maxChars)).slice(0, -4).join('')}...`
}

/** A title for a session in a list: its name or subject, else its first prompt. */
export async function titleOf(app: App, session: Session): Promise<string> {
  const { displayName, subject, sessionId, updatedAt } = session.entry
  const named = [displayName, subject].find((name) => typeof name === 'string' && name.trim() !== '')
  if (named) return plainLine(named, 60)
  const transcripts = app.storage.transcripts(session.agentId)
  const ref = transcriptOf(session)
  let entries = 0
  for await (const entry of (await transcripts.exists(ref)) ? transcripts.read(ref) : []) {
    const isPrompt = entry.type === 'message' && entry.message.role === 'user'
    const text = isPrompt ? contentText(entry.message.content) : ''
    if (text !== '') return plainLine(titleText(text), 60)
    if (++entries > 50) break
  }
  const at = new Date(updatedAt)
  const day = Number.isNaN(at.getTime()) ? '' : ` (${at.toISOString().slice(0, 10)})`
  return `${sessionId.slice(0, 8)}${day}`
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
type History = z.input<typeof historyOutput>

const readHistory = operation({
  name: 'sessions.history',
  description: 'Read the transcript of a session, the last part first.',
  input: z.strictObject({
    key: whichSession.key.optional(),
    agentId: whichSession.agentId,
    limit: z.int().min(1).max(5000).default(50).describe('How many entries.'),
    before: z.int().min(0).optional().describe('Continue before this mark of an earlier page.'),
    lost: flag('Read what compactions removed from the context instead.'),
  }),
  output: historyOutput,
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  forAgents: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: [
      'rockpool history',
      'rockpool history main --lost',
      'rockpool history main --limit 200',
      'rockpool history 08ef14de --json',
    ],
  },
  async run(app, { key, agentId, limit, before, lost }, caller) {
    if (lost && key) return removedPage(app, caller, key, limit)
    const session = await (key ? findSession(app, caller, key, agentId) : newestSession(app, caller, agentId))
    return lost ? removedPage(app, caller, session.key, limit) : pageOf(app, session, limit, before)
  },
})

/** What compactions removed, as entries; also of Claude's own sessions. */
async function removedPage(app: App, caller: Caller, ref: string, limit: number): Promise<History> {
  const { lines, compactions, total, ...session } = await compactedHistory(app, caller, ref, limit)
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
  const newest = pages.flatMap((page) => page.sessions)
  newest.sort((a, b) => b.entry.updatedAt - a.entry.updatedAt)
  if (newest[0]) return newest[0]
  throw new RockpoolError('not-found', 'There are no chat sessions yet.', {
    hint: '`rockpool chat` begins one. `rockpool cc read` shows a session of Claude Code.',
  })
}

async function pageOf(app: App, session: Session, limit: number, before?: number): Promise<History> {
  const page = await tailOf(app, session, limit, before)
  return {
    key: session.key,
    agentId: session.agentId,
    sessionId: session.entry.sessionId,
    header: page.header ?? null,
    entries: page.entries,
    before: page.before,
    damage: page.damage,
  }
}

/** The end of a session's transcript; empty for a session without messages. */
export async function tailOf(
  app: App,
  session: Session,
  limit: number,
  before?: number,
): Promise<TranscriptPage> {
  const transcripts = app.storage.transcripts(session.agentId)
  const ref = transcriptOf(session)
  if (await transcripts.exists(ref)) return transcripts.tail(ref, limit, before)
  return { header: undefined, entries: [], damage: [] }
}

const tailSession = operation({
  name: 'sessions.tail',
  description: 'Show the end of a transcript, and follow it as it grows.',
  input: z.strictObject({
    ...whichSession,
    tail: z.int().min(0).max(5000).default(80).describe('How many entries.'),
    after: z.string().optional().describe('Only the entries after the one with this id.'),
  }),
  output: historyOutput,
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: ['rockpool sessions tail main --follow', 'rockpool sessions tail main --tail 10 --json'],
    nextInput(input, output) {
      const last = (output['entries'] as Array<{ id: string }>).at(-1)?.id
      return last === undefined ? input : { ...input, after: last }
    },
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const page = await pageOf(app, session, Math.max(1, input.after === undefined ? input.tail : 1000))
    const seen = input.after === undefined ? -1 : page.entries.findIndex((entry) => entry.id === input.after)
    return { ...page, entries: page.entries.slice(seen + 1) }
  },
})

export const operations = [previewSessions, readHistory, tailSession]
