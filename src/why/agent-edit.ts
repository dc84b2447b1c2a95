// An edit of another agent than Claude Code, and its context in the conversation. Their sessions have no places in a file
// that all of them share, so an edit is found by its file and its time.
import { callCost } from '../discovery/price-table.ts'
import { isContinuation } from '../discovery/transcript-facts.ts'
import type { AgentRecord } from '../domain/agent-records.ts'
import type { EditHunk, EditRecord } from './edit-record.ts'
import type { FoundEdit } from './find-edits.ts'
import { cut, type Story } from './story.ts'

/** Undefined if the conversation no longer has it. */
export function agentEdit(records: readonly AgentRecord[], edit: FoundEdit): EditRecord | undefined {
  const record = records[placeOf(records, edit)]
  if (record?.kind !== 'edit') return undefined
  // Readers of conversations take a time instead of the id of a record.
  return {
    uuid: `@${timeOf(record)}`,
    toolUseId: undefined,
    hunks: hunksOf(record.diff ?? record.content ?? ''),
  }
}

export function agentStory(records: readonly AgentRecord[], edit: FoundEdit): Story {
  const place = placeOf(records, edit)
  const start = records.findLastIndex(({ kind }, i) => i < place && kind === 'prompt')
  const next = records.findIndex(({ kind }, i) => i > place && kind === 'prompt')
  const turn = records.slice(Math.max(0, start), next < 0 ? records.length : next)
  const before = records.slice(Math.max(0, start), Math.max(0, place))
  const said = before.findLast((record) => record.kind === 'answer' && record.text.trim() !== '')
  return {
    prompt: promptBefore(records, place),
    said: said?.kind === 'answer' ? cut(said.text) : undefined,
    decisions: [],
    costUsd: turn.reduce((sum, record) => sum + costOf(record), 0),
  }
}

/** The edit of this file at this time; -1 if there is none. Agents record a time once for several records. */
function placeOf(records: readonly AgentRecord[], { file, seconds }: FoundEdit): number {
  return records.findIndex(
    (record) =>
      record.kind === 'edit' &&
      (record.path === file || file.endsWith(`/${record.path}`)) &&
      Math.floor(timeOf(record) / 1_000) === seconds,
  )
}

/** The prompt of the turn; of the last one that says what to do, if that one only says to continue. */
function promptBefore(records: readonly AgentRecord[], place: number): Story['prompt'] {
  const prompts = records.slice(0, Math.max(0, place)).filter((record) => record.kind === 'prompt')
  const prompt = prompts.findLast(({ text }) => !isContinuation(text)) ?? prompts.at(-1)
  return prompt && { text: cut(prompt.text)!, uuid: prompt.id, at: timeOf(prompt) }
}

function timeOf({ at }: AgentRecord): number {
  return Date.parse(at) || 0
}

function costOf(record: AgentRecord): number {
  if (record.kind !== 'usage' || record.inherited) return 0
  return record.costUsd ?? callCost(record.model, record)
}

/** Of a unified diff the changes; anything else is the whole content of a new file. */
function hunksOf(diff: string): EditHunk[] {
  const lines = diff.split('\n')
  if (!lines.some((line) => line.startsWith('@@'))) return [{ removed: [], added: lines }]
  const hunks: EditHunk[] = []
  for (const line of lines) {
    if (line.startsWith('@@')) hunks.push({ removed: [], added: [] })
    else if (line.startsWith('+')) hunks.at(-1)?.added.push(line.slice(1))
    else if (line.startsWith('-')) hunks.at(-1)?.removed.push(line.slice(1))
  }
  return hunks
}
