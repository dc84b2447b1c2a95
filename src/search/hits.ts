// From a passage to a hit: removes the second copy of a chat message, checks the text, cuts out about three lines around the
// match, and says where the message is.
import { basename } from 'node:path'
import { withoutTags } from '../domain/machine-text.ts'
import type { SearchHit } from '../domain/search.ts'
import { modifiedAt } from '../store/disk/foreign-file.ts'
import type { FoundPassage } from './index-rows.ts'
import type { PassagePlace } from './passages.ts'
import type { ParsedQuery } from './query.ts'

/** False for a message of a sub-agent: a session can be forked only after its own messages. */
export function isOwnMessage({ source: { kind, path, sessionId } }: FoundPassage): boolean {
  return kind !== 'native' || basename(path, '.jsonl').toLowerCase() === sessionId.toLowerCase()
}

export function placeOf({ source, role, offset, length }: FoundPassage): PassagePlace {
  return { path: source.path, kind: source.kind, role, offset, length }
}

export function hitOf(
  { source, line, role, at }: FoundPassage,
  { text, matches }: Snippet,
  score: number,
  by: SearchHit['by'],
): SearchHit {
  const { kind, agentIds = [], chat: _chat, ...where } = source
  const agentId = agentIds.length === 1 && agentIds[0] !== '*' ? agentIds[0] : undefined
  // The record of a title has no time.
  const time = at || modifiedAt(source.path)
  return { ...where, agentId, source: kind, role, line, at: time, snippet: text, matches, score, by }
}

/** Claude writes a message when its turn begins, which may be later than ours: a process may have to start first. */
const mostApartMs = 120_000

/** Claude keeps its own transcript of each chat. Removes its copies of our messages; ours takes the better score of both. */
export function withoutCopies<Found extends { passage: FoundPassage; score: number }>(found: Found[]) {
  const ours = Map.groupBy(
    found.filter(({ passage }) => passage.source.kind === 'rockpool'),
    ({ passage }) => conversationOf(passage),
  )
  return found.filter(({ passage, score }) => {
    if (passage.source.kind !== 'native' || passage.source.chat === undefined) return true
    const original = ours.get(passage.source.chat)?.find((each) => isSameMessage(passage, each.passage))
    if (original) original.score = Math.max(original.score, score)
    return original === undefined
  })
}

/** True if both passages are the same message: one from our transcript, one from Claude's. */
export function isSameMessage(a: FoundPassage, b: FoundPassage): boolean {
  if (a.source.kind === b.source.kind || a.role !== b.role || a.at === 0 || b.at === 0) return false
  const conversation = conversationOf(a)
  return (
    conversation !== undefined && conversation === conversationOf(b) && Math.abs(a.at - b.at) <= mostApartMs
  )
}

/** True if two passages with the same text are one message. Copies in resumed and forked sessions keep its time; ours and Claude's
 *  are written at different moments. */
export function isCopy(a: FoundPassage, b: FoundPassage): boolean {
  if (a.at === 0 || b.at === 0) return true
  return Math.abs(a.at - b.at) <= (a.source.kind === b.source.kind ? 0 : mostApartMs)
}

function conversationOf({ source }: FoundPassage): string | undefined {
  return source.kind === 'rockpool' ? source.sessionId : source.chat
}

interface Snippet {
  text: string
  matches: Array<[number, number]>
}

const maxLineChars = 240

/** The line with most of the marks, with one line of context before and after it, and the positions of the marks. Tags of programs
 *  are left out, unless they have a mark. */
export function snippetOf(whole: string, marks: string[]): Snippet {
  const plain = withoutTags(whole)
  const isLost = plain !== whole && marksIn(plain, marks.map(fold)) < marksIn(whole, marks.map(fold))
  const text = isLost ? whole : plain
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const folded = marks.map(fold)
  const counts = lines.map((line) => marksIn(line, folded))
  const best = counts.reduce((found, count, i) => (count > counts[found]! ? i : found), 0)
  const shown = lines
    .slice(Math.max(0, best - 1), best + 2)
    .map((line) => cutAround(line, marks))
    .join('\n')
  return { text: shown, matches: matchesIn(shown, marks) }
}

function marksIn(line: string, foldedMarks: string[]): number {
  const folded = fold(line)
  return foldedMarks.filter((mark) => folded.includes(mark)).length
}

function cutAround(line: string, marks: string[]): string {
  if (line.length <= maxLineChars) return line.trim()
  const first = matchesIn(line, marks)[0]?.[0] ?? 0
  const start = Math.max(0, Math.min(first - 80, line.length - maxLineChars))
  const cut = line
    .slice(start, start + maxLineChars)
    .toWellFormed()
    .trim()
  return `${start > 0 ? '…' : ''}${cut}${start + maxLineChars < line.length ? '…' : ''}`
}

function matchesIn(text: string, marks: string[]): Array<[number, number]> {
  const folded = fold(text)
  // Folding may change the length; then positions would be wrong, and none is better.
  if (folded.length !== text.length) return []
  const found: Array<[number, number]> = []
  for (const mark of marks.map(fold).filter(Boolean)) {
    for (let at = folded.indexOf(mark); at !== -1; at = folded.indexOf(mark, at + mark.length)) {
      found.push([at, at + mark.length])
    }
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 20)
}

const beyondAscii = /[^\x00-\x7f]/

/** In lower case and without accents. */
export function fold(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
}

/** The index knows stems and trigrams: whether a phrase or a substring is in the text is seen in the text. */
export function isRight(text: string, by: SearchHit['by'], { terms, pieces }: ParsedQuery): boolean {
  const folded = fold(text)
  const phrases = terms.filter(({ isPhrase }) => isPhrase)
  const hasPhrases = phrases.every((phrase) => wordsOf(folded).includes(wordsOf(fold(phrase.text))))
  const isOnlyPieces = by.length === 1 && by[0] === 'pieces'
  const substrings = isOnlyPieces ? (pieces?.substrings ?? []) : []
  return hasPhrases && substrings.every((substring) => folded.includes(fold(substring)))
}

/** The words with one space between them, and around them. */
function wordsOf(text: string): string {
  return ` ${text
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter(Boolean)
    .join(' ')} `
}

/** From 0 to 1: how many of the words are there as they were written, and how many of them next to each other. */
export function exactness(text: string, { marks }: ParsedQuery): number {
  const words = wordsOf(fold(text))
  const wanted = marks.map((mark) => wordsOf(fold(mark)).trim()).filter(Boolean)
  const exact = wanted.filter((word) => words.includes(` ${word} `)).length
  const pairs = wanted.slice(1).filter((word, at) => words.includes(` ${wanted[at]!} ${word} `)).length
  return wanted.length === 0 ? 0 : (exact + pairs) / (2 * wanted.length - 1)
}
