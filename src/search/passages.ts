// What is worth finding in one line of a transcript: the words of people and agents first, tools in a second tier.
import { cutBetweenWords } from '../domain/redact.ts'
import type { SearchKind, SearchRole } from '../domain/search.ts'

export interface LineText {
  role: SearchRole
  text: string
  /** Milliseconds since 1970, 0 if the line does not say. */
  at: number
  /** The name of the message in its transcript. */
  id?: string
}

const maxTextChars = 200_000
/** The beginning of what a tool said is enough to find it again. */
const maxToolChars = 10_000

/** Words in quotes, without what stands around them: another program may write `"type" : "user"`. Inside a text quotes are
 *  escaped, so nothing that is said looks like one of these. */
const needles = {
  message: Buffer.from('"message"'),
  user: Buffer.from('"user"'),
  assistant: Buffer.from('"assistant"'),
  text: Buffer.from('"text"'),
  toolUse: Buffer.from('"tool_use"'),
  toolResult: Buffer.from('"tool_result"'),
  ourToolCall: Buffer.from('"toolCall"'),
  ourToolResult: Buffer.from('"toolResult"'),
}

/** A cheap look before a line is decoded: most bytes of a transcript are tools and their output. */
export function mayConverse(bytes: Buffer, kind: SearchKind): boolean {
  if (kind !== 'native') return bytes.includes(needles.message) && !bytes.includes(needles.ourToolResult)
  if (bytes.includes(needles.user) && !bytes.includes(needles.toolResult)) return true
  return bytes.includes(needles.assistant) && bytes.includes(needles.text)
}

/** The same for what tools were asked and answered. */
export function mayBeTool(bytes: Buffer, kind: SearchKind): boolean {
  if (kind === 'native') return bytes.includes(needles.toolResult) || bytes.includes(needles.toolUse)
  return bytes.includes(needles.ourToolResult) || bytes.includes(needles.ourToolCall)
}

/** The conversation text of a line, or undefined when it holds none. `kind` says whose format it is. */
export function conversationOf(line: string, kind: SearchKind): LineText | undefined {
  const record = parseRecord(line)
  if (!record) return undefined
  return kind === 'native' ? nativeConversation(record) : ourConversation(record)
}

/** What tools were asked and what they answered, as one text. */
export function toolTextOf(line: string, kind: SearchKind): LineText | undefined {
  const record = parseRecord(line)
  const message = record && asRecord(record['message'])
  if (!record || !message) return undefined
  const text = blocksOf(message['content'])
    .map(kind === 'native' ? nativeToolText : (block) => ourToolText(block, message))
    .filter(Boolean)
    .join('\n')
  return text === ''
    ? undefined
    : { role: 'tool', text: cutBetweenWords(text, maxToolChars), ...aboutOf(record) }
}

type Fields = Record<string, unknown>

function nativeConversation(record: Fields): LineText | undefined {
  const type = record['type']
  if ((type !== 'user' && type !== 'assistant') || record['isMeta'] === true) return undefined
  if (record['isCompactSummary'] === true || record['isApiErrorMessage'] === true) return undefined
  const text = textOf(asRecord(record['message'])?.['content'])
  return text === ''
    ? undefined
    : { role: type, text: cutBetweenWords(text, maxTextChars), ...aboutOf(record) }
}

function ourConversation(record: Fields): LineText | undefined {
  const message = record['type'] === 'message' ? asRecord(record['message']) : undefined
  const role = message?.['role']
  if (role !== 'user' && role !== 'assistant') return undefined
  const text = textOf(message?.['content'])
  return text === '' ? undefined : { role, text: cutBetweenWords(text, maxTextChars), ...aboutOf(record) }
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
  return Array.isArray(content)
    ? content.filter((block): block is Fields => asRecord(block) !== undefined)
    : []
}

/** Claude names a message by `uuid`, we by `id`. */
function aboutOf(record: Fields): Pick<LineText, 'at' | 'id'> {
  const id = record['uuid'] ?? record['id']
  const at = timeOf(record)
  return typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? { at, id } : { at }
}

function timeOf(record: Fields): number {
  const at =
    typeof record['timestamp'] === 'string' ? Date.parse(record['timestamp']) : Number(record['timestamp'])
  return Number.isFinite(at) ? Math.trunc(at) : 0
}

function parseRecord(line: string): Fields | undefined {
  try {
    return asRecord(JSON.parse(line))
  } catch {
    // A torn or foreign line has nothing to find; discovery and doctor report damage.
    return undefined
  }
}

function asRecord(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}
