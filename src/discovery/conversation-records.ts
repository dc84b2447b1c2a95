// Reads the conversation in one of Claude's transcripts, record by record: for the replay of history, and for a session that
// asks about its conversation. The scan (scan.ts) only counts and is faster.
import { closeSync } from 'node:fs'
import { z } from 'zod'
import { TimeSlice } from '../domain/async.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { branchIn } from './transcript-facts.ts'
import { openForeign } from '../store/disk/foreign-file.ts'
import { parseRecord } from '../domain/json.ts'
import { joinedPromptStart, withJoinedPrompt } from '../domain/joined-prompt.ts'
import { withoutMarker } from '../domain/machine-text.ts'

export interface ConversationRecord {
  kind: 'prompt' | 'answer' | 'other' | 'compaction'
  /** Milliseconds since 1970; 0 when the record has no time. */
  at: number
  branch: string
  /** For prompts and answers. */
  text: string
  /** Size of the file up to and including this record. */
  bytes: number
}

const block = z.looseObject({ type: z.string(), text: z.string().optional() })
const record = z.looseObject({
  type: z.enum(['user', 'assistant', 'system']),
  subtype: z.string().optional(),
  timestamp: z.string().optional(),
  gitBranch: z.string().optional(),
  isMeta: z.boolean().optional(),
  isSidechain: z.boolean().optional(),
  isCompactSummary: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  message: z.looseObject({ content: z.union([z.string(), z.array(block)]) }).optional(),
})
type ClaudeRecord = z.infer<typeof record>

const wanted = ['"user"', '"assistant"', '"compact_boundary"', joinedPromptStart].map((text) =>
  Buffer.from(text),
)

/** The longest time slice before other tasks get a turn. */
const sliceMs = 10

/** In file order. Records of sub-agents and damaged lines are skipped. */
export async function* conversationRecords(filePath: string): AsyncGenerator<ConversationRecord> {
  const fd = openForeign(filePath)
  const share = new TimeSlice(sliceMs)
  try {
    for (const { offset, bytes } of linesOfFile(fd, 0)) {
      if (share.isUsedUp) await share.yield()
      if (!wanted.some((text) => bytes.includes(text))) continue
      const found = readRecord(bytes)
      if (found) yield { ...found, bytes: offset + bytes.length + 1 }
    }
  } finally {
    closeSync(fd)
  }
}

function readRecord(bytes: Buffer): Omit<ConversationRecord, 'bytes'> | undefined {
  // `cc info` reports damaged lines.
  const parsed = parseRecord(bytes.toString('utf8'))
  const checked = record.safeParse(parsed && withJoinedPrompt(parsed))
  if (!checked.success || checked.data.isSidechain) return undefined
  const { timestamp = '', gitBranch } = checked.data
  const kind = kindOf(checked.data)
  const about = { at: Date.parse(timestamp) || 0, branch: branchIn(gitBranch), text: textOf(checked.data) }
  return kind && { kind, ...about }
}

function kindOf(of: ClaudeRecord): ConversationRecord['kind'] | undefined {
  if (of.type === 'system') return of.subtype === 'compact_boundary' ? 'compaction' : undefined
  if (of.type === 'assistant') return of.isApiErrorMessage || textOf(of) === '' ? 'other' : 'answer'
  return isPrompt(of) ? 'prompt' : 'other'
}

/** Not a note of Claude Code, not a tool result, not the trace of a command. */
function isPrompt(of: ClaudeRecord): boolean {
  if (of.isMeta || of.isCompactSummary) return false
  const content = of.message?.content
  if (Array.isArray(content) && content.some(({ type }) => type === 'tool_result')) return false
  const text = textOf(of)
  return !/^($|<(command-|local-command|bash-|system-reminder|task-)|\[Request interrupted)/.test(text)
}

function textOf(of: ClaudeRecord): string {
  const content = of.message?.content ?? ''
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' && text ? [text] : []))
  const text = texts.join('\n')
  return withoutMarker(text).trim()
}
