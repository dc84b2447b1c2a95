// The lines of a pi session as records. The entries form a tree: the conversation is the path from the last entry to the root, and
// other branches were paid for, too. A fork copies entries with their ids and times into its own file.
import { isRecord } from '../../../domain/json.ts'
import type { AgentConversation, AgentRecord, UntimedRecord } from '../../../domain/agent-records.ts'
import { countField, textField } from '../contract.ts'
import { readLines, type LineTranslator, type Skimmed } from '../json-lines.ts'

type Fields = Record<string, unknown>

/** Results of tools are most bytes of a session, and no fact needs them but those of edits. */
const toolResult =
  /^\{"type":"message","id":"[^"]{1,40}",(?:"parentId":(?:null|"[^"]{1,40}"),)?"timestamp":"([^"]{10,40})","message":\{"role":"toolResult"(?!,"toolCallId":"[^"]*","toolName":"(?:edit|write)")/
const startBytes = 260
/** A line that a crash glued to another one has two of these; within a text the quotes would be escaped. */
const secondStart = Buffer.from('{"type":"message"')

interface PiState {
  id?: string
  model: string
  /** Entries of a fork that are older than the file are copies. */
  copiedBefore?: string
  /** Calls that change files, until their result is known. */
  edits: Record<string, { name: string; path: string; content?: string; asked?: string }>
}

export class PiTranslator implements LineTranslator {
  readonly state: PiState
  /** The parent of each entry, and which entry each record came from, for the branches. */
  readonly parents = new Map<string, string>()
  readonly entryOf = new Map<AgentRecord, string>()
  lastEntry: string | undefined

  constructor(state?: unknown) {
    this.state = (state as PiState | undefined) ?? { model: 'unknown', edits: {} }
  }

  translate(entry: Fields): AgentRecord[] {
    if (entry['type'] === 'session') return this.#session(entry)
    const { state } = this
    const at = textField(entry['timestamp']) ?? ''
    const id = textField(entry['id']) ?? ''
    const inherited = (state.copiedBefore !== undefined && at < state.copiedBefore) || undefined
    const records = this.#records(entry, `${id} ${at}`).map((record) => ({ ...record, at, inherited }))
    this.#remember(id, textField(entry['parentId']), records)
    return records
  }

  skim(bytes: Buffer): Skimmed | undefined {
    const [, at] = toolResult.exec(bytes.toString('latin1', 0, Math.min(startBytes, bytes.length))) ?? []
    const isSound = bytes[bytes.length - 1] === 125 && bytes.indexOf(secondStart, 1) < 0
    return at !== undefined && isSound ? { at } : undefined
  }

