// Reads passages: the text of people and agents in one line of a transcript, the text of its tools, a paragraph of a note.
import { closeSync, readSync } from 'node:fs'
import { cutBetweenWords, makeRedactor } from '../domain/redact.ts'
import type { SearchKind, SearchRole } from '../domain/search.ts'
import { openForeign } from '../store/disk/foreign-file.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { withJoinedPrompt } from '../domain/joined-prompt.ts'

export interface LineText {
  role: SearchRole
  text: string
  /** Milliseconds since 1970; 0 if the line has no time. */
  at: number
  /** The id of the message in its transcript. */
  id?: string
}

const maxTextChars = 200_000
/** The beginning of a tool's text is enough to find it. */
const maxToolChars = 10_000
/** Files that are kept open while passages are read. */
const mostOpenFiles = 128
/** A line with a title is short. */
const maxTitleBytes = 2_000

/** Only the quoted words, without the key: another program may write `"type" : "user"`. Quotes inside a text are escaped, so
 *  no text contains one of these. */
const needles = {
  message: Buffer.from('"message"'),
  user: Buffer.from('"user"'),
  assistant: Buffer.from('"assistant"'),
  text: Buffer.from('"text"'),
  title: Buffer.from('-title"'),
  joinedPrompt: Buffer.from('"queued_command"'),
  toolUse: Buffer.from('"tool_use"'),
  toolResult: Buffer.from('"tool_result"'),
  ourToolCall: Buffer.from('"toolCall"'),
  ourToolResult: Buffer.from('"toolResult"'),
}

/** A cheap check before a line is decoded: most bytes of a transcript are tool results. */
export function mayConverse(bytes: Buffer, kind: SearchKind): boolean {
  if (kind !== 'native') return bytes.includes(needles.message) && !bytes.includes(needles.ourToolResult)
  if (bytes.length < maxTitleBytes && bytes.includes(needles.title)) return true
  if (bytes.includes(needles.joinedPrompt)) return true
  if (bytes.includes(needles.user) && !bytes.includes(needles.toolResult)) return true
  return bytes.includes(needles.assistant) && bytes.includes(needles.text)
}

/** A cheap check for tool inputs and results. */
export function mayBeTool(bytes: Buffer, kind: SearchKind): boolean {
  if (kind === 'native') return bytes.includes(needles.toolResult) || bytes.includes(needles.toolUse)
  return bytes.includes(needles.ourToolResult) || bytes.includes(needles.ourToolCall)
}

/** What a person or the agent said in a line, or the title in it; undefined for any other line. `kind` selects the format. */
export function conversationOf(line: string, kind: SearchKind): LineText | undefined {
  const record = parseRecord(line)
  if (!record) return undefined
  return kind === 'native' ? nativeConversation(withJoinedPrompt(record)) : ourConversation(record)
}

/** Tool inputs and results of a line, as one text. */
export function toolTextOf(line: string, kind: SearchKind): LineText | undefined {
  const record = parseRecord(line)
  const message = record?.['message']
  if (!record || !isRecord(message)) return undefined
  const text = blocksOf(message['content'])
    .map(kind === 'native' ? nativeToolText : (block) => ourToolText(block, message))
    .filter(Boolean)
    .join('\n')
  return text === ''
    ? undefined
    : { role: 'tool', text: cutBetweenWords(text, maxToolChars), ...aboutOf(record) }
}

export interface PassagePlace {
  path: string
  kind: SearchKind
  role: SearchRole
  offset: number
  length: number
}

/** The text and the id of a passage; undefined when its file was removed or changed. */
export function readPassage(place: PassagePlace): Pick<LineText, 'text' | 'id'> | undefined {
  using reader = new PassageReader()
  return reader.read(place)
}

/** Reads passages one after the other. Many are in the same files, which stay open meanwhile. */
export class PassageReader implements Disposable {
  /** By path; undefined for a file that was removed. */
  readonly #files = new Map<string, number | undefined>()

