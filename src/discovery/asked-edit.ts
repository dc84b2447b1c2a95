// What a call of a tool was asked to change, for transcripts whose results do not show what it has changed: old ones, and those of
// programs that use the Agent SDK.
import { isRecord } from '../domain/json.ts'
import type { Edit } from './edit-table.ts'
import { hashesOfText } from './line-hash.ts'

/** `record`: the reply that has the call. Undefined if it does not. */
export function askedEdit(
  record: Record<string, unknown> | undefined,
  toolUseId: string,
): Pick<Edit, 'file' | 'lines'> | undefined {
  const message = record?.['message']
  const content = isRecord(message) ? message['content'] : undefined
  const call = Array.isArray(content)
    ? content.find((block) => isRecord(block) && block['id'] === toolUseId)
    : undefined
  const input: unknown = call?.input
  if (!isRecord(input)) return undefined
  const file = input['file_path'] ?? input['notebook_path']
  if (typeof file !== 'string') return undefined
  const edits = Array.isArray(input['edits']) ? input['edits'].filter((edit) => isRecord(edit)) : [input]
  return { file, lines: Uint32Array.from(edits.flatMap(addedLines)) }
}

/** The lines of an edit that it does not also remove. */
function addedLines(edit: Record<string, unknown>): number[] {
  const added = edit['content'] ?? edit['new_string'] ?? edit['new_source']
  const removed = Array.from(hashesOfText(text(edit['old_string'])))
  return [...hashesOfText(text(added))].filter((line) => {
    const at = removed.indexOf(line)
    if (at >= 0) removed.splice(at, 1)
    return at < 0
  })
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
