// A session as a file to keep or to show: its transcript line by line, or the conversation as a page to read. Comes in
// pieces, so that a long one fits. sessions/import.ts takes it back.
import type { Session } from '../domain/session.ts'
import type { TranscriptEntry } from '../domain/transcript.ts'
import type { TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { archiveNote, isArchiveNote } from './archive-note.ts'
import { speechOf } from './readable-entry.ts'
import type { Speech } from './readable-entry.ts'
import { jsonText } from '../domain/json.ts'
import { maskTexts } from '../domain/redact.ts'

export type ExportFormat = 'jsonl' | 'markdown' | 'html'

export interface ExportOptions {
  /** Takes secrets out of every text. */
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

/** Header, every entry of every branch, and last a note that says which session it was. */
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
  // A line of the text that looks like one of our headings is marked, so that it can be told apart again.
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
    // Nothing in this page can run or be fetched, whatever was said in the conversation.
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
  // Control characters have no place in a page; a browser would show nothing or refuse.
  const visible = text.toWellFormed().replace(/[\p{Cc}--[\n\t]]/gv, '\ufffd')
  return visible.replace(/[&<>"']/g, (char) => entities[char]!)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
