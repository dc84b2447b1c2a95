// The edits of a session of another agent, in the table that `why` reads: the hashes of the lines that each of them added. The
// agents report an edit when it has happened, as a diff or as the whole file; refused and failed edits have no records.
import { isAbsolute, join } from 'node:path'
import type { AgentRecord } from '../../domain/agent-records.ts'
import { nameHash, type EditTable } from '../edit-table.ts'
import { hashesOfText } from '../line-hash.ts'

type EditOf = Extract<AgentRecord, { kind: 'edit' }>

/** `offset`: where the line of the record begins; 0 where the session is not a file of lines. */
export function addEdit(table: EditTable, edit: EditOf, cwd: string | undefined, offset: number): void {
  const file = isAbsolute(edit.path) ? edit.path : cwd === undefined ? undefined : join(cwd, edit.path)
  const lines = hashesOfText(edit.change === 'delete' ? '' : (edit.content ?? addedText(edit.diff ?? '')))
  if (file === undefined || lines.length === 0) return
  table.edits.push({
    file,
    kind: edit.content === undefined ? 'edit' : 'write',
    seconds: Math.trunc((Date.parse(edit.at) || 0) / 1000),
    offset,
    // Copies in a fork are left out, so the number only has to tell the edits of one session apart.
    id: nameHash(`${file} ${edit.at} ${table.edits.length}`),
    lines,
  })
}

/** The added lines of a unified diff. The lines with the names of the files are before the first `@@`. */
export function addedText(diff: string): string {
  const hunks = diff.slice(Math.max(0, diff.search(/^@@/m)))
  return [...hunks.matchAll(/^\+(.*)$/gm)].map(([, line]) => line).join('\n')
}
