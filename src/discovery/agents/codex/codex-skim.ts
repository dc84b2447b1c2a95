// Which lines of a Codex rollout a scan need not parse, decided by their first bytes: most bytes of a file are tool results and
// instructions, which no fact needs. Also what later lines need to know of earlier ones.
import type { Skimmed } from '../json-lines.ts'

/** Facts of earlier lines that later lines need. */
export interface CodexState {
  id?: string
  /** The history of a parent is copied into the file: turns older than the thread itself are the parent's. */
  hasCopies: boolean
  /** Lines below this number are the parent's. */
  ownFrom: number
  turn?: string
  model: string
  cwd?: string
  /** The last `total_token_usage`. */
  total?: string
  /** The turn that has usage records, so that its token counts are repetitions. */
  recordedTurn?: string
  /** The service tier that costs twice as much. */
  fast: boolean
  /** How many token counts were added, to tell them apart. */
  counts: number
  /** Patches of this turn without an event that names their files, by the call. */
  patches: Record<string, { cwd: string; patch: string }>
  /** Calls of this turn whose event has named the files. */
  reported: string[]
}

/** The beginning of a line: its time, its type, and the type of its payload. */
const lineStart =
  /^\{"timestamp":"([^"]{10,40})",(?:"ordinal":\d+,)?"type":"(\w+)"(?:,"payload":\{"type":"(\w+)")?/
const startBytes = 420
/** A line that a crash glued to another one has two of these; within a text the quotes would be escaped. */
const secondStart = Buffer.from('{"timestamp":"')
const needless = new Set(['response_item', 'world_state', 'inter_agent_communication', 'realtime_item'])
const needlessEvents =
  /^(?:agent_reasoning|exec_command_\w+|patch_apply_begin|mcp_tool_call_\w+|web_search_\w+|turn_diff)/
const needlessItem = /"item":\{"type":"(?:CommandExecution|Reasoning|McpToolCall|WebSearch)"/
/** A call that may change files, and the beginning of its result. */
const patchCall = /"type":"custom_tool_call".*"name":"apply_patch"/
const callResult = /"type":"custom_tool_call_output","call_id":"([^"]+)"/

export function skimLine(bytes: Buffer, { ownFrom, hasCopies, patches }: CodexState): Skimmed | undefined {
  const start = bytes.toString('latin1', 0, Math.min(startBytes, bytes.length))
  const [, at, type = '', inner = ''] = lineStart.exec(start) ?? []
  if (at === undefined) return undefined
  const isCompaction = type === 'compacted' && ownFrom === 0 && !hasCopies
  const isPatch =
    inner.startsWith('custom_tool_call') &&
    (patchCall.test(start) || (callResult.exec(start)?.[1] ?? '') in patches)
  if (isPatch) return undefined
  const isNeedless =
    needless.has(type) ||
    isCompaction ||
    (type === 'event_msg' &&
      (needlessEvents.test(inner) || (inner === 'item_completed' && needlessItem.test(start))))
  const isSound = bytes[bytes.length - 1] === 125 && bytes.indexOf(secondStart, 1) < 0
  if (!isNeedless || !isSound) return undefined
  return isCompaction ? { at, records: [{ kind: 'compaction', at, text: '' }] } : { at }
}
