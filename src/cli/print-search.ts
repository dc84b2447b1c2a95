// Search results and notes. Each session that was found is one line, with its best passage.
import { basename } from 'node:path'
import { withoutMarker } from '../domain/machine-text.ts'
import { readableKey } from '../domain/session-key-forms.ts'
import { shellWord } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, bytes, cellWidth, oneLine, pad, pairs, styled, table, truncate, visible } from './print.ts'
import type { Page, Printers } from './print.ts'

type Hits = OutputOf<'sessions.search'>
type Hit = Hits['hits'][number]

export const printers: Printers = {
  'cc.similar': printHits,
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

function printHits({ hits, total, isEstimated, tookMs, notes, suggestion }: Hits, page: Page): string {
  const remarks = notes.map((note) => styled(page, 'dim', visible(note)))
  if (suggestion !== undefined) remarks.unshift(`Did you mean ${visible(JSON.stringify(suggestion))}?`)
  if (hits.length === 0) return ['Nothing found.', ...remarks].join('\n')
  const sessions = [...Map.groupBy(hits, (hit) => `${hit.source} ${hit.sessionId}`).values()]
  const of = total > hits.length ? ` of ${isEstimated ? 'about ' : ''}${total}` : ''
  const places = total === 1 ? 'place' : 'places'
  const notesFound = sessions.filter(([first]) => first!.source === 'memory').length
  const where = [counted(sessions.length - notesFound, 'session'), counted(notesFound, 'note')]
    .filter(Boolean)
    .join(' and ')
  const summary = `${hits.length}${of} ${places} in ${where}, ${tookMs} ms`
  const hint = page.interactive && !page.input?.['commands'] ? '--commands shows how to open them' : ''
  const ending = summaryWith(hint, summary, page.width).map((line) => styled(page, 'dim', line))
  const rows = sessions.map((group) => rowOf(group, page))
  const columns = columnsFor(rows, page.width)
  const lines = rows.flatMap((row) => printRow(row, columns, page))
  return [...lines, ...ending, ...remarks].join('\n')
}

/** The hint has a line of its own where both do not fit into one. */
function summaryWith(hint: string, summary: string, width: number): string[] {
  if (hint === '') return [summary]
  const both = `${summary}; ${hint}`
  return cellWidth(both) <= width ? [both] : [summary, hint]
}

function counted(count: number, what: string): string {
  if (count < 2) return count === 1 ? `one ${what}` : ''
  return `${count} ${what}s`
}

interface Row {
  hit: Hit
  id: string
  age: string
  place: string
  title: string
  /** How many more passages of the session were found. */
  more: string
}

function rowOf(hits: Hit[], page: Page): Row {
  const [hit] = hits as [Hit]
  return {
    hit,
    id: hit.source === 'memory' ? 'note' : oneLine(hit.sessionId.slice(0, 8)),
    age: hit.at > 0 ? ago(hit.at, page.now) : '-',
    place: oneLine(placeOf(hit)),
    title: oneLine(hit.title ?? readableKey(hit.sessionKey ?? hit.sessionId)),
    more: hits.length > 1 ? ` (+${hits.length - 1})` : '',
  }
}

/** The widths of the columns that are as wide as their texts, within limits; the passage gets the rest. */
type Columns = Record<'age' | 'place' | 'title' | 'passage', number>

function columnsFor(rows: Row[], width: number): Columns {
  const longest = (of: (row: Row) => string): number => Math.max(...rows.map((row) => cellWidth(of(row))))
  const place = Math.min(
    longest((row) => row.place),
    mostPlace,
    Math.floor(width * placeShare),
  )
  const age = Math.max(
    leastAge,
    longest((row) => row.age),
  )
  const left = width - idWidth - age - place - 4 * gap
  const most = Math.max(leastTitle, Math.min(mostTitle, Math.floor(left * titleShare)))
  const title = Math.min(
    most,
    longest(({ title, more }) => title + more),
  )
  return { age, place, title, passage: Math.max(leastPassage, left - title) }
}

/** One line: age, repository, title, and the best passage with the matches marked. On request, the reasons and commands. */
function printRow({ hit, id, age, place, title, more }: Row, columns: Columns, page: Page): string[] {
  const { explain, commands } = page.input ?? {}
  const between = ' '.repeat(gap)
  const about = [pad(id, idWidth), pad(age, columns.age), pad(truncate(place, columns.place), columns.place)]
  const name = truncate(title, columns.title - more.length)
  const space = ' '.repeat(Math.max(0, columns.title - cellWidth(name + more)))
  const line =
    styled(page, 'dim', `${about.join(between)}${between}`) +
    `${styled(page, 'bold', name)}${more}${space}${between}${marked(hit, page, columns.passage)}`
  const why = [`score ${hit.score.toFixed(2)}`, ...(hit.why ?? [])]
  const reasons = explain ? why.map((reason) => styled(page, 'dim', `    ${visible(reason)}`)) : []
  const opened = commands
    ? commandsFor(hit).map((command) => styled(page, 'dim', `    ${oneLine(command)}`))
    : []
  return [line, ...reasons, ...opened]
}

const gap = 2
const idWidth = 8
const leastAge = 9
const mostPlace = 20
/** How much of the line the repository has at most. */
const placeShare = 1 / 6
const mostTitle = 40
const leastTitle = 10
/** How much of the rest the title has at most. */
const titleShare = 0.4
/** A very narrow terminal wraps the line rather than hiding the passage. */
const leastPassage = 10

/** The repository, or else the channel or the sub-agent's session. */
function placeOf({ repoPath, channel, path, kept }: Hit): string {
  const place = repoPath === '' ? (channel ?? '') : basename(repoPath)
  return [place, path.includes('/subagents/') ? '(sub-agent)' : '', kept ? '(kept)' : '']
    .filter(Boolean)
    .join(' ')
}

/** The commands that show the place of the match, continue the session, and fork it there. */
function commandsFor({ source, sessionId, sessionKey, messageId, path }: Hit): string[] {
  if (source === 'memory') return [path]
  const id = shellWord(sessionId.slice(0, 8))
  if (source === 'native') {
    const message = messageId === undefined ? undefined : shellWord(messageId)
    const around = message === undefined ? '' : ` --around ${message}`
    const fork = message === undefined ? [] : [`rockpool cc fork ${id} "…" --at-message ${message}`]
    return [`rockpool cc read ${id}${around}`, `rockpool cc resume ${id} "…"`, ...fork]
  }
  // A transcript that a reset has archived belongs to no session until it is restored.
  return [
    sessionKey === undefined
      ? `rockpool sessions restore ${shellWord(sessionId)}`
      : `rockpool history ${shellWord(sessionKey)}`,
  ]
}

/** The passage in one line, cut around its first match. Whole words are marked; parts of words only where no whole word
 *  matches. */
function marked(hit: Hit, page: Page, width: number): string {
  const { snippet, matches } = withoutOrigin(hit)
  const whole = matches.filter(([start, end]) => isWhole(snippet, start, end))
  const used = whole.length > 0 ? whole : matches
  // Letters of some scripts are two cells wide.
  const letters = Math.floor((width * snippet.length) / Math.max(1, cellWidth(snippet)))
  const first = used[0]?.[0] ?? 0
  const start = Math.max(0, Math.min(first - Math.floor(letters / 3), snippet.length - letters))
  // At the beginning of a word, if there is one before the match: some scripts have no spaces.
  const space = snippet.indexOf(' ', start)
  const from = start === 0 || space < 0 || space >= first ? start : space + 1
  const to = from + fitting(snippet.slice(from), width - (from > 0 ? 1 : 0))
  let text = from > 0 ? '…' : ''
  let done = from
  for (const [begin, end] of used) {
    if (begin < done || end > to) continue
    text +=
      oneLineOf(snippet.slice(done, begin)) + styled(page, 'yellow', oneLineOf(snippet.slice(begin, end)))
    done = end
  }
  return text + oneLineOf(snippet.slice(done, to)) + (to < snippet.length ? '…' : '')
}

/** The number of letters of the text that fit into this number of cells, with room for an ellipsis if the text is longer. */
function fitting(text: string, width: number): number {
  return cellWidth(text) <= width ? text.length : truncate(text, width).length - 1
}

function oneLineOf(text: string): string {
  return visible(text.replace(/\s+/g, ' '))
}

function isWhole(text: string, start: number, end: number): boolean {
  const isWord = (character: string | undefined): boolean => /[\p{L}\p{N}_]/u.test(character ?? '')
  return !isWord(text[start - 1]) && !isWord(text[end])
}

/** The marker that programs write before a first message is not for people. */
function withoutOrigin({ snippet, matches }: Hit): Pick<Hit, 'snippet' | 'matches'> {
  const cut = snippet.length - withoutMarker(snippet).length
  const shifted = matches.map(([start, end]): [number, number] => [start - cut, end - cut])
  // Line breaks become spaces, at the same positions.
  const line = snippet.slice(cut).replace(/\s/g, ' ')
  return { snippet: line, matches: shifted.filter(([start]) => start >= 0) }
}

function printIndex(status: OutputOf<'memory.status'>, page: Page): string {
  const { sources, passages, spoken, withPieces, withVector, reading, meaning, lack } = status
  const share = (done: number, of: number): string =>
    of === 0 ? 'nothing yet' : `${Math.floor((done / of) * 100)}% (${done} of ${of} passages)`
  return pairs(page, {
    Words: `${passages} passages of ${sources} files`,
    Reading: reading && `${reading.filesDone} of ${reading.files} files`,
    Substrings: share(withPieces, passages),
    Tools: toolsIn(status),
    Meaning: meaning ? `${share(withVector, spoken)}, ${meaning.languages} (${meaning.name})` : lack,
  })
}

function toolsIn({ withoutTools, isFull, sources }: OutputOf<'memory.status'>): string {
  if (withoutTools === 0) return 'all files'
  if (!isFull) return `${withoutTools} files are left`
  return `without ${withoutTools} of ${sources} files, which are searched in the transcripts: the index has reached its limit (memory.indexShare)`
}
