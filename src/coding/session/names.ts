// Names for coding sessions, made from what they are asked to do, and small texts about them.
import { randomInt } from 'node:crypto'
import type { OutputKind } from '../../domain/coding-session.ts'
import type { TurnEvent } from '../../domain/turn.ts'

const stopWords = new Set(
  (
    'a an and are as at be by can could do does for from had has have how i if in into is it its me my of on or our please ' +
    'should so some that the their them then there these this those to us want was we were what when which will with would you your'
  ).split(' '),
)

/** The first three words that say something, joined by `-`; `session` when there are none. */
export function generateSessionName(prompt: string): string {
  const words = prompt
    .toLowerCase()
    .replace(/[^a-z0-9\s-]/g, ' ')
    .split(/\s+/)
    .map((word) => word.replace(/^-+|-+$/g, ''))
    .filter((word) => word.length > 1 && !stopWords.has(word))
  return words.slice(0, 3).join('-').slice(0, 60) || 'session'
}

const idLetters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Eight letters and digits. Never begins with a digit or `-`, so it is never taken for an option or a number. */
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

/** One line of a text, cut at a number of characters without tearing one. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`
}

/** What a tool does, as one line: `Bash: npm test`. */
export function describeTool(name: string, input: Record<string, unknown>): string {
  const about = ['command', 'file_path', 'path', 'pattern', 'url', 'description', 'prompt', 'query']
    .map((field) => input[field])
    .find((value) => typeof value === 'string' && value !== '')
  return typeof about === 'string' ? `${name}: ${oneLine(about, 120)}` : name
}

/** What an event adds to the output of a session, if anything. */
export function outputOf(event: TurnEvent): { kind: OutputKind; text: string } | undefined {
  switch (event.type) {
    case 'text':
      return { kind: 'text', text: event.text }
    case 'notice':
      return { kind: 'notice', text: event.text }
    case 'retry':
      return { kind: 'notice', text: `${event.reason}; trying again (${event.attempt})` }
    case 'tool-start':
      return { kind: 'tool', text: describeTool(event.name, event.input) }
    case 'tool-end':
      // Also what a person denied: Claude gets the refusal as a failed result.
      return event.isError ? { kind: 'tool', text: `failed: ${oneLine(event.output, 300)}` } : undefined
    case 'compaction':
      return event.phase === 'end' ? { kind: 'notice', text: 'Context compacted.' } : undefined
    default:
      return undefined
  }
}

/** `/compact` and its like are for Claude Code itself. The first message carries the marker, so it never is one. */
export function isCommand(text: string): boolean {
  return /^\/[a-z][\w:-]*(\s|$)/.test(text)
}
