// Compaction: shorten the context of a session, and read what compactions removed from it.
import { requireClaude } from '../../discovery/agents/readers.ts'
import { z } from 'zod'
import type { Session } from '../../domain/session.ts'
import { truncateTranscript } from '../../sessions/transcript-changes.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import { recall } from '../cc/recall.ts'
import { operation, type Caller } from '../operation.ts'
import { callerAuthor } from '../../rights/rights.ts'
import {
  agentFlag,
  ambiguous,
  findSession,
  findSessions,
  noSession,
  partsOf,
  whichSession,
} from './which-session.ts'
import { conversationRecords } from '../../discovery/conversation-records.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { contentText, type TranscriptEntry } from '../../domain/transcript.ts'
import type { TranscriptStore } from '../../store/session-store.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'

const compactOutput = z.object({
  ok: z.boolean(),
  key: z.string(),
  compacted: z.boolean(),
  reason: z.string().optional(),
  kept: z.number(),
  archived: z.string().optional(),
  claudeUnchanged: z.boolean(),
})

const compactSession = operation({
  name: 'sessions.compact',
  description: 'Shorten a session: ask Claude to compact, or keep only the last lines of our transcript.',
  input: z.strictObject({
    ...whichSession,
    maxLines: z.int().min(1).optional().describe('Only cut our transcript to this many entries.'),
  }),
  output: compactOutput,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: ['rockpool sessions compact main', 'rockpool sessions compact main --max-lines 400'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const bound = session.entry.sdkSessionId !== undefined
    if (bound && input.maxLines === undefined) return compactWithClaude(app, session, caller)
    const result = await truncateTranscript(partsOf(app, session), session.key, input.maxLines)
    const note = result.claudeUnchanged ? { reason: "Claude's own context is unchanged." } : {}
    return { ok: true, ...result, ...note }
  },
})

/** Claude compacts its own context in a turn of its own. */
async function compactWithClaude(app: App, session: Session, caller: Caller) {
  const { key, agentId, entry: before } = session
  const conversations = await app.conversations()
  const end = await conversations.ask({
    agentId,
    sessionKey: key,
    text: '/compact',
    from: 'operator',
    askedBy: callerAuthor(caller),
    mayCommand: true,
    timeoutMs: compactMs,
  })
  if (end.error !== undefined) throw end.error
  const after = await app.storage.sessions(agentId).peek(key)
  const compacted = (after?.compactionCount ?? 0) > (before.compactionCount ?? 0)
  const reason = end.replies.flatMap((reply) => reply.text ?? []).join(' ')
  return { ok: true, key, compacted, reason, kept: 0, claudeUnchanged: !compacted }
}

const compactMs = 300_000

const removedLine = z.object({
  role: z.enum(['user', 'assistant']),
  text: z.string(),
  at: z.string().describe('ISO 8601; empty when the record has no time.'),
})
type RemovedLine = z.infer<typeof removedLine>

const recalledCut = z.object({
  text: z.string(),
  from: z.number(),
  next: z.number().optional().describe('Continue from this character; absent at the end.'),
  images: z.array(z.object({ mediaType: z.string(), data: z.string().describe('Base64.') })),
})

const removedOutput = z.object({
  key: z.string(),
  agentId: z.string(),
  sessionId: z.string(),
  compactions: z.number(),
  total: z.number().describe('How many removed lines match the words.'),
  lines: z.array(removedLine).describe('The last of them, in their order.'),
  cut: recalledCut.optional().describe('The cut with the handle.'),
})
type CompactedHistory = z.infer<typeof removedOutput>

const recallRemoved = operation({
  name: 'sessions.lost',
  description:
    'Give what compactions removed from the context, all of it or the lines with some words; or one cut of a trimmed session.',
  input: z.strictObject({
    key: whichSession.key.optional().describe('The session; the calling one when absent.'),
    query: z.string().max(1000).optional().describe('Only lines that contain all of these words.'),
    limit: z.int().min(1).max(500).default(40).describe('How many of the last lines.'),
    handle: z.string().max(100).optional().describe('Give the cut with this handle instead, word for word.'),
    from: z.int().min(0).default(0).describe('Begin at this character of the cut.'),
  }),
  output: removedOutput,
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: {
    positional: ['key'],
    examples: [
      'rockpool sessions lost main --query "harbour"',
      'rockpool sessions lost --handle 3f2a0b1c-9d4e.7c9d2e11-5a3b.0',
    ],
  },
  async run(app, { key, query, limit, handle, from }, caller) {
    if (handle !== undefined) return recallByHandle(app, caller, handle, from)
    const wanted = key ?? caller.sessionKey
    if (wanted === undefined)
      throw new RockpoolError('input-invalid', 'Which session? Give its key.', {
        hint: '`rockpool sessions` lists them.',
      })
    return compactedHistory(app, caller, wanted, limit, query)
  },
})

const recalledChars = 50_000

async function recallByHandle(
  app: App,
  caller: Caller,
  handle: string,
  from: number,
): Promise<CompactedHistory> {
  const request = { handle, from, limit: recalledChars }
  const mayRead = (session: DiscoveredSession): boolean => mayReadSession(session, caller.agentId)
  const { session, cut } = await recall(app, request, mayRead)
  const { sessionId: id, agentId = '' } = session
  return { key: id, agentId, sessionId: id, compactions: 0, total: 0, lines: [], cut }
}

