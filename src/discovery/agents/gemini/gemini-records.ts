// The sessions of Gemini CLI as records. A file is a log of changes: a message comes again when it has changed, a resume repeats old
// messages without their tokens, and one session may have several files. So all files of a session are merged by the id of each
// message before they are read.
import { isRecord, parseRecord } from '../../../domain/json.ts'
import { readForeign } from '../../../store/disk/foreign-file.ts'
import type {
  AgentConversation,
  AgentRecord,
  SessionAbout,
  UntimedRecord,
} from '../../../domain/agent-records.ts'
import { countField, textField } from '../contract.ts'

type Fields = Record<string, unknown>

/** Everything that the files of one session say. */
interface GeminiLog {
  about: SessionAbout
  /** In the order of their first appearance. */
  messages: Map<string, Fields>
  rewound: Set<string>
  compactions: string[]
  lines: number
  damaged: number
  bytes: number
  torn: boolean
}

const longestFileBytes = 256 << 20

export function readGeminiLog(paths: readonly string[], about: SessionAbout): GeminiLog {
  const log = new LogReader({ ...about })
  for (const path of paths) log.file(path)
  return log.log
}

class LogReader {
  readonly log: GeminiLog
  /** The order of the messages now, to know what a rewind removes. */
  #current: string[] = []

  constructor(about: SessionAbout) {
    this.log = {
      about,
      messages: new Map(),
      rewound: new Set(),
      compactions: [],
      lines: 0,
      damaged: 0,
      bytes: 0,
      torn: false,
    }
  }

  file(path: string): void {
    const { log } = this
    const bytes = readForeign(path, longestFileBytes)
    const text = bytes.toString('utf8')
    log.bytes += bytes.length
    // Older versions write one object, which holds all messages.
    const lines = path.endsWith('.json') ? [text] : text.split('\n')
    let hasSnapshot = false
    lines.forEach((line, index) => {
      if (line.trim() === '') return
      log.lines++
      const record = parseRecord(line)
      if (record) hasSnapshot = this.#record(record, hasSnapshot)
      else if (index === lines.length - 1 && !path.endsWith('.json')) log.torn = true
      else log.damaged++
    })
  }

  /** Returns whether this file has recorded a compaction: later changes repeat its summary. */
  #record(record: Fields, hasSnapshot: boolean): boolean {
    const change = record['$set']
    if (isRecord(change)) {
      const title = textField(change['summary'])
      if (title !== undefined) this.log.about.title = title
      const summary = this.#messages(change['messages'])
      if (summary !== undefined && !hasSnapshot) this.log.compactions.push(summary)
      return hasSnapshot || summary !== undefined
    }
    if ('$rewindTo' in record) this.#rewind(record['$rewindTo'])
    else if (typeof record['sessionId'] === 'string') this.#header(record)
    else if (typeof record['id'] === 'string') this.#message(record)
    else this.log.damaged++
    return hasSnapshot
  }

  /** The header comes again after a resume: the first start counts. */
  #header(record: Fields): void {
    const { about } = this.log
    about.id ??= textField(record['sessionId'])
    const started = textField(record['startTime'])
    if (started !== undefined && (about.startedAt === undefined || started < about.startedAt))
      about.startedAt = started
    about.title = textField(record['summary']) ?? about.title
    about.entrypoint = textField(record['kind']) ?? about.entrypoint
    this.#messages(record['messages'])
  }

  /** Returns the summary, if the list begins after a compaction. */
  #messages(messages: unknown): string | undefined {
    if (!Array.isArray(messages)) return undefined
    let summary: string | undefined
    for (const message of messages) {
      if (!isRecord(message)) continue
      this.#message(message)
      const text = textOf(message['content'])
      if (text.startsWith('<state_snapshot>')) summary = text
    }
    return summary
  }

  #message(message: Fields): void {
    const id = textField(message['id'])
    if (id === undefined) return
    const known = this.log.messages.get(id)
    this.log.messages.set(id, known ? merged(known, message) : message)
    if (!known) this.#current.push(id)
    this.log.rewound.delete(id)
  }

  #rewind(to: unknown): void {
    const at = this.#current.indexOf(String(to))
    if (at < 0) return
    for (const id of this.#current.splice(at)) this.log.rewound.add(id)
  }
}

/** A repetition adds what the first one lacked (tool calls), and may lack what the first one had (tokens). */
function merged(known: Fields, repeated: Fields): Fields {
  const present = Object.entries(repeated).filter(([, value]) => value !== null && value !== undefined)
  const { timestamp, content } = known
  const hasContent = Array.isArray(content) ? content.length > 0 : Boolean(content)
  return {
    ...known,
    ...Object.fromEntries(present),
    timestamp,
    content: hasContent ? content : repeated['content'],
  }
}

