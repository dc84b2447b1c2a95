// The anatomy of a session: what fills its context, how its cost and context grew, which files and sub-agents it used. Claude
// reports only the size of the whole context, so the parts are estimated from the length of their texts and scaled to it.
import { closeSync, fstatSync } from 'node:fs'
import { isRecord, parseRecord } from '../domain/json.ts'
import { contextKinds, type Anatomy, type ContextKind } from '../domain/transcript-views.ts'
import { TimeSlice } from '../domain/async.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { blocksIn, subagentIn, textIn, usageIn } from './cards.ts'
import { callCost } from './price-table.ts'
import { openForeign } from '../store/disk/foreign-file.ts'

type Fields = Record<string, unknown>

const maxBytes = 64 << 20
const maxCalls = 400
const sliceMs = 8
const charsPerToken = 3.6

export async function anatomyOf(filePath: string, contextTokens: number): Promise<Anatomy> {
  const fd = openForeign(filePath)
  try {
    const from = Math.max(0, fstatSync(fd).size - maxBytes)
    const reader = new AnatomyReader()
    const share = new TimeSlice(sliceMs)
    for (const { bytes } of linesOfFile(fd, from)) {
      reader.line(bytes)
      if (share.isUsedUp) await share.yield()
    }
    return reader.anatomy(contextTokens, from > 0)
  } finally {
    closeSync(fd)
  }
}

class AnatomyReader {
  #chars = new Map<ContextKind, number>()
  #calls = new Map<string, Anatomy['calls'][number]>()
  #compactedAt: number[] = []
  #files = new Map<string, { reads: number; writes: number }>()
  #subagents: Anatomy['subagents'] = []

  line(bytes: Buffer): void {
    // Damaged lines are counted by `cc info`.
    const record = parseRecord(bytes.toString('utf8'))
    if (!record || record['isSidechain'] === true) return
    const at = Date.parse(String(record['timestamp'])) || 0
    if (record['type'] === 'system' && record['subtype'] === 'compact_boundary') {
      this.#compactedAt.push(at)
      this.#chars.clear()
    }
    const { message } = record
    if (!isRecord(message)) return
    this.#answered(message, record['toolUseResult'])
    if (record['type'] !== 'user' && record['type'] !== 'assistant') return
    const own = record['isCompactSummary'] === true ? 'summary' : undefined
    this.#content(message['content'], record['type'], own, at)
    if (record['type'] === 'assistant') this.#call(message, at)
  }

  anatomy(contextTokens: number, partial: boolean): Anatomy {
    const calls = [...this.#calls.values()].sort((a, b) => a.at - b.at)
    let costUsd = 0
    for (const call of calls) call.costUsd = costUsd += call.costUsd
    return {
      context: contextParts(this.#chars, contextTokens),
      calls: fewCalls(calls),
      compactedAt: this.#compactedAt,
      files: [...this.#files]
        .map(([path, counts]) => ({ path, ...counts }))
        .sort((a, b) => b.writes - a.writes || b.reads - a.reads)
        .slice(0, 200),
      subagents: this.#subagents.slice(-100),
      partial,
    }
  }

  #content(content: unknown, type: string, own: ContextKind | undefined, at: number): void {
    const kind = own ?? (type === 'user' ? 'prompts' : 'answers')
    if (typeof content === 'string') return this.#weigh(kind, content.length)
    for (const block of blocksIn(content)) {
      if (block['type'] === 'text') this.#weigh(kind, lengthOf(block['text']))
      else if (block['type'] === 'thinking') this.#weigh('thinking', lengthOf(block['thinking']))
      else if (block['type'] === 'tool_use') this.#tool(block, at)
      else if (block['type'] === 'tool_result') this.#weigh('results', lengthOf(block['content']))
    }
  }

  #tool(block: Fields, at: number): void {
    const input = isRecord(block['input']) ? block['input'] : {}
    const name = String(block['name'])
    this.#weigh('tools', lengthOf(input))
    const path = input['file_path'] ?? input['notebook_path']
    if (typeof path === 'string') {
      const counts = this.#files.get(path) ?? { reads: 0, writes: 0 }
      counts[name === 'Read' ? 'reads' : 'writes']++
      this.#files.set(path, counts)
    }
    if (name !== 'Task' && name !== 'Agent') return
    const about = textIn(input['description']) ?? textIn(input['prompt'])?.slice(0, 200) ?? ''
    const toolUseId = textIn(block['id'])
    this.#subagents.push({ name: textIn(input['subagent_type']) ?? 'agent', about, at, toolUseId })
  }

  /** The answer of a sub-agent has its id. */
  #answered(message: Fields, result: unknown): void {
    const id = subagentIn(result)
    if (id === undefined) return
    const used = new Set(blocksIn(message['content']).map((block) => block['tool_use_id']))
    const called = this.#subagents.findLast(({ toolUseId }) => used.has(toolUseId))
    if (called) called.id = id
  }

  /** Claude repeats a message's usage with each of its blocks; the last record is the final one. */
  #call(message: Fields, at: number): void {
    const { usage } = message
    const id = textIn(message['id'])
    if (!isRecord(usage) || id === undefined) return
    const used = usageIn(usage)
    this.#calls.set(id, {
      at,
      contextTokens: used.input + used.cacheRead + used.cacheWrite,
      outputTokens: used.output,
      costUsd: callCost(textIn(message['model']) ?? '', used),
    })
  }

  #weigh(kind: ContextKind, chars: number): void {
    this.#chars.set(kind, (this.#chars.get(kind) ?? 0) + chars)
  }
}

/** The rest of the context, besides the texts, is the agent's own prompt, its tools and the memory files. */
export function contextParts(chars: ReadonlyMap<ContextKind, number>, total: number): Anatomy['context'] {
  const weighed = [...chars].map(([kind, count]) => ({ kind, tokens: count / charsPerToken }))
  const sum = weighed.reduce((all, { tokens }) => all + tokens, 0)
  const scale = sum > total ? total / sum : 1
  const parts = weighed.map(({ kind, tokens }) => ({ kind, tokens: Math.round(tokens * scale) }))
  const rest = total - parts.reduce((all, { tokens }) => all + tokens, 0)
  return [...(rest > 0 ? [{ kind: 'system' as const, tokens: rest }] : []), ...parts].sort(
    (a, b) => contextKinds.indexOf(a.kind) - contextKinds.indexOf(b.kind),
  )
}

/** A chart needs no more points; the last one is always among them. */
export function fewCalls(calls: Anatomy['calls']): Anatomy['calls'] {
  const step = Math.ceil(calls.length / maxCalls)
  return step > 1 ? calls.filter((_, i) => i % step === 0 || i === calls.length - 1) : calls
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return value === undefined ? 0 : JSON.stringify(value).length
}
