// Names and ids of coding sessions, and short texts about them.
import { randomInt } from 'node:crypto'
import type { OutputBlock } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { parseSessionLabel } from '../../sessions/label.ts'

const stopWords = new Set(
  (
    'a an and are as at be by can could do does for from had has have how i if in into is it its me my of on or our please ' +
    'should so some that the their them then there these this those to us want was we were what when which will with would you your'
  ).split(' '),
)

/** The first three words of the prompt without filler words, joined by `-`; `session` when there are none. */
export function generateSessionName(prompt: string): string {
  const words = prompt
    .toLowerCase()
    .replace(/[^a-z0-9\s-]/g, ' ')
    .split(/\s+/)
    .map((word) => word.replace(/^-+|-+$/g, ''))
    .filter((word) => word.length > 1 && !stopWords.has(word))
  return words.slice(0, 3).join('-').slice(0, 60) || 'session'
}

/** A name that a caller gives: as a label, and not to be mistaken for an option or a path. Throws when it is not valid. */
export function checkedName(raw: string): string {
  const parsed = parseSessionLabel(raw)
  if (parsed.ok && !/^(?:-|\.+$)/.test(parsed.label)) return parsed.label
  throw new RockpoolError('input-invalid', `${JSON.stringify(raw.slice(0, 80))} cannot be a name.`, {
    hint: 'A name is one short line of visible characters that is no key, and does not begin with a dash.',
  })
}

const idLetters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Eight letters and digits. The first is a letter, so that an id is never read as an option or a number. */
export function newCodingId(): string {
  const letter = (from: number): string => idLetters[randomInt(from)]!
  return letter(52) + Array.from({ length: 7 }, () => letter(idLetters.length)).join('')
}

export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  if (hours > 0) return `${hours}h${minutes}m`
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`
}

/** The text on one line, cut between characters. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

/** A tool call in one line: `Bash: npm test`. */
export function describeTool(name: string, input: Record<string, unknown>): string {
  const about = ['command', 'file_path', 'path', 'pattern', 'url', 'description', 'prompt', 'query']
    .map((field) => input[field])
    .find((value) => typeof value === 'string' && value !== '')
  return typeof about === 'string' ? `${name}: ${oneLine(about, 120)}` : name
}

export function formatBlocks(blocks: OutputBlock[]): string {
  return blocks
    .filter((block) => block.kind !== 'prompt')
    .map((block) => (block.kind === 'tool' ? `🔧 ${block.text}` : block.text))
    .join('\n')
}
