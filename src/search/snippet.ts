// About three lines around what matched, read from the source itself.
import { closeSync, readSync } from 'node:fs'
import type { SearchKind, SearchRole } from '../domain/search.ts'
import { conversationOf, toolTextOf } from './passages.ts'
import type { LineText } from './passages.ts'
import { openForeign } from '../store/disk/foreign-file.ts'

export interface PassagePlace {
  path: string
  kind: SearchKind
  role: SearchRole
  offset: number
  length: number
}

/** The text of a passage, or undefined when its file is gone or was changed underneath. */
export function readPassage(place: PassagePlace): string | undefined {
  return readMessage(place)?.text
}

/** The same, with the name of the message. */
export function readMessage(place: PassagePlace): Pick<LineText, 'text' | 'id'> | undefined {
  const bytes = readBytes(place)
  if (!bytes) return undefined
  const line = bytes.toString('utf8')
  if (place.kind === 'memory') return { text: line.trim() }
  return place.role === 'tool' ? toolTextOf(line, place.kind) : conversationOf(line, place.kind)
}

export interface Snippet {
  text: string
  matches: Array<[number, number]>
}

const maxLineChars = 240

/** The line with most of the marks, one line of context before and after it, and where the marks are. */
export function snippetOf(text: string, marks: string[]): Snippet {
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
  // Folding may change lengths; then positions would lie, and none is better than a wrong one.
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

/** Upper and lower case alike, accents dropped. */
export function fold(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC').toLowerCase()
}

function readBytes(place: PassagePlace): Buffer | undefined {
  let fd: number
  try {
    fd = openForeign(place.path, { noLink: true })
  } catch {
    // The file is gone since it was indexed; the caller leaves the hit out.
    return undefined
  }
  try {
    const bytes = Buffer.allocUnsafe(place.length)
    return readSync(fd, bytes, 0, place.length, place.offset) === place.length ? bytes : undefined
  } finally {
    closeSync(fd)
  }
}
