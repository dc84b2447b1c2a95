// JSON from outside and for outside: parsed with its limits checked, and written so that every reader accepts it.
import { RockpoolError } from './errors.ts'

/** An object with named fields; not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object that a text is as JSON; undefined for damaged text, for an object that is nested too deep, and for every other
 *  value. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && !isTooDeep(value) ? value : undefined
  } catch {
    // Damaged: each caller decides whether to report it.
    return undefined
  }
}

export const damagedHint =
  'Run `rockpool doctor` to see the damage, and `rockpool doctor --fix` to repair it. Nothing was changed.'

/** JSON that we stored ourselves: if it cannot be parsed, the file is damaged. */
export function parseStored<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new RockpoolError('damaged', 'A stored record is damaged and cannot be read.', {
      hint: damagedHint,
      cause,
    })
  }
}

// A JavaScript string may contain half of a surrogate pair (a text that was cut inside an emoji). JSON.stringify writes
// the half as `\ud…`, and many readers then refuse the whole line. An escaped backslash before `ud…` is ordinary text.
const halfPair = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

/** JSON for a file or a socket. Half a surrogate pair becomes U+FFFD. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  // For `undefined`, JSON.stringify returns undefined, although its type says string.
  if (!text?.includes('\\ud')) return text
  // Two neighbouring matches share a boundary, so the second pass finds what the first one skipped.
  return text.replace(halfPair, '$1\\ufffd').replace(halfPair, '$1\\ufffd')
}

/** Deeper values can be parsed but not written again: JSON.stringify overflows the stack. */
const maxJsonDepth = 64

export function isTooDeep(value: unknown, limit = maxJsonDepth): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  // Every stored entry is walked through, so no list of its members and no function is made.
  if (Array.isArray(value)) {
    for (const inner of value) if (isTooDeep(inner, limit - 1)) return true
    return false
  }
  const members = value as Record<string, unknown>
  for (const name in members) {
    const member = members[name]
    if (typeof member === 'object' && isTooDeep(member, limit - 1)) return true
  }
  return false
}

export function checkJsonDepth(value: unknown, what: string): void {
  if (!isTooDeep(value)) return
  throw new RockpoolError('input-invalid', `${what} is nested more than ${maxJsonDepth} levels deep.`, {
    hint: 'Flatten it. Nothing was changed.',
  })
}

/** The same value, or a copy without keys named `__proto__`: a careless copy would change what an object inherits. */
export function withoutProtoKeys<T>(value: T): T {
  return hasProtoKey(value) ? (copyWithoutProtoKeys(value) as T) : value
}

export function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    for (const inner of value) if (hasProtoKey(inner)) return true
    return false
  }
  if (Object.hasOwn(value, '__proto__')) return true
  const members = value as Record<string, unknown>
  for (const name in members) {
    const member = members[name]
    if (typeof member === 'object' && hasProtoKey(member)) return true
  }
  return false
}

function copyWithoutProtoKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyWithoutProtoKeys)
  if (!isRecord(value)) return value
  const members = Object.entries(value).filter(([key]) => key !== '__proto__')
  return Object.fromEntries(members.map(([key, inner]) => [key, copyWithoutProtoKeys(inner)]))
}
