// Search results and notes. Results are grouped by session, with the lines around each match.
import { withoutMarker } from '../discovery/transcript-facts.ts'
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
    nextCommand(first, page),
  ].join('\n')
}

function printHit(hit: Hit, page: Page): string {
  const place = hit.path.includes('/subagents/') ? 'sub-agent, ' : ''
  const who = `${place}${hit.role}, line ${hit.line}${hit.by.length === 1 && hit.by[0] === 'meaning' ? ', by meaning' : ''}`
  return `  ${styled(page, 'cyan', who)}\n${wrapped(marked(hit, page), page, 4)}`
}

/** The command that shows the place of the best match. */
function nextCommand(hit: Hit, page: Page): string {
  const command = hit.source === 'memory' ? hit.path : `rockpool ${commandFor(hit)}`
  return styled(page, 'dim', `  ${visible(command)}`)
}

function commandFor({ source, sessionId, sessionKey, messageId }: Hit): string {
  if (source === 'native') {
    const around = messageId === undefined ? '' : ` --around ${messageId}`
    return `cc read ${sessionId.slice(0, 8)}${around}`
  }
  // A transcript that a reset has archived belongs to no session until it is restored.
  return sessionKey === undefined ? `sessions restore ${sessionId}` : `history ${sessionKey}`
}

/** Whole words are marked; parts of words only where no whole word matches. */
function marked(hit: Hit, page: Page): string {
  const { snippet, matches } = withoutOrigin(hit)
  const whole = matches.filter(([start, end]) => isWhole(snippet, start, end))
  let text = ''
  let done = 0
  for (const [start, end] of whole.length > 0 ? whole : matches) {
    if (start < done) continue
    text += visible(snippet.slice(done, start)) + styled(page, 'yellow', visible(snippet.slice(start, end)))
    done = end
  }
  return text + visible(snippet.slice(done))
}

function isWhole(text: string, start: number, end: number): boolean {
  const isWord = (character: string | undefined): boolean => /[\p{L}\p{N}_]/u.test(character ?? '')
  return !isWord(text[start - 1]) && !isWord(text[end])
}

/** The marker that programs write before a first message is not for people. */
function withoutOrigin({ snippet, matches }: Hit): Pick<Hit, 'snippet' | 'matches'> {
  const cut = snippet.length - withoutMarker(snippet).length
  const shifted = matches.map(([start, end]): [number, number] => [start - cut, end - cut])
  return { snippet: snippet.slice(cut), matches: shifted.filter(([start]) => start >= 0) }
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
