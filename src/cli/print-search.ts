// How what was found looks in a terminal: by session, with the lines around what matched.
import type { SearchStatus } from '../domain/search.ts'
import type { SearchOutput } from '../operations/search/search-sessions.ts'
import { ago, broken, bytes, fit, oneLine, pairs, styled, table, usd, visible } from './print.ts'
import type { Page } from './print.ts'

type Hit = SearchOutput['hits'][number]

export function printSearch({ hits, total, tookMs, notes }: SearchOutput, page: Page): string {
  const said = notes.map((note) => styled(page, 'dim', visible(note)))
  if (hits.length === 0) return ['Nothing found.', ...said].join('\n')
  const sessions = Map.groupBy(hits, (hit) => `${hit.source} ${hit.sessionId}`)
  const of = total > hits.length ? ` of ${total}` : ''
  const places = total === 1 ? 'place' : 'places'
  const notesFound = [...sessions.values()].filter(([first]) => first!.source === 'memory').length
  const where = [counted(sessions.size - notesFound, 'session'), counted(notesFound, 'note')]
    .filter(Boolean)
    .join(' and ')
  const count = `${hits.length}${of} ${places} in ${where}, ${tookMs} ms`
  const blocks = [...sessions.values()].map((group) => printSession(group, page))
  return [...blocks, [styled(page, 'dim', count), ...said].join('\n')].join('\n\n')
}

function counted(count: number, what: string): string {
  if (count < 2) return count === 1 ? `one ${what}` : ''
  return `${count} ${what}s`
}

function printSession(hits: Hit[], page: Page): string {
  const first = hits[0]!
  const newest = Math.max(...hits.map(({ at }) => at))
  const facts = [
    first.source === 'memory' ? 'note' : first.sessionId.slice(0, 8),
    first.agentId,
    first.repoPath || undefined,
    first.branch,
    first.channel,
    newest > 0 ? ago(newest, page.now) : undefined,
    first.costUsd === undefined ? undefined : usd(first.costUsd),
  ]
  const title = oneLine(first.title ?? first.sessionKey ?? (first.source === 'memory' ? first.sessionId : ''))
  const about = facts.filter((fact) => fact !== undefined).join(' · ')
  const heading = [...(title ? [styled(page, 'bold', title)] : []), styled(page, 'dim', visible(about))]
  return [
    fit(heading.join('  '), page.width + 40),
    ...hits.map((hit) => printHit(hit, page)),
    ...waysOn(first, page),
  ].join('\n')
}

function printHit(hit: Hit, page: Page): string {
  const place = hit.path.includes('/subagents/') ? 'sub-agent, ' : ''
  const who = `${place}${hit.role}, line ${hit.line}${hit.by.length === 1 && hit.by[0] === 'meaning' ? ', by meaning' : ''}`
  return `  ${styled(page, 'cyan', who)}\n${broken(marked(hit, page), page, 4)}`
}

/** Suggested next commands: read it, resume it, or fork it after the best match. */
function waysOn(hit: Hit, page: Page): string[] {
  if (hit.source === 'memory') return [styled(page, 'dim', `  ${visible(hit.path)}`)]
  const commands = hit.source === 'native' ? nativeWays(hit) : ourWays(hit)
  const written = commands.map((command) => visible(`rockpool ${command}`))
  const line = written.join(' · ')
  const lines = line.length + 2 <= page.width ? [line] : written
  return lines.map((each) => styled(page, 'dim', `  ${each}`))
}

function nativeWays({ sessionId, messageId }: Hit): string[] {
  const after = messageId === undefined ? '' : ` --at-message ${messageId}`
  const id = sessionId.slice(0, 8)
  return [`cc info ${id}`, `cc resume ${id}`, `cc fork ${id}${after}`]
}

/** A transcript that a reset has set aside belongs to no session until it is brought back. */
function ourWays({ sessionId, sessionKey, messageId }: Hit): string[] {
  if (sessionKey === undefined) return [`sessions restore ${sessionId}`]
  const after = messageId === undefined ? '' : ` --leaf-id ${messageId}`
  return [`history ${sessionKey}`, `chat --session-key ${sessionKey}`, `sessions fork ${sessionKey}${after}`]
}

function marked({ snippet, matches }: Hit, page: Page): string {
  let text = ''
  let done = 0
  for (const [start, end] of matches) {
    if (start < done) continue
    text += visible(snippet.slice(done, start)) + styled(page, 'yellow', visible(snippet.slice(start, end)))
    done = end
  }
  return text + visible(snippet.slice(done))
}

export function printMemoryStatus(status: SearchStatus, page: Page): string {
  const { sources, passages, spoken, withPieces, withVector, withoutTools, reading, meaning, lack } = status
  const share = (done: number, of: number): string =>
    of === 0 ? 'nothing yet' : `${Math.floor((done / of) * 100)}% (${done} of ${of} passages)`
  return pairs(
    [
      ['Words', `${passages} passages of ${sources} files`],
      ['Reading', reading && `${reading.filesDone} of ${reading.files} files`],
      ['Substrings', share(withPieces, passages)],
      ['Tools', withoutTools === 0 ? 'all files' : `${withoutTools} files are left`],
      ['Meaning', meaning ? `${share(withVector, spoken)}, ${meaning.languages} (${meaning.name})` : lack],
    ],
    page,
  )
}

export function printRebuilt(done: { files: number; passages: number; bytesRead: number }): string {
  return `Read again: ${done.passages} passages of ${done.files} files, ${bytes(done.bytesRead)}.`
}

interface NoteRow {
  agentId: string
  name: string
  bytes: number
  changedAt: number
}

export function printNotes({ notes }: { notes: NoteRow[] }, page: Page): string {
  if (notes.length === 0) return 'No notes yet. `rockpool memory add "…"` writes one.'
  const columns = [
    { title: 'AGENT', value: (row: NoteRow) => row.agentId },
    { title: 'NOTE', value: (row: NoteRow) => row.name, min: 12 },
    { title: 'SIZE', value: (row: NoteRow) => bytes(row.bytes), align: 'right' as const },
    { title: 'CHANGED', value: (row: NoteRow) => ago(row.changedAt, page.now), align: 'right' as const },
  ]
  return table(notes, columns, page)
}

export function printNote({ text }: { text: string }): string {
  return visible(text.trimEnd())
}

export function printNoted({ agentId, name }: { agentId: string; name: string }): string {
  return `Noted in ${oneLine(name)} of ${oneLine(agentId)}.`
}