  #session(header: Fields): AgentRecord[] {
    const { state } = this
    if (state.id !== undefined) return []
    state.id = textField(header['id'])
    const startedAt = textField(header['timestamp'])
    const parent = textField(header['parentSession'])
    if (parent !== undefined) state.copiedBefore = startedAt
    const about = {
      id: state.id,
      parent: parent === undefined ? undefined : { kind: 'fork' as const, id: idIn(parent) },
      cwd: textField(header['cwd']),
      version: typeof header['version'] === 'number' ? String(header['version']) : undefined,
      startedAt,
    }
    return [{ kind: 'session', at: '', about }]
  }

  #remember(id: string, parentId: string | undefined, records: AgentRecord[]): void {
    if (id === '') return
    if (parentId !== undefined) this.parents.set(id, parentId)
    this.lastEntry = id
    for (const record of records) this.entryOf.set(record, id)
  }

  #records(entry: Fields, key: string): UntimedRecord[] {
    switch (entry['type']) {
      case 'message':
        return isRecord(entry['message']) ? this.#message(entry['message'], key) : []
      case 'session_info':
        return [{ kind: 'session', about: { title: textField(entry['name']) ?? '' } }]
      case 'compaction':
        return [
          { kind: 'compaction', text: textField(entry['summary']) ?? '' },
          ...this.#usage(entry['usage'], key, textField(entry['model'])),
        ]
      case 'branch_summary':
      case 'usage':
        return this.#usage(entry['usage'], key, textField(entry['model']))
      default:
        return []
    }
  }

  #message(message: Fields, key: string): UntimedRecord[] {
    switch (message['role']) {
      case 'user':
        return [{ kind: 'prompt', text: textOf(message['content']), id: key.split(' ')[0] }]
      case 'assistant':
        return this.#answer(message, key)
      case 'toolResult':
        return this.#result(message)
      default:
        return []
    }
  }

  #answer(message: Fields, key: string): UntimedRecord[] {
    const { state } = this
    state.model = `${textField(message['provider']) ?? 'unknown'}/${textField(message['model']) ?? 'unknown'}`
    const blocks = Array.isArray(message['content']) ? message['content'].filter(isRecord) : []
    return [
      { kind: 'model', model: state.model },
      ...blocks.filter(({ type }) => type === 'thinking').map(thoughtOf),
      ...answerOf(blocks, key.split(' ')[0]!),
      ...blocks.filter(({ type }) => type === 'toolCall').map((block) => this.#call(block)),
      ...this.#usage(message['usage'], key, state.model),
      ...endOf(message),
    ]
  }

  #call(block: Fields): UntimedRecord {
    const id = textField(block['id']) ?? ''
    const name = textField(block['name']) ?? 'tool'
    const input = isRecord(block['arguments']) ? block['arguments'] : {}
    const path = textField(input['path'])
    if (path !== undefined && (name === 'edit' || name === 'write'))
      this.state.edits[id] = {
        name,
        path,
        content: textField(input['content']),
        asked: askedDiff(input['edits']),
      }
    return { kind: 'tool-call', id, name, input }
  }

  #result(message: Fields): UntimedRecord[] {
    const id = textField(message['toolCallId']) ?? ''
    const isError = message['isError'] === true
    const result: UntimedRecord = { kind: 'tool-result', id, text: textOf(message['content']), isError }
    const { edits } = this.state
    const call = edits[id]
    delete edits[id]
    if (isError || !call) return [result]
    const { name, path, content, asked } = call
    const { details } = message
    // Older versions record no patch: then the call itself has the added lines.
    const diff = (isRecord(details) ? textField(details['patch']) : undefined) ?? asked
    const change = name === 'write' ? 'add' : 'update'
    return [result, { kind: 'edit', path, change, diff, content: diff === undefined ? content : undefined }]
  }

  #usage(value: unknown, id: string, model = this.state.model): UntimedRecord[] {
    if (!isRecord(value)) return []
    const { cost } = value
    return [
      {
        kind: 'usage',
        id,
        model,
        costUsd: isRecord(cost) && typeof cost['total'] === 'number' ? cost['total'] : undefined,
        input: countField(value['input']),
        cacheRead: countField(value['cacheRead']),
        cacheWrite: countField(value['cacheWrite']),
        output: countField(value['output']),
        reasoning: countField(value['reasoning']),
      },
    ]
  }
}

/** The lines that are only in the new texts, as a diff has them. */
function askedDiff(edits: unknown): string | undefined {
  if (!Array.isArray(edits)) return undefined
  const added = edits.filter(isRecord).flatMap(({ oldText, newText }) => {
    const known = new Set(String(oldText).split('\n'))
    return String(newText)
      .split('\n')
      .filter((line) => !known.has(line))
  })
  return added.map((line) => `+${line}`).join('\n')
}

/** All records; those that are not on the path from the last entry to the root are marked. */
export function readPiSession(path: string): AgentConversation {
  const translator = new PiTranslator()
  const conversation = readLines(path, translator)
  const { parents, entryOf, lastEntry } = translator
  const current = new Set<string>()
  for (let id = lastEntry; id !== undefined && !current.has(id); id = parents.get(id)) current.add(id)
  for (const record of conversation.records) {
    const entry = entryOf.get(record)
    if (entry !== undefined && !current.has(entry)) record.rewound = true
  }
  return conversation
}

/** The id in the name of a session's file: `2026-11-16T14-10-49-769Z_<id>.jsonl`. */
export function idIn(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.jsonl$/, '')
  return name.replace(/^[\dTZ-]+_/, '')
}

function answerOf(blocks: Fields[], id: string): UntimedRecord[] {
  const texts = blocks.filter(({ type }) => type === 'text')
  const text = texts.map((block) => textField(block['text']) ?? '').join('\n')
  return texts.length === 0 ? [] : [{ kind: 'answer', text, id }]
}

function thoughtOf(block: Fields): UntimedRecord {
  return { kind: 'thinking', text: textField(block['thinking']) ?? '' }
}

function endOf({ stopReason, errorMessage }: Fields): UntimedRecord[] {
  if (stopReason === 'aborted') return [{ kind: 'turn-end', outcome: 'interrupted' }]
  if (stopReason !== 'error') return []
  return [{ kind: 'turn-end', outcome: 'failed', error: textField(errorMessage) ?? '' }]
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return textField(content) ?? ''
  return content.map((part) => (isRecord(part) ? (textField(part['text']) ?? '') : '')).join('')
}
