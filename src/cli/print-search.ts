// Search results and notes. Results are grouped by session, with the lines around each match.
import type { OutputOf } from '../rpc/client.ts'
import { ago, bytes, oneLine, pairs, styled, table, truncate, usd, visible, wrapped } from './print.ts'
import type { Page, Printers } from './print.ts'

type Hits = OutputOf<'sessions.search'>
type Hit = Hits['hits'][number]

export const printers: Printers = {
  'memory.list': ({ notes }, page) => {
    if (notes.length === 0) return 'No notes yet. `rockpool memory add "…"` writes one.'
    return table(page, notes, {
      AGENT: (row) => row.agentId,
      NOTE: { value: (row) => row.name, min: 12 },
      SIZE: { value: (row) => bytes(row.bytes), align: 'right' },
      CHANGED: { value: (row) => ago(row.changedAt, page.now), align: 'right' },
    })
  },
  'memory.search': printHits,
  'memory.show': ({ text }) => visible(text.trimEnd()),
  'memory.status': printIndex,
  'sessions.search': printHits,
}

function printHits({ hits, total, tookMs, notes }: Hits, page: Page): string {
  const remarks = notes.map((note) => styled(page, 'dim', visible(note)))
  if (hits.length === 0) return ['Nothing found.', ...remarks].join('\n')
  const sessions = Map.groupBy(hits, (hit) => `${hit.source} ${hit.sessionId}`)
  const of = total > hits.length ? ` of ${total}` : ''
  const places = total === 1 ? 'place' : 'places'
  const notesFound = [...sessions.values()].filter(([first]) => first!.source === 'memory').length
  const where = [counted(sessions.size - notesFound, 'session'), counted(notesFound, 'note')]
    .filter(Boolean)
    .join(' and ')
  const summary = `${hits.length}${of} ${places} in ${where}, ${tookMs} ms`
  const blocks = [...sessions.values()].map((group) => printSession(group, page))
  return [...blocks, [styled(page, 'dim', summary), ...remarks].join('\n')].join('\n\n')
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
    truncate(heading.join('  '), page.width + 40),
    ...hits.map((hit) => printHit(hit, page)),
    ...nextCommands(first, page),
  ].join('\n')
}

function printHit(hit: Hit, page: Page): string {
  const place = hit.path.includes('/subagents/') ? 'sub-agent, ' : ''
  const who = `${place}${hit.role}, line ${hit.line}${hit.by.length === 1 && hit.by[0] === 'meaning' ? ', by meaning' : ''}`
  return `  ${styled(page, 'cyan', who)}\n${wrapped(marked(hit, page), page, 4)}`
}

/** Commands that read the session, resume it, or fork it after the best match. */
function nextCommands(hit: Hit, page: Page): string[] {
  if (hit.source === 'memory') return [styled(page, 'dim', `  ${visible(hit.path)}`)]
  const commands = hit.source === 'native' ? nativeCommands(hit) : chatCommands(hit)
  const lines = commands.map((command) => visible(`rockpool ${command}`))
  const joined = lines.join(' · ')
  return (joined.length + 2 <= page.width ? [joined] : lines).map((each) => styled(page, 'dim', `  ${each}`))
}

function nativeCommands({ sessionId, messageId }: Hit): string[] {
  const after = messageId === undefined ? '' : ` --at-message ${messageId}`
  const id = sessionId.slice(0, 8)
  return [`cc info ${id}`, `cc resume ${id}`, `cc fork ${id}${after}`]
}

/** A transcript that a reset has archived belongs to no session until it is restored. */
function chatCommands({ sessionId, sessionKey, messageId }: Hit): string[] {
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

function printIndex(status: OutputOf<'memory.status'>, page: Page): string {
  const { sources, passages, spoken, withPieces, withVector, withoutTools, reading, meaning, lack } = status
  const share = (done: number, of: number): string =>
    of === 0 ? 'nothing yet' : `${Math.floor((done / of) * 100)}% (${done} of ${of} passages)`
  return pairs(page, {
    Words: `${passages} passages of ${sources} files`,
    Reading: reading && `${reading.filesDone} of ${reading.files} files`,
    Substrings: share(withPieces, passages),
    Tools: withoutTools === 0 ? 'all files' : `${withoutTools} files are left`,
    Meaning: meaning ? `${share(withVector, spoken)}, ${meaning.languages} (${meaning.name})` : lack,
  })
}
