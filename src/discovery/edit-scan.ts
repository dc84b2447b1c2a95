// Finds the edits in the records of a transcript while it is scanned. The result of a call says whether the tool has changed a
// file, and exactly which lines it added. Refused and failed calls add nothing. The compiled code reads both (wasm/calls.ts).
import { attempt } from '../domain/errors.ts'
import { isRecord } from '../domain/json.ts'
import { callKinds, EditTable, type Edit, type PendingCall } from './edit-table.ts'
import { secondsOf } from './json-bytes.ts'
import { hashesOfText } from './line-hash.ts'
import { recordAt } from './record-at.ts'
import type { RecordWalker } from './record-walker.ts'
import type { ScanCode, Span } from './scan-code.ts'
import { shellEdits } from './shell-edits.ts'

/** A larger command is not written by hand, and git's answer to a commit is short. */
const longestCommand = 1 << 18
/** Without an end, calls that never got a result would be kept forever. */
const mostPending = 64
const nothingWritten = { written: [], mayCommit: false }

export class EditScan {
  /** Of the transcript that is scanned. */
  #table = new EditTable()
  #path = ''
  readonly #walker: RecordWalker
  readonly #code: ScanCode
  readonly #field: ReturnType<ScanCode['fieldNumbers']>
  readonly #resultId: Span
  readonly #resultContent: Span
  readonly #file: Span

  constructor(walker: RecordWalker) {
    const { code } = walker
    this.#walker = walker
    this.#code = code
    this.#field = code.fieldNumbers()
    this.#resultId = code.span('resultId')
    this.#resultContent = code.span('resultContent')
    this.#file = code.span('path')
  }

  begin(path: string, table: EditTable): void {
    this.#path = path
    this.#table = table
  }

  /** The calls in a reply that the walker has passed, from `offset` in the file. */
  reply(offset: number): void {
    const { calls, run } = this.#code
    const numbers = run.callNumbers.value
    for (let at = 0; at < this.#walker.callCount * numbers; at += numbers) {
      const kind = callKinds[calls[at]! - 1]!
      const command = { start: calls[at + 3]!, end: calls[at + 4]! }
      // Most commands change nothing that we could see.
      if (kind === 'command' && (command.start < 0 || !run.mayWrite(command.start, command.end))) continue
      this.#noteCall(kind, this.#latin({ start: calls[at + 1]!, end: calls[at + 2]! }), command, offset)
    }
  }

  #noteCall(kind: PendingCall['kind'], toolUseId: string, command: Span, offset: number): void {
    const written = kind === 'command' ? this.#changes(command) : nothingWritten
    if (!written) return
    const seconds = secondsOf(this.#code.buffer, this.#walker.timestamp)
    const { pending } = this.#table
    pending.set(toolUseId, { toolUseId, kind, seconds, offset, ...written })
    if (pending.size > mostPending) pending.delete(pending.keys().next().value!)
  }

  /** The lines that a command writes itself, and whether it may make a commit; undefined if it does neither. */
  #changes(span: Span): Pick<PendingCall, 'written' | 'mayCommit'> | undefined {
    if (span.end - span.start > longestCommand) return undefined
    const command = this.#text(span) ?? ''
    const edits = command.includes('<<') ? shellEdits(command, this.#walker.folder()) : []
    const written = edits.map(({ file, lines }) => ({ file, lines: hashesOfText(lines.join('\n')) }))
    const mayCommit = /\bgit\b[^\n]*\b(?:commit|cherry-pick|revert|merge|am)\b/.test(command)
    return mayCommit || written.length > 0 ? { written, mayCommit } : undefined
  }

  /** The result of a call, in a record from `offset` in the file and to `end` in the buffer. */
  result(end: number, offset: number): void {
    const { pending } = this.#table
    if (pending.size === 0) return
    const at = this.#walker.resultAt
    this.#code.run.readResultId(at, end)
    const call = pending.get(this.#latin(this.#resultId))
    if (!call) return
    pending.delete(call.toolUseId)
    this.#code.run.readResult(at, end)
    if (this.#isRefused()) return
    if (call.mayCommit) this.#noteCommits(this.#code.buffer.toString('utf8', at, end), call.seconds, offset)
    const kind = call.kind === 'command' ? 'shell' : call.kind
    const about = { kind, seconds: call.seconds, offset, id: this.#idNumber() } as const
    for (const edit of kind === 'shell' ? call.written : this.#changed(call))
      if (edit.lines.length > 0) this.#table.edits.push({ ...edit, ...about })
  }

  /** The real change of the tool; if its result does not show that, the change that the call asked for. */
  #changed(call: PendingCall): Array<Pick<Edit, 'file' | 'lines'>> {
    const lines = this.#code.fields[this.#field.isShown] === 1 ? this.#code.hashes() : undefined
    const file = this.#text(this.#file)
    if (lines && file !== undefined) return [{ file, lines }]
    const asked = askedEdit(recordAt(this.#path, call.offset), call.toolUseId)
    return asked ? [{ file: asked.file, lines: lines ?? asked.lines }] : []
  }

  /** A command that ends with an error has run, and has written its files; any other tool has changed nothing. */
  #isRefused(): boolean {
    const { start, end } = this.#resultContent
    if (this.#code.fields[this.#field.isError] === 0) return false
    return this.#latin({ start, end: Math.min(end, start + 10) }) !== 'Exit code '
  }

  /** Git reports `[main 3f2a0b1] Subject` for a new commit. */
  #noteCommits(text: string, seconds: number, offset: number): void {
    const shas = [...text.matchAll(/\[[^\]\n"]{1,200} ([0-9a-f]{7,40})\] /g)].map(([, sha]) =>
      sha!.slice(0, 7),
    )
    for (const sha of new Set(shas)) this.#table.commits.push({ sha, seconds, offset })
  }

  /** Of the call whose result was read last. */
  #idNumber(): number {
    const { fields } = this.#code
    return (fields[this.#field.idLow]! >>> 0) + fields[this.#field.idHigh]! * 2 ** 32
  }

  #latin({ start, end }: Span): string {
    return start < 0 ? '' : this.#code.buffer.toString('latin1', start, end)
  }

  #text({ start, end }: Span): string | undefined {
    if (start < 0) return undefined
    const raw = this.#code.buffer.toString('utf8', start, end)
    return raw.includes('\\') ? attempt(() => JSON.parse(`"${raw}"`) as string) : raw
  }
}

/** The edit that a call asked for, for transcripts whose results do not show what changed: old ones, and those of programs that
 *  use the Agent SDK. `record`: the reply that has the call; undefined if it does not. */
function askedEdit(
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
