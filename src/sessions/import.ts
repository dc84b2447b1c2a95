// Imports a session from an exported file: the whole transcript from JSONL, or the texts from a page. The session gets its
// old key if that is free, else a new one.
import { randomUUID } from 'node:crypto'
import { RockpoolError } from '../domain/errors.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry } from '../domain/transcript.ts'
import { readTranscriptText } from '../store/transcripts/transcript-read.ts'
import { archiveNoteIn, isArchiveNote } from './archives.ts'
import type { ExportFormat, Speech, SpeechRole } from './export.ts'
import { emitChange, newEntry, type SessionParts } from './session-parts.ts'
import { assistantMessage } from './transcript-changes.ts'

interface ImportResult {
  session: Session
  entries: number
  /** Problems with lines that could not be read. */
  damage: string[]
}

export async function importSession(
  parts: SessionParts,
  text: string,
  options: { format?: ExportFormat; key?: string } = {},
): Promise<ImportResult> {
  const format = options.format ?? formatOf(text)
  return format === 'jsonl'
    ? importLines(parts, text, options.key)
    : importPage(parts, text, format, options.key)
}

export function formatOf(text: string): ExportFormat {
  const start = text.slice(0, 200).trimStart()
  if (start.startsWith('{') || start.startsWith('\ufeff{')) return 'jsonl'
  return /^<(!doctype|html)/i.test(start) ? 'html' : 'markdown'
}

async function importLines(parts: SessionParts, text: string, wantedKey?: string): Promise<ImportResult> {
  const { header, entries, damage } = readTranscriptText(text)
  if (entries.length === 0) throw nothingToImport()
  const note = entries.map(archiveNoteIn).findLast((found) => found !== undefined)
  const key = await freeKey(parts, wantedKey, note?.key)
  const own = entries.filter((entry) => !isArchiveNote(entry))
  const made = { cwd: header?.cwd ?? '', timestamp: header?.timestamp }
  return { ...(await store(parts, key, fieldsToKeep(note?.entry), own, made)), damage }
}

async function importPage(
  parts: SessionParts,
  text: string,
  format: ExportFormat,
  wantedKey?: string,
): Promise<ImportResult> {
  const speeches = format === 'html' ? readHtml(text) : readMarkdown(text)
  if (speeches.length === 0) throw nothingToImport()
  let parentId: string | null = null
  const entries = speeches.map((speech, at) => {
    const id = (at + 1).toString(16).padStart(8, '0')
    const entry = { ...bodyOf(speech), id, parentId, timestamp: speech.at }
    parentId = id
    return entry
  })
  const key = await freeKey(parts, wantedKey)
  return { ...(await store(parts, key, {}, entries, { cwd: '' })), damage: [] }
}

/** The transcript is written before the row that names it, so that no session appears without its transcript. */
async function store(
  parts: SessionParts,
  key: string,
  fields: Partial<SessionEntry>,
  entries: TranscriptEntry[],
  header: { cwd: string; timestamp?: string },
): Promise<{ session: Session; entries: number }> {
  const entry = newEntry(parts.clock.now(), { ...fields, sessionId: randomUUID() })
  const { threadId } = classifySessionKey(key)
  await parts.transcripts.create({ sessionId: entry.sessionId, topicId: threadId }, header, entries)
  const label = entry.label
  const isTaken = label !== undefined && (await parts.sessions.list({ label, limit: 1 })).total > 0
  if (isTaken) delete entry.label
  await parts.sessions.update(key, () => entry)
  emitChange(parts, key, 'imported')
  return { session: { key, agentId: parts.sessions.agentId, entry }, entries: entries.length }
}

const keptFields = new Set([
  'label',
  'displayName',
  'thinkingLevel',
  'verboseLevel',
  'reasoningLevel',
  'modelOverride',
  'chatType',
  'channel',
])

/** Names and settings stay; all of them are texts. Links to a conversation of Claude's are left out: they belong to another machine or time. */
function fieldsToKeep(row: SessionEntry | undefined): Partial<SessionEntry> {
  const kept = Object.entries(row ?? {}).filter(
    ([field, value]) => keptFields.has(field) && typeof value === 'string',
  )
  return Object.fromEntries(kept)
}

async function freeKey(parts: SessionParts, wanted?: string, was?: string): Promise<string> {
  const { agentId } = parts.sessions
  if (wanted !== undefined) {
    if (await parts.sessions.get(wanted))
      throw new RockpoolError('conflict', `There is a session ${wanted} already.`, {
        hint: 'Choose another --key, or reset that one first.',
      })
    return wanted
  }
  const isOurs = was?.startsWith(`agent:${agentId}:`) ?? false
  if (was !== undefined && isOurs && !(await parts.sessions.get(was))) return was
  return `agent:${agentId}:dashboard:${randomUUID()}`
}

function readMarkdown(text: string): Speech[] {
  const pieces = text.replace(/\r\n/g, '\n').split(/^## (User|Assistant|Tool|Note)(?: · (\S+))?[ \t]*$/m)
  const speeches: Speech[] = []
  for (let n = 1; n + 2 < pieces.length; n += 3) {
    const words = pieces[n + 2]!.trim().replace(/^\\(\\*## )/gm, '$1')
    if (words !== '') speeches.push({ role: pieces[n] as SpeechRole, at: pieces[n + 1] ?? '', text: words })
  }
  return speeches
}

const article =
  /<article data-role="(User|Assistant|Tool|Note)"><h2>[^<]*<time>([^<]*)<\/time><\/h2><pre>([^<]*)<\/pre><\/article>/g

function readHtml(text: string): Speech[] {
  return Array.from(text.matchAll(article), ([, role, at, words]) => ({
    role: role as SpeechRole,
    at: unescapeHtml(at!),
    text: unescapeHtml(words!),
  }))
}

const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name]!)
}

function bodyOf({ role, at, text }: Speech): EntryBody {
  const timestamp = Date.parse(at) || 0
  if (role === 'User') return { type: 'message', message: { role: 'user', content: text, timestamp } }
  if (role !== 'Assistant')
    return { type: 'custom_message', customType: 'imported', content: text, display: true }
  return assistantMessage(text, 'imported', timestamp)
}

function nothingToImport(): RockpoolError {
  return new RockpoolError('input-invalid', 'There is no conversation in this file.', {
    hint: 'It must be a session that was exported as JSONL, Markdown or HTML, or a transcript of OpenClaw.',
  })
}