  read(place: PassagePlace): Pick<LineText, 'text' | 'id'> | undefined {
    const bytes = this.#bytesOf(place)
    if (!bytes) return undefined
    const line = bytes.toString('utf8')
    if (place.kind === 'memory') return { text: line.trim() }
    return place.role === 'tool' ? toolTextOf(line, place.kind) : conversationOf(line, place.kind)
  }

  [Symbol.dispose](): void {
    for (const fd of this.#files.values()) if (fd !== undefined) closeSync(fd)
    this.#files.clear()
  }

  #bytesOf({ path, offset, length }: PassagePlace): Buffer | undefined {
    const fd = this.#files.has(path) ? this.#files.get(path) : this.#open(path)
    if (fd === undefined) return undefined
    const bytes = Buffer.allocUnsafe(length)
    return readSync(fd, bytes, 0, length, offset) === length ? bytes : undefined
  }

  #open(path: string): number | undefined {
    if (this.#files.size >= mostOpenFiles) this[Symbol.dispose]()
    let fd: number | undefined
    try {
      fd = openForeign(path, { noLink: true })
    } catch {
      // The file was removed since it was indexed; the caller leaves the hit out.
    }
    this.#files.set(path, fd)
    return fd
  }
}

type Fields = Record<string, unknown>

function nativeConversation(record: Fields): LineText | undefined {
  const { type, message } = record
  if (type === 'custom-title') return titleOf('user', record['customTitle'], record)
  if (type === 'ai-title') return titleOf('assistant', record['aiTitle'] ?? record['title'], record)
  if ((type !== 'user' && type !== 'assistant') || record['isMeta'] === true) return undefined
  if (record['isCompactSummary'] === true || record['isApiErrorMessage'] === true) return undefined
  return isRecord(message) ? spoken(type, message, record) : undefined
}

function ourConversation(record: Fields): LineText | undefined {
  const { type, message } = record
  if (type !== 'message' || !isRecord(message)) return undefined
  const { role } = message
  return role === 'user' || role === 'assistant' ? spoken(role, message, record) : undefined
}

function spoken(role: 'user' | 'assistant', message: Fields, record: Fields): LineText | undefined {
  const text = textOf(message['content'])
  return text === '' ? undefined : { role, text: cutBetweenWords(text, maxTextChars), ...aboutOf(record) }
}

/** The title of a session, as said by the person or by Claude, who wrote it. */
function titleOf(role: 'user' | 'assistant', title: unknown, record: Fields): LineText | undefined {
  return typeof title === 'string' && title !== '' ? { role, text: title, ...aboutOf(record) } : undefined
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content.trim()
  return blocksOf(content)
    .map((block) => (block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : ''))
    .filter(Boolean)
    .join('\n')
    .trim()
}

function nativeToolText(block: Fields): string {
  if (block['type'] === 'tool_use') return `${String(block['name'])} ${JSON.stringify(block['input'])}`
  return block['type'] === 'tool_result' ? textOf(block['content']) : ''
}

function ourToolText(block: Fields, message: Fields): string {
  if (block['type'] === 'toolCall') return `${String(block['name'])} ${JSON.stringify(block['arguments'])}`
  return message['role'] === 'toolResult' && typeof block['text'] === 'string' ? block['text'] : ''
}

function blocksOf(content: unknown): Fields[] {
  return Array.isArray(content) ? content.filter(isRecord) : []
}

/** The id of a message is `uuid` in Claude's transcripts and `id` in ours. */
function aboutOf({ uuid, id: ours, timestamp }: Fields): Pick<LineText, 'at' | 'id'> {
  const id = uuid ?? ours
  const time = typeof timestamp === 'string' ? Date.parse(timestamp) : Number(timestamp)
  const at = Number.isFinite(time) ? Math.trunc(time) : 0
  return typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? { at, id } : { at }
}

/** Removes secrets from texts: the known values, and what looks like a secret. */
export function redactorOf(secrets: Array<[name: string, value: string]>): (text: string) => string {
  const redactor = makeRedactor()
  for (const [name, value] of secrets) redactor.know(name, value)
  return (text) => redactor.everything(text)
}
