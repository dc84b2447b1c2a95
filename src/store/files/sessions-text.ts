// Parses and formats the text of sessions.json, in OpenClaw's format. A value that is not a valid entry is kept verbatim and
// written back.
import { createRequire } from 'node:module'
import type JSON5 from 'json5'
import { RockpoolError, errorText, attempt } from '../../domain/errors.ts'
import { isRecord, withoutProtoKeys } from '../../domain/json.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { entryFault } from '../session-rules.ts'

export interface InvalidEntry {
  raw: string
  fault: string
}

export type Unusable = Map<string, InvalidEntry>

export interface SessionsContent {
  entries: Map<string, SessionEntry>
  unusable: Unusable
  /** False for JSON5: comments are lost when the file is written. */
  plain: boolean
}

/** Throws `damaged` if the text as a whole cannot be parsed. */
export function parseSessions(text: string, path: string): SessionsContent {
  const { value: members, plain } = parseObject(text, path)
  const content: SessionsContent = { entries: new Map(), unusable: new Map(), plain }
  let raw: Map<string, string> | undefined
  for (const [key, value] of Object.entries(members)) {
    const fault = entryFault(value)
    if (fault === undefined) {
      const entry = withoutProtoKeys(value) as SessionEntry
      content.entries.set(key, entry.updatedAt === undefined ? { ...entry, updatedAt: 0 } : entry)
    } else {
      raw ??= plain ? rawMembers(text) : new Map()
      // Text that is nested too deeply cannot be formatted; the original file is kept as a backup.
      const formatted = (): string => attempt(() => JSON.stringify(value), '"nested too deep"')
      content.unusable.set(key, { raw: raw.get(key) ?? formatted(), fault })
    }
  }
  return content
}

/** The whole entries of a text that cannot be parsed. Each begins in a line of its own, as we and OpenClaw write the file. */
export function readableEntries(text: string): Map<string, SessionEntry> {
  const members = text.split(/^(?= {2}")/m).map((piece) => piece.trimEnd().replace(/,$|\n\}$/, ''))
  return new Map(
    members.flatMap((member) => [...(attempt(() => parseSessions(`{${member}}`, ''))?.entries ?? [])]),
  )
}

const pieceLength = 64 * 1024

/** One member of the file: a key and the text of its value. */
export type Member = [key: string, value: string]

/** The text of `JSON.stringify(store, null, 2)` in pieces; also correct for keys such as `__proto__`. */
export async function* formatSessions(
  batches: AsyncIterable<Member[]> | Iterable<Member[]>,
): AsyncGenerator<string> {
  let before = '{\n'
  let piece = ''
  for await (const batch of batches) {
    for (const [key, value] of batch) {
      piece += `${before}  ${JSON.stringify(key)}: ${value}`
      before = ',\n'
    }
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  yield `${piece}${before === '{\n' ? '{}' : '\n}'}`
}

export function formatEntry(entry: SessionEntry): string {
  return JSON.stringify(entry, null, 2).replaceAll('\n', '\n  ')
}

function parseObject(text: string, path: string): { value: object; plain: boolean } {
  const { value, plain } = parseAny(text.replace(/^\uFEFF/, ''), path)
  if (isRecord(value)) return { value, plain }
  throw damaged(path, `it holds ${Array.isArray(value) ? 'a list' : String(value)} instead of an object`)
}

/** JSON first, because it is ten times as fast. OpenClaw's January versions also read JSON5, and people wrote it. */
function parseAny(text: string, path: string): { value: unknown; plain: boolean } {
  try {
    return { value: JSON.parse(text), plain: true }
  } catch (jsonError) {
    try {
      const json5 = createRequire(import.meta.url)('json5') as typeof JSON5
      return { value: json5.parse(text), plain: false }
    } catch {
      throw damaged(
        path,
        text.trim() === '' ? 'it is empty' : `it is not JSON${placeIn(errorText(jsonError))}`,
      )
    }
  }
}

/** Where the parser of JSON stopped, if it says so. */
function placeIn(message: string): string {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(message) ?? []
  return line === undefined ? '' : ` from line ${line}, column ${column} on`
}

function damaged(path: string, reason: string): RockpoolError {
  return new RockpoolError('damaged', `${path} cannot be read: ${reason}.`, {
    hint: 'Run `rockpool doctor`. Nothing was changed.',
  })
}

/** The members of a JSON object verbatim, for values that parsing would change. */
function rawMembers(text: string): Map<string, string> {
  const members = new Map<string, string>()
  let at = text.indexOf('{') + 1
  while (at > 0 && at < text.length) {
    const keyStart = text.indexOf('"', at)
    if (keyStart < 0) break
    const keyEnd = endOfString(text, keyStart)
    const valueStart = text.indexOf(':', keyEnd) + 1
    const valueEnd = endOfValue(text, valueStart)
    const quoted = text.slice(keyStart, keyEnd)
    // A JSON5 key that is not valid JSON is not found here; its value is formatted from memory.
    const key = attempt(() => String(JSON.parse(quoted)), quoted)
    members.set(key, text.slice(valueStart, valueEnd).trim())
    at = valueEnd + 1
  }
  return members
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at) - 1
    else if (char === '{' || char === '[') depth++
    else if (depth > 0 && (char === '}' || char === ']')) depth--
    else if (depth === 0 && (char === ',' || char === '}')) return at
  }
  return text.length
}
