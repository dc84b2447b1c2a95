// What a compaction removed: it is gone from the model's context, never from the transcript. For people who look back,
// and for the agent that asks for it.
import { z } from 'zod'
import { spokenIn } from '../../discovery/conversation-records.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import type { TranscriptStore } from '../../store/session-store.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { textOf } from './session-preview.ts'
import { findSessions, noSession } from './which-session.ts'

export interface LostLine {
  role: 'user' | 'assistant'
  text: string
  /** ISO 8601; empty when the record does not say. */
  at: string
}

export interface Lost {
  key: string
  agentId: string
  sessionId: string
  compactions: number
  /** How many lines were removed and fit the words. */
  total: number
  /** The last of them, in their order. */
  lines: LostLine[]
}

export const recallLost = operation({
  name: 'sessions.lost',
  description:
    'Give what was said before the last compaction and is no longer in the context, all of it or what has some words.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).optional().describe("The session; an agent's own when absent."),
    query: z.string().max(1000).optional().describe('Only what has all of these words.'),
    limit: z.int().min(1).max(500).default(40).describe('How many lines, the last ones.'),
  }),
  output: z.object({
    key: z.string(),
    agentId: z.string(),
    sessionId: z.string(),
    compactions: z.number(),
    total: z.number(),
    lines: z.array(z.object({ role: z.enum(['user', 'assistant']), text: z.string(), at: z.string() })),
  }),
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: { positional: ['key'], examples: ['rockpool sessions lost main --query "harbour"'] },
  async run(app, { key, query, limit }, caller) {
    const wanted = key ?? caller.sessionKey
    if (wanted === undefined) {
      throw new RockpoolError('input-invalid', 'Which session? Give its key.', {
        hint: '`rockpool sessions` lists them.',
      })
    }
    return lostOf(app, caller, wanted, limit, query)
  },
})

/** Of a session of ours, else of one of Claude's. */
export async function lostOf(
  app: App,
  caller: Caller,
  ref: string,
  limit: number,
  query = '',
): Promise<Lost> {
  const [session, ...others] = await findSessions(app, caller, ref)
  if (others.length > 0) {
    throw new RockpoolError('ambiguous', `${JSON.stringify(ref)} could be ${others.length + 1} sessions.`)
  }
  const removed = new Removed(query, limit)
  if (session) {
    const { key, agentId, entry } = session
    await readOurs(app, session, removed)
    // Claude compacts its own record of the conversation; ours may know nothing of it.
    const native = removed.compactions === 0 ? await behind(app, session) : undefined
    if (native) await readNative(native, removed)
    return { key, agentId, sessionId: entry.sessionId, ...removed.answer() }
  }
  const native = await nativeOf(app, caller, ref)
  await readNative(native, removed)
  return { key: ref, agentId: native.agentId ?? '', sessionId: native.sessionId, ...removed.answer() }
}

async function readOurs(app: App, session: Session, removed: Removed): Promise<void> {
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

/** What `sessions compact --max-lines` cut off is in backups beside the transcript, the oldest first. */
async function readCutOff(
  transcripts: TranscriptStore,
  sessionId: string,
  known: Set<string>,
  removed: Removed,
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

async function readNative(session: DiscoveredSession, removed: Removed): Promise<void> {
  let since: LostLine[] = []
  for await (const { kind, text, at } of spokenIn(session.filePath)) {
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

async function behind(app: App, { entry }: Session): Promise<DiscoveredSession | undefined> {
  if (entry.sdkSessionId === undefined) return undefined
  const { sessions } = await app.discovery().list()
  return sessions.find(({ sessionId }) => sessionId === entry.sdkSessionId)
}

async function nativeOf(app: App, caller: Caller, ref: string): Promise<DiscoveredSession> {
  const session = /^[0-9a-f-]{4,}$/i.test(ref) ? await app.discovery().get(ref) : undefined
  if (session && (caller.agentId === undefined || session.agentId === caller.agentId)) return session
  throw noSession(ref)
}

/** Lines that fit the words; only the last ones are kept. */
class Removed {
  compactions = 0
  readonly #words: string[]
  readonly #limit: number
  #total = 0
  #lines: LostLine[] = []

  constructor(query: string, limit: number) {
    this.#words = query.toLowerCase().split(/\s+/).filter(Boolean)
    this.#limit = limit
  }

  add(line: LostLine): void {
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
      this.add({ role, text: textOf(entry.message), at: entry.timestamp })
  }

  answer(): Pick<Lost, 'compactions' | 'total' | 'lines'> {
    return { compactions: this.compactions, total: this.#total, lines: this.#lines }
  }
}
