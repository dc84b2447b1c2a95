// What the model sees of a transcript: the path from the root to the leaf, with the last compaction applied.
// The rules are pi's, so that pi and OpenClaw make the same of our files as we do.
import type { TranscriptEntry, TranscriptMessage } from './transcript.ts'

export type ContextMessage =
  | TranscriptMessage
  | { role: 'compactionSummary'; summary: string; tokensBefore: number | null; timestamp: number }
  | { role: 'branchSummary'; summary: string; fromId: string; timestamp: number }

export interface TranscriptContext {
  messages: ContextMessage[]
  thinkingLevel: string
  model: { provider: string; modelId: string } | null
}

/** `path` is the way from the root to the leaf, in order. */
export function contextOf(path: readonly TranscriptEntry[]): TranscriptContext {
  return { messages: messagesOf(path), ...settingsOf(path) }
}

function settingsOf(path: readonly TranscriptEntry[]): Omit<TranscriptContext, 'messages'> {
  let thinkingLevel = 'off'
  let model: TranscriptContext['model'] = null
  for (const entry of path) {
    if (entry.type === 'thinking_level_change') thinkingLevel = entry.thinkingLevel
    else if (entry.type === 'model_change') model = { provider: entry.provider, modelId: entry.modelId }
    else if (entry.type === 'message' && entry.message.role === 'assistant') {
      model = { provider: entry.message.provider, modelId: entry.message.model }
    }
  }
  return { thinkingLevel, model }
}

function messagesOf(path: readonly TranscriptEntry[]): ContextMessage[] {
  const at = path.findLastIndex((entry) => entry.type === 'compaction')
  const compaction = path[at]
  if (compaction?.type !== 'compaction') return path.flatMap(messageOf)
  const { summary, tokensBefore, firstKeptEntryId } = compaction
  const timestamp = Date.parse(compaction.timestamp)
  const firstKept = path.findIndex((entry) => entry.id === firstKeptEntryId)
  const kept = firstKept >= 0 && firstKept < at ? path.slice(firstKept, at) : []
  return [
    { role: 'compactionSummary', summary, tokensBefore, timestamp },
    ...kept.flatMap(messageOf),
    ...path.slice(at + 1).flatMap(messageOf),
  ]
}

function messageOf(entry: TranscriptEntry): ContextMessage[] {
  const timestamp = Date.parse(entry.timestamp)
  switch (entry.type) {
    case 'message':
      return [entry.message]
    case 'custom_message': {
      const { customType, content, display, details } = entry
      return [{ role: 'custom', customType, content, display, details, timestamp }]
    }
    case 'branch_summary':
      if (!entry.summary) return []
      return [{ role: 'branchSummary', summary: entry.summary, fromId: entry.fromId, timestamp }]
    default:
      return []
  }
}
