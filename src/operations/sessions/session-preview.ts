// What a session was about, from its transcript, without reading more of it than needed.
import type { Session } from '../../domain/session.ts'
import type { TranscriptEntry, TranscriptMessage } from '../../domain/transcript.ts'
import { plainLine } from '../../domain/text.ts'
import type { TranscriptPage } from '../../store/session-store.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'
import type { App } from '../app.ts'

export interface PreviewItem {
  role: 'user' | 'assistant' | 'tool' | 'system' | 'other'
  text: string
}

/** The last things said, oldest first. */
export async function previewOf(
  app: App,
  session: Session,
  limit: number,
  maxChars: number,
): Promise<PreviewItem[]> {
  const items: PreviewItem[] = []
  let before: number | undefined
  // A page may hold nothing that is said: model changes, labels, tool calls without text.
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
  if (entry.type !== 'message') return []
  const text = textOf(entry.message)
  return text === '' ? [] : [{ role: roleOf(entry.message), text: cut(text, maxChars) }]
}

function roleOf(message: TranscriptMessage): PreviewItem['role'] {
  if (message.role === 'user' || message.role === 'assistant') return message.role
  return message.role === 'toolResult' || message.role === 'bashExecution' ? 'tool' : 'other'
}

/** The words of a message, without pictures, thoughts and tool calls. */
export function textOf(message: TranscriptMessage): string {
  const { content } = message
  if (typeof content === 'string') return content.trim()
  if (!Array.isArray(content)) return ''
  const blocks = content as Array<{ type?: unknown; text?: unknown }>
  const texts = blocks.filter((block) => block?.type === 'text' && typeof block.text === 'string')
  return texts
    .map((block) => block.text as string)
    .join('\n')
    .trim()
}

function cut(text: string, maxChars: number): string {
  const clean = text.replace(/\s+/g, ' ').trim()
  return clean.length <= maxChars ? clean : `${Array.from(clean.slice(0, maxChars)).slice(0, -4).join('')}...`
}

/** The end of a session's transcript. A session that nothing was said in yet has none, and that is no error. */
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

/** What a list may call the session: its names, else how it began. */
export async function titleOf(app: App, session: Session): Promise<string> {
  const { displayName, subject, sessionId, updatedAt } = session.entry
  const named = [displayName, subject].find((name) => typeof name === 'string' && name.trim() !== '')
  if (named) return plainLine(named, 60)
  const transcripts = app.storage.transcripts(session.agentId)
  const ref = transcriptOf(session)
  let looked = 0
  for await (const entry of (await transcripts.exists(ref)) ? transcripts.read(ref) : []) {
    if (entry.type === 'message' && entry.message.role === 'user') {
      const text = textOf(entry.message)
      if (text !== '') return plainLine(text, 60)
    }
    if (++looked > 50) break
  }
  const at = new Date(updatedAt)
  const day = Number.isNaN(at.getTime()) ? '' : ` (${at.toISOString().slice(0, 10)})`
  return `${sessionId.slice(0, 8)}${day}`
}
