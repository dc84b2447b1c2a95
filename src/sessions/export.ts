// Exports a session to a file: its transcript as JSONL, or the conversation as a page to read. The text comes in pieces,
// so that memory use stays small. sessions/import.ts reads it back.
import { isRecord, jsonText } from '../domain/json.ts'
import { maskTexts } from '../domain/redact.ts'
import type { Session } from '../domain/session.ts'
import type { TranscriptEntry, TranscriptMessage } from '../domain/transcript.ts'
import type { TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { archiveNote, isArchiveNote } from './archives.ts'

export type ExportFormat = 'jsonl' | 'markdown' | 'html'

interface ExportOptions {
  /** Removes secrets from every text. */
  redact?: (text: string) => string
}

export async function* exportSession(
  transcripts: TranscriptStore,
  session: Session,
  format: ExportFormat,
  { redact = (text) => text }: ExportOptions = {},
): AsyncGenerator<string> {
  const ref = transcriptOf(session)
  if (format === 'jsonl') {
    yield* linesOf(transcripts, session, redact)
    return
  }
  const page = format === 'html' ? htmlPage : markdownPage
  const title = session.entry.label ?? session.entry.displayName ?? session.key
  yield page.begin(redact(title), session)
  if (await transcripts.exists(ref)) {
    for await (const entry of transcripts.path(ref)) {
      for (const speech of speechOf(entry)) yield page.speech({ ...speech, text: redact(speech.text) })
    }
  }
  yield page.end
}

/** The lines of a JSONL export: the header, every entry of every branch, and a note with the session's key and row. */
async function* linesOf(
  transcripts: TranscriptStore,
  session: Session,
  redact: (text: string) => string,
): AsyncGenerator<string> {
  const ref = transcriptOf(session)
  const isThere = await transcripts.exists(ref)
  const header = isThere ? await transcripts.header(ref) : undefined
  const { sessionId, updatedAt } = session.entry
  const timestamp = new Date(updatedAt).toISOString()
  yield `${JSON.stringify(header ?? { type: 'session', version: 3, id: sessionId, timestamp, cwd: '' })}\n`
  let last: TranscriptEntry | undefined
  if (isThere) {
    for await (const entry of transcripts.read(ref)) {
      if (isArchiveNote(entry)) continue
      last = entry
      yield `${jsonText(maskTexts(entry, redact))}\n`
    }
  }
  const place = { id: 'ffffffff', parentId: last?.id ?? null, timestamp: last?.timestamp ?? timestamp }
  yield `${JSON.stringify({ ...archiveNote(session), ...place })}\n`
}

interface Page {
  begin(title: string, session: Session): string
  speech(speech: Speech): string
  end: string
}

const markdownPage: Page = {
  begin: (title, { key }) => `# ${oneLine(title)}\n\nSession \`${oneLine(key).replaceAll('`', '')}\`\n`,
  // Lines of the text that look like our headings are escaped, so that the import can tell them apart.
  speech: ({ role, at, text }) =>
    `\n## ${role} · ${at}\n\n${text.replace(/^(\\*## )/gm, '\\$1').trimEnd()}\n`,
  end: '',
}

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:50em;margin:2em auto;padding:0 1em}' +
  'article{border-top:1px solid #ccc;padding:.5em 0}h2{font-size:1em;margin:0}time{color:#666;font-weight:normal}' +
  'pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:.3em 0}'

const htmlPage: Page = {
  begin: (title, { key }) =>
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n' +
    // No text of the conversation can run a script or load anything in this page.
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">\n` +
    `<title>${escapeHtml(title)}</title>\n<style>${style}</style>\n</head>\n<body>\n` +
    `<h1>${escapeHtml(title)}</h1>\n<p>Session <code>${escapeHtml(key)}</code></p>\n`,
  speech: ({ role, at, text }) =>
    `<article data-role="${escapeHtml(role)}"><h2>${escapeHtml(role)} <time>${escapeHtml(at)}</time></h2>` +
    `<pre>${escapeHtml(text)}</pre></article>\n`,
  end: '</body>\n</html>\n',
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  // A browser would not show control characters, or refuse the page.
  const visible = text.toWellFormed().replace(/[\p{Cc}--[\n\t]]/gv, '\ufffd')
  return visible.replace(/[&<>"']/g, (char) => entities[char]!)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

export type SpeechRole = 'User' | 'Assistant' | 'Tool' | 'Note'

export interface Speech {
  role: SpeechRole
  at: string
  text: string
}

function speechOf(entry: TranscriptEntry): Speech[] {
  const say = (role: SpeechRole, text: string): Speech[] =>
    text.trim() === '' ? [] : [{ role, at: entry.timestamp, text }]
  switch (entry.type) {
    case 'message':
      return say(roleOf(entry.message), wordsOf(entry.message))
    case 'compaction':
      return say('Note', `Summary of the conversation before:\n\n${entry.summary}`)
    case 'branch_summary':
      return say('Note', entry.summary)
    case 'custom_message':
      return entry.display ? say('Note', textOf(entry.content)) : []
    default:
      return []
  }
}

function roleOf(message: TranscriptMessage): SpeechRole {
  if ('writer' in message && message.writer !== undefined) return 'Note'
  if (message.role === 'user') return 'User'
  if (message.role === 'assistant') return 'Assistant'
  return message.role === 'custom' ? 'Note' : 'Tool'
}

function wordsOf(message: TranscriptMessage): string {
  if (message.role === 'bashExecution') return `$ ${textOf(message['command'])}\n${textOf(message['output'])}`
  const text = withWriter(message, textOf(message['content']))
  const failed =
    message.role === 'assistant' && message.errorMessage ? `(failed: ${message.errorMessage})` : ''
  return [text, failed].filter(Boolean).join('\n')
}

/** A text of a program or a hook is neither the agent's nor the person's. */
function withWriter(message: TranscriptMessage, text: string): string {
  const isForeign = 'writer' in message && message.writer !== undefined
  return isForeign ? `A ${String(message.writer)} wrote:\n\n${text}` : text
}

/** The text of content in any form. An image becomes its type, a tool call one line. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(blockText).filter(Boolean).join('\n')
}

function blockText(block: unknown): string {
  if (!isRecord(block)) return ''
  const { type, text, name, arguments: input, mimeType } = block
  if (type === 'text') return typeof text === 'string' ? text : ''
  if (type === 'toolCall') return `[${String(name)}: ${JSON.stringify(input ?? {})}]`
  if (type === 'image') return `[image: ${typeof mimeType === 'string' ? mimeType : 'unknown'}]`
  return ''
}