export function geminiRecords(log: GeminiLog): AgentConversation {
  const records: AgentRecord[] = [{ kind: 'session', at: '', about: log.about }]
  const compactions = log.compactions.map((text): AgentRecord => ({ kind: 'compaction', at: '', text }))
  for (const [id, message] of log.messages) {
    const at = textField(message['timestamp']) ?? ''
    const rewound = log.rewound.has(id) || undefined
    for (const record of recordsOf(id, message)) records.push({ ...record, at, rewound })
  }
  return { records: [...records, ...compactions], damaged: log.damaged + (log.torn ? 1 : 0) }
}

function recordsOf(id: string, message: Fields): UntimedRecord[] {
  const { type, content } = message
  const text = textOf(content)
  if (type === 'user') return isPrompt(content, text) ? [{ kind: 'prompt', text, id }] : []
  if (type === 'gemini') return answerOf(id, message, text)
  if (type === 'info' && text === 'Request cancelled.') return [{ kind: 'turn-end', outcome: 'interrupted' }]
  return type === 'error' ? [{ kind: 'turn-end', outcome: 'failed', error: text }] : []
}

function isPrompt(content: unknown, text: string): boolean {
  const isAnswer =
    Array.isArray(content) && content.some((part) => isRecord(part) && 'functionResponse' in part)
  return !isAnswer && text.trim() !== '' && !/^<(?:session_context|state_snapshot)>/.test(text)
}

function answerOf(id: string, message: Fields, text: string): UntimedRecord[] {
  const model = textField(message['model']) ?? 'unknown'
  const { tokens } = message
  const thoughts = Array.isArray(message['thoughts']) ? message['thoughts'].filter(isRecord) : []
  const calls = Array.isArray(message['toolCalls']) ? message['toolCalls'].filter(isRecord) : []
  return [
    ...(textField(message['model']) === undefined ? [] : [{ kind: 'model' as const, model }]),
    ...thoughts.map((thought): UntimedRecord => {
      const parts = [textField(thought['subject']), textField(thought['description'])]
      return { kind: 'thinking', text: parts.filter(Boolean).join('\n') }
    }),
    ...(text !== '' && isRecord(tokens) ? [{ kind: 'answer' as const, text, id }] : []),
    ...calls.flatMap(callOf),
    ...(isRecord(tokens) ? [usageOf(id, model, tokens)] : []),
  ]
}

/** Gemini reports cached tokens as a part of the input, and thoughts apart from the output. */
function usageOf(id: string, model: string, tokens: Fields): UntimedRecord {
  const cacheRead = countField(tokens['cached'])
  const reasoning = countField(tokens['thoughts'])
  return {
    kind: 'usage',
    id,
    model,
    input: Math.max(0, countField(tokens['input']) + countField(tokens['tool']) - cacheRead),
    cacheRead,
    cacheWrite: 0,
    output: countField(tokens['output']) + reasoning,
    reasoning,
  }
}

function callOf(call: Fields): UntimedRecord[] {
  const id = textField(call['id']) ?? ''
  const name = textField(call['name']) ?? 'tool'
  const { args, resultDisplay: shown, status } = call
  const input = isRecord(args) ? args : {}
  const records: UntimedRecord[] = [{ kind: 'tool-call', id, name, input }]
  const text = typeof shown === 'string' ? shown : resultText(call['result'])
  if (status !== undefined) records.push({ kind: 'tool-result', id, text, isError: status !== 'success' })
  const path = isRecord(shown) ? textField(shown['filePath']) : undefined
  const diff = isRecord(shown) ? textField(shown['fileDiff']) : undefined
  if (path !== undefined && diff !== undefined && status === 'success')
    records.push({ kind: 'edit', path, change: name === 'write_file' ? 'add' : 'update', diff })
  const agentId = textField(call['agentId'])
  if (agentId !== undefined)
    records.push({
      kind: 'subagent',
      id: agentId,
      name: textField(input['agent_name']) ?? name,
      about: textField(input['prompt']) ?? '',
    })
  return records
}

function resultText(result: unknown): string {
  const outputs = (Array.isArray(result) ? result : []).flatMap((part) => {
    const response =
      isRecord(part) && isRecord(part['functionResponse']) ? part['functionResponse'] : undefined
    const output = isRecord(response?.['response']) ? response['response']['output'] : undefined
    return textField(output) ?? []
  })
  return outputs.join('\n')
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return textField(content) ?? ''
  return content
    .filter(isRecord)
    .map((part) => (part['thought'] ? '' : (textField(part['text']) ?? '')))
    .join('')
}
