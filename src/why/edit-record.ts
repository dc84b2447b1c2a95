// Reads an edit back from a transcript of Claude Code, by the place that the index has: the texts of the lines it removed and added.
import { blocksIn, textIn } from '../discovery/cards.ts'
import { recordAt } from '../discovery/record-at.ts'
import { isRecord } from '../domain/json.ts'
import type { FoundEdit } from './find-edits.ts'

export interface EditHunk {
  removed: string[]
  added: string[]
}

export interface EditRecord {
  /** The record of the result. */
  uuid: string | undefined
  toolUseId: string | undefined
  hunks: EditHunk[]
}

/** Undefined if the transcript is gone or was rewritten. */
export function readEdit(path: string, { offset, kind }: FoundEdit): EditRecord | undefined {
  const record = recordAt(path, offset)
  const message = record?.['message']
  if (!record || !isRecord(message)) return undefined
  const toolUseId = textIn(blocksIn(message['content'])[0]?.['tool_use_id'])
  const result = isRecord(record['toolUseResult']) ? record['toolUseResult'] : {}
  return { uuid: textIn(record['uuid']), toolUseId, hunks: kind === 'shell' ? [] : hunksIn(result) }
}

/** A patch; a new file has none, and all its lines were added. */
function hunksIn(result: Record<string, unknown>): EditHunk[] {
  const patch = Array.isArray(result['structuredPatch']) ? result['structuredPatch'].filter(isRecord) : []
  const hunks = patch.flatMap(({ lines }) => (Array.isArray(lines) ? splitHunk(lines.map(String)) : []))
  if (hunks.length > 0) return hunks
  const [removed, added] = [
    [result['oldString']],
    [result['content'], result['newString'], result['new_source']],
  ].map((texts) => texts.flatMap((text) => (typeof text === 'string' ? text.split('\n') : [])))
  return [{ removed: removed!, added: added! }]
}

/** One hunk of a patch may have several changes, with unchanged lines between them. */
function splitHunk(lines: readonly string[]): EditHunk[] {
  const hunks: EditHunk[] = []
  let isOpen = false
  for (const line of lines) {
    const isChange = line.startsWith('+') || line.startsWith('-')
    if (isChange && !isOpen) hunks.push({ removed: [], added: [] })
    isOpen = isChange
    if (isChange) hunks.at(-1)![line.startsWith('+') ? 'added' : 'removed'].push(line.slice(1))
  }
  return hunks
}
