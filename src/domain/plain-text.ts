// Text from outside (commit messages, branch names, session titles) made safe to show on one line: no escape sequences,
// no control characters, no characters that turn the direction of writing.
import { stripVTControlCharacters } from 'node:util'

// C0 and C1 controls, line and paragraph separators; and the invisible characters that change direction.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** One clean line of at most `maxCodePoints`, cut between characters, with `…` where something was left out. */
export function plainLine(text: string, maxCodePoints = 200): string {
  // Cut before cleaning: a text of many megabytes costs no more than a short one. Escapes are short, so 4x is plenty.
  const near = text.length > maxCodePoints * 8 ? text.slice(0, maxCodePoints * 8) : text
  const clean = stripVTControlCharacters(near).replace(controls, ' ').replace(directions, '').trim()
  const points = Array.from(clean.toWellFormed())
  return points.length <= maxCodePoints ? points.join('') : `${points.slice(0, maxCodePoints - 1).join('')}…`
}

/** Text of several lines without escape sequences, controls and characters that turn the direction of writing. */
export function printableText(text: string): string {
  const lines = stripVTControlCharacters(text).replace(/\r\n?/g, '\n').split('\n')
  return lines
    .map((line) => line.replaceAll('\t', '  ').replace(controls, ' ').replace(directions, ''))
    .join('\n')
    .toWellFormed()
}
