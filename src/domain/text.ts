// Text for people: safe to show, short enough for its place, split where a reader would split it.
import { stripVTControlCharacters } from 'node:util'

// C0 and C1 controls, line and paragraph separators; and the invisible characters that change direction.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text from outside (a commit message, a branch name, a title) as one clean line of at most `maxCodePoints`: no escape
 *  sequences, controls or direction marks; cut between characters, with `…` for what was left out. */
export function plainLine(text: string, maxCodePoints = 200): string {
  // Cut before cleaning: a text of many megabytes costs no more than a short one. Escapes are short, so 4x is plenty.
  const near = text.length > maxCodePoints * 8 ? text.slice(0, maxCodePoints * 8) : text
  const clean = stripVTControlCharacters(near).replace(controls, ' ').replace(directions, '').trim()
  const whole = clean.toWellFormed()
  if (whole.length <= maxCodePoints) return whole
  const points = Array.from(whole)
  return points.length <= maxCodePoints ? points.join('') : `${points.slice(0, maxCodePoints - 1).join('')}…`
}

/** Text of several lines without escape sequences, controls and direction marks. */
export function printableText(text: string): string {
  const lines = stripVTControlCharacters(text).replace(/\r\n?/g, '\n').split('\n')
  return lines
    .map((line) => line.replaceAll('\t', '  ').replace(controls, ' ').replace(directions, ''))
    .join('\n')
    .toWellFormed()
}

/** The text as one word of a POSIX shell command, quoted if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Pieces of at most `limit` UTF-16 units, cut between paragraphs, lines, sentences or words. A code block that is cut is
 * closed in one piece and opened again in the next. Nothing but white space at a cut is left out.
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest.length > limit) {
    const at = cutOf(rest, limit - roomForClosing(rest, limit))
    const piece = rest.slice(0, at)
    const open = openFence(piece)
    pieces.push(open === undefined ? piece.trimEnd() : `${piece.trimEnd()}\n${open.fence}`)
    const next = open === undefined ? rest.slice(at).trimStart() : rest.slice(at).replace(/^\n/, '')
    // An opening fence as long as the limit would loop forever; end the block instead.
    rest = open === undefined || open.line.length > limit / 4 ? next : `${open.line}\n${next}`
  }
  if (rest.trim() !== '' || pieces.length === 0) pieces.push(rest)
  return pieces.filter((piece) => piece.trim() !== '' || text.trim() === '')
}

interface OpenFence {
  /** The line that opens the block, with its language. */
  line: string
  /** The closing fence: the same character, as often. */
  fence: string
}

/** A line break and the longest fence that may have to be closed within the first piece. */
function roomForClosing(text: string, limit: number): number {
  const fences = text.slice(0, limit).matchAll(/^\s{0,3}(`{3,20}|~{3,20})/gm)
  const longest = Math.max(3, ...[...fences].map(([, fence]) => fence!.length))
  return Math.min(longest + 1, Math.floor(limit / 2))
}

function cutOf(text: string, room: number): number {
  const head = text.slice(0, room)
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = head.lastIndexOf(mark)
    if (at > room / 3) return at + mark.length
  }
  return betweenCharacters(text, Math.max(room, 1))
}

/** Never inside a surrogate pair: half a character makes a whole conversation unreadable for the model. */
function betweenCharacters(text: string, at: number): number {
  const before = text.charCodeAt(at - 1)
  const isHighSurrogate = before >= 0xd800 && before <= 0xdbff
  return isHighSurrogate && at > 1 ? at - 1 : isHighSurrogate ? at + 1 : at
}

/** The code block that is still open at the end of `text`. Only a fence of its own kind and length closes one. */
function openFence(text: string): OpenFence | undefined {
  let open: OpenFence | undefined
  for (const line of text.split('\n')) {
    const [, fence, info = ''] = /^\s{0,3}(`{3,20}|~{3,20})(.*)$/.exec(line) ?? []
    if (fence === undefined) continue
    if (open === undefined) open = { line: line.trim(), fence }
    else if (fence.startsWith(open.fence) && info.trim() === '') open = undefined
  }
  return open
}

/** Words that nearly every English text has; a match on them alone means nothing. */
export const fillerWords = new Set(
  (
    'a about after all also am an and any are as at be because been but by can could did do does for from get had has ' +
    'have he her his how i if in into is it its me more most my no not of on one or our out she should so some than ' +
    'that the their them then there they this to too up us was we were what when where which while who why will with ' +
    'would you your'
  ).split(' '),
)

export { formatBytes } from './byte-size.ts'

export { formatUsd } from './usd.ts'
