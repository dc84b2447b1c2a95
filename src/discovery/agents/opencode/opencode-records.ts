// The sessions of opencode as records, from the rows of its database or from the JSON files of older versions. A fork copies all
// messages under new ids but keeps their times: what is older than the session itself was paid for elsewhere.
import { isRecord } from '../../../domain/json.ts'
import type { AgentRecord, SessionAbout, UntimedRecord } from '../../../domain/agent-records.ts'
import { countField, textField } from '../contract.ts'

type Fields = Record<string, unknown>

export interface OpencodeSession {
  id: string
  parentId?: string
  directory?: string
  title?: string
  version?: string
  createdMs: number
  updatedMs: number
  /** After a revert, this message and all later ones are not part of the conversation. */
  revertedFrom?: string
  messages: Array<{ id: string; data: Fields; parts: Fields[] }>
  damaged: number
  bytes: number
}

export function opencodeRecords(session: OpencodeSession): AgentRecord[] {
  const { messages, createdMs, revertedFrom } = session
  const records: AgentRecord[] = [
    { kind: 'session', at: isoTime(session.updatedMs), about: aboutOf(session) },
  ]
  for (const { id, data, parts } of messages) {
    const time = isRecord(data['time']) ? data['time'] : {}
    const created = countField(time['created'])
    const inherited = (created > 0 && created < createdMs) || undefined
    const rewound = (revertedFrom !== undefined && id >= revertedFrom) || undefined
    const found = data['role'] === 'user' ? promptOf(id, parts) : answerOf(id, data, parts)
    for (const record of found) records.push({ ...record, at: isoTime(created), inherited, rewound })
  }
  if (isAnswering(messages.at(-1)?.data)) records.push({ kind: 'turn-start', at: '' })
  return records
}

function aboutOf({
  id,
  parentId,
  directory,
  title,
  version,
  createdMs,
  messages,
}: OpencodeSession): SessionAbout {
  const first = messages[0]?.data['time']
  return {
    id,
    parent: parentId === undefined ? undefined : { kind: 'subagent', id: parentId },
    cwd: directory,
    title,
    version,
    startedAt: isoTime(createdMs) || undefined,
    firstId: isRecord(first) ? `opencode ${directory} ${String(first['created'])}` : undefined,
  }
}

function promptOf(id: string, parts: Fields[]): UntimedRecord[] {
  if (parts.some(({ type }) => type === 'compaction')) return [{ kind: 'compaction', text: '' }]
  const own = parts.filter(({ type, synthetic }) => type === 'text' && !synthetic)
  return [{ kind: 'prompt', text: own.map((part) => textField(part['text']) ?? '').join(''), id }]
}

function answerOf(id: string, data: Fields, parts: Fields[]): UntimedRecord[] {
  const model = `${textField(data['providerID']) ?? 'unknown'}/${textField(data['modelID']) ?? 'unknown'}`
  const texts = parts.filter(({ type, text }) => type === 'text' && text)
  const text = texts.map((part) => textField(part['text']) ?? '').join('\n')
  return [
    { kind: 'model', model },
    ...parts.filter(({ type }) => type === 'reasoning').map(thoughtOf),
    // The answer of a compaction is its summary.
    ...(texts.length > 0 && !data['summary'] ? [{ kind: 'answer' as const, text, id }] : []),
    ...parts.flatMap(partRecords),
    usageOf(id, model, data),
    ...endOf(data['error']),
  ]
}

function thoughtOf(part: Fields): UntimedRecord {
  return { kind: 'thinking', text: textField(part['text']) ?? '' }
}

function partRecords(part: Fields): UntimedRecord[] {
  if (part['type'] === 'patch' && Array.isArray(part['files']))
    return part['files'].map((path) => ({ kind: 'edit', path: String(path), change: 'update' }))
  return part['type'] === 'tool' ? toolRecords(part) : []
}

function toolRecords(part: Fields): UntimedRecord[] {
  const id = textField(part['callID']) ?? ''
  const name = textField(part['tool']) ?? 'tool'
  const state = isRecord(part['state']) ? part['state'] : {}
  const input = isRecord(state['input']) ? state['input'] : {}
  const metadata = isRecord(state['metadata']) ? state['metadata'] : {}
  const records: UntimedRecord[] = [{ kind: 'tool-call', id, name, input }]
  const { status } = state
  if (status === 'completed' || status === 'error') {
    const text = textField(state['output']) ?? textField(state['error']) ?? ''
    const isError = status === 'error' || countField(metadata['exit']) > 0
    records.push({ kind: 'tool-result', id, text, isError })
  }
  const path = textField(input['filePath'])
  if (path !== undefined && status === 'completed' && (name === 'write' || name === 'edit'))
    records.push({
      kind: 'edit',
      path,
      change: name === 'write' ? 'add' : 'update',
      diff: textField(metadata['diff']),
      content: metadata['diff'] === undefined ? textField(input['content']) : undefined,
    })
  const child = textField(metadata['sessionId'])
  if (child !== undefined)
    records.push({
      kind: 'subagent',
      id: child,
      name: textField(input['subagent_type']) ?? 'agent',
      about: textField(input['description']) ?? '',
    })
  return records
}

/** opencode reports input, cache reads and writes apart, and reasoning apart from the output. */
function usageOf(id: string, model: string, data: Fields): UntimedRecord {
  const tokens = isRecord(data['tokens']) ? data['tokens'] : {}
  const cache = isRecord(tokens['cache']) ? tokens['cache'] : {}
  const reasoning = countField(tokens['reasoning'])
  const cost = data['cost']
  return {
    kind: 'usage',
    id,
    model,
    costUsd: typeof cost === 'number' ? cost : undefined,
    input: countField(tokens['input']),
    cacheRead: countField(cache['read']),
    cacheWrite: countField(cache['write']),
    output: countField(tokens['output']) + reasoning,
    reasoning,
  }
}

function endOf(error: unknown): UntimedRecord[] {
  if (!isRecord(error)) return []
  const name = textField(error['name']) ?? 'error'
  if (name === 'MessageAbortedError') return [{ kind: 'turn-end', outcome: 'interrupted' }]
  return [{ kind: 'turn-end', outcome: 'failed', error: name }]
}

function isAnswering(data: Fields | undefined): boolean {
  if (!data || data['error']) return false
  return data['role'] === 'user' || !isRecord(data['time']) || data['time']['completed'] === undefined
}

function isoTime(ms: number): string {
  return ms > 0 && ms < 8.64e15 ? new Date(ms).toISOString() : ''
}
