// Makes values of the few bytes of a transcript that are needed.
import { parseRecord } from '../domain/json.ts'
import type { Span } from './scan-code.ts'
import { keptChars } from './transcript-facts.ts'

/** Records that are parsed as a whole are small; a larger one is malformed or hostile. */
export const largestParsed = 1 << 20

/** The first characters of a JSON string, decoded; a cut escape at the end is left out. */
export function decodeText(buffer: Buffer, span: Span): string {
  let raw = buffer.toString('utf8', span.start, Math.min(span.end, span.start + keptChars * 2))
  if (span.end - span.start > keptChars * 2) raw = raw.replace(/\\u?[0-9a-fA-F]{0,3}$|\uFFFD$/, '')
  if (!raw.includes('\\')) return raw.slice(0, keptChars)
  try {
    return String(JSON.parse(`"${raw}"`)).slice(0, keptChars)
  } catch {
    // Invalid escapes: keep the bytes as they are.
    return raw.slice(0, keptChars)
  }
}

/** The line as an object; undefined if it is damaged or too large. */
export function parsed(buffer: Buffer, start: number, end: number): Record<string, unknown> | undefined {
  return end - start > largestParsed ? undefined : parseRecord(buffer.toString('utf8', start, end))
}

/** Seconds since 1970 of `2026-11-15T19:50:00.426Z`; 0 for anything that is not a time. */
export function secondsOf(buffer: Buffer, span: Span): number {
  if (span.start < 0) return 0
  const at = span.start
  const isPlain = span.end - at === 24 && buffer[at + 23] === 90 && buffer[at + 10] === 84
  if (!isPlain)
    return Math.max(0, Math.floor((Date.parse(buffer.toString('utf8', at, span.end)) || 0) / 1000))
  const two = (i: number): number => (buffer[at + i]! - 48) * 10 + buffer[at + i + 1]! - 48
  const year = two(0) * 100 + two(2)
  const month = two(5)
  // Days since 1970, counted in years that begin in March, so that the leap day is the last.
  const shifted = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + two(8) - 1
  const days =
    shifted * 365 +
    Math.floor(shifted / 4) -
    Math.floor(shifted / 100) +
    Math.floor(shifted / 400) +
    dayOfYear -
    719_468
  return days * 86_400 + two(11) * 3_600 + two(14) * 60 + two(17)
}

export function isBlank(buffer: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (buffer[i]! > 32) return false
  return true
}
