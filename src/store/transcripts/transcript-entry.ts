// Parses one line of a transcript, or reports why it cannot be read. Reads pi's versions 1 to 3, and shapes of older programs and
// documents; unknown fields are kept.
import { attempt } from '../../domain/errors.ts'
import { isRecord, isTooDeep } from '../../domain/json.ts'
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import type { Line } from './transcript-lines.ts'

type Fields = Record<string, unknown>

export type ReadLine =
  | { kind: 'header'; header: TranscriptHeader }
  /** `linked` is false if the line has no parent: then the parent is the entry before it. */
  | { kind: 'entry'; entry: TranscriptEntry; linked: boolean; damage?: string }
  | { kind: 'blank' }
  | { kind: 'damage'; what: string }

export function readLine(line: Line): ReadLine {
  const place = line.number > 0 ? `line ${line.number}` : `the line at byte ${line.offset}`
  if (line.content === undefined) return damage(`${place} is too long (${line.bytes} bytes)`)
  const text = textOf(line)
  if (text.trim() === '') return { kind: 'blank' }
  const value = parse(text)
  if (isRecord(value)) return readFields(value, line, place)
  const rest = value === undefined ? findWholeEntry(text) : undefined
  if (!rest) return damage(`${place} ${describe(text, line, value)}`)
  // A program appended its entry to a torn line without a newline; the entry itself is complete.
  const read = readFields(rest, line, place)
  return read.kind === 'entry' ? { ...read, damage: `${place} begins with a torn line` } : read
}

function readFields(fields: Fields, line: Line, place: string): ReadLine {
  if (isTooDeep(fields)) return damage(`${place} is nested too deeply`)
  if (fields['type'] === 'session') return readHeader(fields, place)
  const entry = readEntry(fields, line)
  return entry ?? damage(`${place} is neither a header nor an entry`)
}

function readHeader(fields: Fields, place: string): ReadLine {
  if (typeof fields['id'] !== 'string') return damage(`${place} is a header without an id`)
  const version = Number(fields['version'] ?? 1)
  const header = {
    ...fields,
    type: 'session',
    // Some programs wrote the name of the constant instead of its value.
    version: Number.isFinite(version) ? version : 3,
    id: fields['id'],
    timestamp: isoTime(fields['timestamp']),
    cwd: typeof fields['cwd'] === 'string' ? fields['cwd'] : '',
  } as TranscriptHeader
  return { kind: 'header', header }
}

function readEntry(fields: Fields, line: Line): ReadLine | undefined {
  const body = readBody(fields)
  if (!body) return undefined
  const { id, parentId } = fields
  const linked = typeof parentId === 'string' || parentId === null
  // Unknown fields stay; fields of the body win over older spellings.
  const entry = {
    ...body,
    // Entries of version 1 had no ids. The offset of the line is a stable id.
    id: typeof id === 'string' && id !== '' ? id : line.offset.toString(16).padStart(8, '0'),
    parentId: linked ? parentId : null,
    timestamp: isoTime(fields['timestamp']),
  } as TranscriptEntry
  return { kind: 'entry', entry, linked }
}

const messageRoles = new Set(['user', 'assistant', 'toolResult', 'bashExecution', 'custom', 'hookMessage'])

function readBody(fields: Fields): Fields | undefined {
  const { type, role, usage, key, value, model, ...rest } = fields
  if (type === 'message')
    return isRecord(fields['message']) ? { ...fields, message: readMessage(fields) } : undefined
  const spoken = typeof role === 'string' ? role : type
  if (typeof spoken === 'string' && messageRoles.has(spoken) && 'content' in fields && type !== 'custom') {
    return { type: 'message', message: readMessage({ message: { ...fields, role: spoken }, usage }) }
  }
  if (type === 'custom' && typeof fields['customType'] !== 'string' && typeof key === 'string') {
    return { ...rest, type, customType: key, data: value }
  }
  if (type === 'model_change' && typeof fields['modelId'] !== 'string' && typeof model === 'string') {
    const [provider = '', ...modelId] = model.includes('/') ? model.split('/') : ['', model]
    return { ...rest, type, provider, modelId: modelId.join('/') }
  }
  if (type === 'compaction' || type === 'branch_summary')
    return { ...fields, summary: textIn(fields['summary']) }
  return typeof type === 'string' ? fields : undefined
}

const rolesWithContent = new Set<unknown>(['user', 'assistant', 'toolResult'])

function readMessage(fields: Fields): Fields {
  const { type: _type, id: _id, parentId: _parentId, ...message } = fields['message'] as Fields
  if (message['role'] === 'hookMessage') message['role'] = 'custom'
  if (message['usage'] === undefined && isRecord(fields['usage'])) message['usage'] = fields['usage']
  if (typeof message['role'] !== 'string') message['role'] = 'custom'
  if ('content' in message || rolesWithContent.has(message['role']))
    message['content'] = readContent(message['content'])
  if (typeof message['timestamp'] === 'string') message['timestamp'] = Date.parse(message['timestamp'])
  return message
}

/** Content as a text or a list of block objects, so that readers need no further checks. */
function readContent(content: unknown): string | Fields[] {
  if (typeof content === 'string') return content
  const blocks: unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map(readBlock).filter((block) => block !== undefined)
}

function readBlock(block: unknown): Fields | undefined {
  if (block === undefined || block === null) return undefined
  if (!isRecord(block)) return { type: 'text', text: textIn(block) }
  if (block['type'] === 'text' && typeof block['text'] !== 'string')
    return { ...block, text: textIn(block['text']) }
  if (block['type'] !== 'image' || !isRecord(block['source'])) return block
  const { data, media_type: mimeType } = block['source']
  return { type: 'image', data, mimeType }
}

function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

const isoForm = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/

/** A valid time or undefined: any other value would be shown as it is. */
function isoTime(time: unknown): string {
  const at = typeof time === 'string' ? Date.parse(time) : time
  if (typeof at !== 'number' || !(Math.abs(at) <= 8.64e15)) return ''
  return typeof time === 'string' && isoForm.test(time) ? time : new Date(at).toISOString()
}

function textOf(line: Line): string {
  const text = line.content!.toString('utf8')
  return line.offset === 0 && text.startsWith('\ufeff') ? text.slice(1) : text
}

function parse(text: string): unknown {
  // Undefined if it is not JSON: the caller reports the line.
  return attempt(() => JSON.parse(text))
}

/** The last complete entry inside a line that is not JSON as a whole. */
function findWholeEntry(text: string): Fields | undefined {
  let at = text.length
  for (let attempts = 0; attempts < 8 && at > 0; attempts++) {
    at = text.lastIndexOf('{"type":"', at - 1)
    if (at < 0) return undefined
    const value = parse(text.slice(at))
    if (isRecord(value) && typeof value['id'] === 'string' && 'parentId' in value) return value
  }
  return undefined
}

function describe(text: string, line: Line, value: unknown): string {
  if (/^\0+$/.test(text)) return `is ${line.bytes} NUL bytes`
  if (line.offset === 0 && /^(?:\ufffd\ufffd|\xff\xfe)/.test(text)) return 'is not UTF-8'
  if (value !== undefined) return 'is not an object'
  return line.ended ? 'is not JSON' : 'is torn: the writing of it was interrupted'
}

function damage(what: string): ReadLine {
  return { kind: 'damage', what }
}