/** What compactions removed from a session of ours or, if none has this name, from one of Claude's. The lines are gone from the
 *  model's context, never from the transcript. */
export async function compactedHistory(
  app: App,
  caller: Caller,
  ref: string,
  limit: number,
  query = '',
): Promise<CompactedHistory> {
  const found = await findSessions(app, caller, ref)
  if (found.length > 1) throw ambiguous(ref, found)
  const [session] = found
  const removed = new RemovedLines(query, limit)
  if (session) {
    const { key, agentId, entry } = session
    await readOurs(app, session, removed)
    // Claude compacts its own transcript, and ours does not always record that: then read Claude's.
    const native = removed.compactions === 0 ? await claudeSessionOf(app, session) : undefined
    if (native) await readNative(native, removed)
    return { key, agentId, sessionId: entry.sessionId, ...removed.answer() }
  }
  const native = await nativeOf(app, caller, ref)
  await readNative(native, removed)
  return { key: ref, agentId: native.agentId ?? '', sessionId: native.sessionId, ...removed.answer() }
}

async function readOurs(app: App, session: Session, removed: RemovedLines): Promise<void> {
  const transcripts = app.storage.transcripts(session.agentId)
  const ref = transcriptOf(session)
  if (!(await transcripts.exists(ref))) return
  const path: TranscriptEntry[] = []
  for await (const entry of transcripts.path(ref)) path.push(entry)
  await readCutOff(transcripts, session.entry.sessionId, new Set(path.map(({ id }) => id)), removed)
  const at = path.findLastIndex(({ type }) => type === 'compaction')
  const compaction = path[at]
  if (compaction?.type !== 'compaction') return
  removed.compactions += path.filter(({ type }) => type === 'compaction').length
  const kept = path.findIndex(({ id }) => id === compaction.firstKeptEntryId)
  for (const entry of path.slice(0, kept >= 0 && kept < at ? kept : at)) removed.addEntry(entry)
}

/** Reads what `sessions compact --max-lines` cut off: backups beside the transcript, the oldest first. */
async function readCutOff(
  transcripts: TranscriptStore,
  sessionId: string,
  known: Set<string>,
  removed: RemovedLines,
): Promise<void> {
  const archives = await transcripts.archives()
  const backups = archives.filter((one) => one.reason === 'bak' && one.sessionId === sessionId)
  for (const { name } of backups.toSorted((a, b) => a.at - b.at)) {
    removed.compactions++
    for await (const entry of transcripts.path(await transcripts.archiveRef(name))) {
      if (!known.has(entry.id)) removed.addEntry(entry)
      known.add(entry.id)
    }
  }
}

async function readNative(session: DiscoveredSession, removed: RemovedLines): Promise<void> {
  let since: RemovedLine[] = []
  for await (const { kind, text, at } of conversationRecords(session.filePath)) {
    if (kind === 'prompt' || kind === 'answer') {
      const role = kind === 'prompt' ? 'user' : 'assistant'
      since.push({ role, text, at: at > 0 ? new Date(at).toISOString() : '' })
    } else if (kind === 'compaction') {
      removed.compactions++
      for (const line of since) removed.add(line)
      since = []
    }
  }
}

async function claudeSessionOf(app: App, { entry }: Session): Promise<DiscoveredSession | undefined> {
  if (entry.sdkSessionId === undefined) return undefined
  const { sessions } = await app.discovery().list()
  return sessions.find(({ sessionId }) => sessionId === entry.sdkSessionId)
}

async function nativeOf(app: App, caller: Caller, ref: string): Promise<DiscoveredSession> {
  const session = /^[0-9a-f-]{4,}$/i.test(ref) ? await app.discovery().get(ref) : undefined
  if (session) requireClaude(session, 'compact it')
  if (session && (caller.agentId === undefined || session.agentId === caller.agentId)) return session
  throw noSession(ref)
}

/** Keeps the last lines that contain all words, and counts the others. */
class RemovedLines {
  compactions = 0
  readonly #words: string[]
  readonly #limit: number
  #total = 0
  #lines: RemovedLine[] = []

  constructor(query: string, limit: number) {
    this.#words = query.toLowerCase().split(/\s+/).filter(Boolean)
    this.#limit = limit
  }

  add(line: RemovedLine): void {
    const text = line.text.toLowerCase()
    if (text === '' || !this.#words.every((word) => text.includes(word))) return
    this.#total++
    this.#lines.push(line)
    if (this.#lines.length > this.#limit) this.#lines.shift()
  }

  addEntry(entry: TranscriptEntry): void {
    if (entry.type !== 'message') return
    const { role } = entry.message
    if (role === 'user' || role === 'assistant')
      this.add({ role, text: contentText(entry.message.content), at: entry.timestamp })
  }

  answer(): Pick<CompactedHistory, 'compactions' | 'total' | 'lines'> {
    return { compactions: this.compactions, total: this.#total, lines: this.#lines }
  }
}

export const operations = [compactSession, recallRemoved]
