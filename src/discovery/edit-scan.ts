// Finds the edits in the records of a transcript while it is scanned. A call of a tool says what is to be changed; its result says
// whether that happened, and exactly which lines it added. Refused and failed calls add nothing.
import { hash } from 'node:crypto'
import { attempt } from '../domain/errors.ts'
import { absent, closeBracket, JsonBytes, openBrace, openBracket, quote, WordTable } from './json-bytes.ts'
import type { Span } from './json-bytes.ts'
import type { Edit, EditTable, PendingCall } from './edit-table.ts'
import { hashLines, hashOfLine } from './line-hash.ts'
import { shellEdits } from './shell-edits.ts'

const comma = 44
const plus = 43

const toolNames = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'Bash'] as const
const blockKeys = ['type', 'id', 'name', 'input'] as const
const inputKeys = [
  'file_path',
  'notebook_path',
  'old_string',
  'new_string',
  'content',
  'new_source',
  'edits',
  'command',
] as const

const toolTable = new WordTable(toolNames)
const keyTable = new WordTable([...blockKeys, ...inputKeys, 'lines'])

const toolUse = Buffer.from('"type":"tool_use"')
const toolUseIdKey = Buffer.from('"tool_use_id":"')
const isError = Buffer.from('"is_error":true')
const ranAndFailed = Buffer.from('"content":"Exit code ')
const patchKey = Buffer.from('"structuredPatch":')

/** A larger command is not written by hand, and git's answer to a commit is short. */
const longestCommand = 1 << 18
/** Without an end, calls that never got a result would be kept forever. */
const mostPending = 64

export class EditScan extends JsonBytes<(typeof blockKeys | typeof inputKeys)[number] | 'lines'> {
  readonly table: EditTable
  readonly #id = absent()
  readonly #name = absent()
  readonly #input = absent()
  readonly #command = absent()
  readonly #path = absent()
  readonly #item = absent()
  #added: number[] = []
  #removed: number[] = []

  constructor(table: EditTable) {
    super(keyTable)
    this.table = table
  }

  /** The content of a reply. */
  reply(buffer: Buffer, content: Span, seconds: number, cwdOf: () => string): void {
    if (!buffer.subarray(content.start, content.end).includes(toolUse)) return
    this.buffer = buffer
    this.end = content.end
    this.#passList(content.start, (at) => {
      this.#id.start = this.#name.start = this.#input.start = -1
      const next = this.passObject(at, this.#blockValue)
      if (next >= 0) this.#call(seconds, cwdOf)
      return next
    })
  }

  /** A record with the result of a call. `offset`: where it begins in the file. */
  result(buffer: Buffer, start: number, end: number, offset: number): void {
    const { pending } = this.table
    if (pending.size === 0) return
    const line = buffer.subarray(start, end)
    const idAt = line.indexOf(toolUseIdKey) + toolUseIdKey.length
    const id = line.toString('latin1', idAt, line.indexOf(quote, idAt))
    const call = pending.get(id)
    if (!call) return
    pending.delete(id)
    // A command that ends with an error has run, and has written its files; any other tool has changed nothing.
    if (line.includes(isError) && !line.includes(ranAndFailed)) return
    if (call.mayCommit) this.#noteCommits(line, call.seconds, offset)
    const patched = this.#patchedLines(line)
    const about = { seconds: call.seconds, offset, id: idNumber(id) }
    for (const edit of call.edits) {
      const lines = patched ?? edit.lines
      if (lines.length > 0) this.table.edits.push({ ...edit, ...about, lines })
    }
  }

  #blockValue = (at: number): number => {
    if (this.key === 'id') return this.string(at, this.#id)
    if (this.key === 'name') return this.string(at, this.#name)
    return this.key === 'input' ? this.composite(at, this.#input) : this.skip(at)
  }

  #call(seconds: number, cwdOf: () => string): void {
    const { buffer } = this
    const tool = this.#name.start < 0 ? undefined : toolTable.find(buffer, this.#name.start, this.#name.end)
    if (tool === undefined || this.#id.start < 0 || this.#input.start < 0) return
    this.#path.start = this.#command.start = -1
    this.#added = []
    this.#removed = []
    if (this.passObject(this.#input.start, this.#inputValue) < 0) return
    const toolUseId = buffer.toString('latin1', this.#id.start, this.#id.end)
    const call = tool === 'Bash' ? this.#command.start >= 0 && this.#shellCall(cwdOf) : this.#fileCall(tool)
    if (!call || (call.edits.length === 0 && !call.mayCommit)) return
    const { pending } = this.table
    pending.set(toolUseId, { toolUseId, seconds, ...call })
    if (pending.size > mostPending) pending.delete(pending.keys().next().value!)
  }

  #inputValue = (at: number): number => {
    switch (this.key) {
      case 'file_path':
      case 'notebook_path':
        return this.string(at, this.#path)
      case 'command':
        return this.string(at, this.#command)
      case 'old_string':
        return this.#hashString(at, this.#removed)
      case 'new_string':
      case 'content':
      case 'new_source':
        return this.#hashString(at, this.#added)
      case 'edits':
        return this.#passList(at, (item) => this.passObject(item, this.#inputValue))
      default:
        return this.skip(at)
    }
  }

  #fileCall(tool: string): Pick<PendingCall, 'edits' | 'mayCommit'> | undefined {
    const file = this.#path.start < 0 ? undefined : this.#text(this.#path)
    if (file === undefined) return undefined
    const lines = without(this.#added, this.#removed)
    return { edits: [{ file, kind: tool === 'Write' ? 'write' : 'edit', lines }], mayCommit: false }
  }

  #shellCall(cwdOf: () => string): Pick<PendingCall, 'edits' | 'mayCommit'> | undefined {
    if (this.#command.end - this.#command.start > longestCommand) return undefined
    const command = this.#text(this.#command) ?? ''
    const written = command.includes('<<') ? shellEdits(command, cwdOf()) : []
    const edits = written.map(({ file, lines }): Pick<Edit, 'file' | 'kind' | 'lines'> => {
      return { file, kind: 'shell', lines: lines.flatMap((line) => hashOfLine(line) ?? []) }
    })
    return { edits, mayCommit: /\bgit\b[^\n]*\b(?:commit|cherry-pick|revert|merge|am)\b/.test(command) }
  }

  /** The lines that the tool has really added; undefined if the result does not show them. */
  #patchedLines(line: Buffer): number[] | undefined {
    const at = line.indexOf(patchKey)
    if (at < 0) return undefined
    this.buffer = line
    this.end = line.length
    const lines: number[] = []
    this.#passList(at + patchKey.length, (hunk) =>
      this.passObject(hunk, (value) =>
        this.key === 'lines'
          ? this.#passList(value, (item) => this.#addedLine(item, lines))
          : this.skip(value),
      ),
    )
    // A new file has no patch.
    return lines.length > 0 ? lines : undefined
  }

  #addedLine(at: number, into: number[]): number {
    const next = this.string(at, this.#item)
    if (next >= 0 && this.buffer[this.#item.start] === plus)
      hashLines(this.buffer, this.#item.start + 1, this.#item.end, into)
    return next
  }

  /** Git reports `[main 3f2a0b1] Subject` for a new commit. */
  #noteCommits(line: Buffer, seconds: number, offset: number): void {
    const text = line.toString('utf8', 0, longestCommand)
    const shas = [...text.matchAll(/\[[^\]\n"]{1,200} ([0-9a-f]{7,40})\] /g)].map(([, sha]) =>
      sha!.slice(0, 7),
    )
    for (const sha of new Set(shas)) this.table.commits.push({ sha, seconds, offset })
  }

  #hashString(at: number, into: number[]): number {
    this.#item.start = -1
    const next = this.string(at, this.#item)
    if (this.#item.start >= 0) hashLines(this.buffer, this.#item.start, this.#item.end, into)
    return next
  }

  /** Past a list: calls `item` at each object or string in it, which returns the position after it. */
  #passList(at: number, item: (at: number) => number): number {
    if (this.buffer[at] !== openBracket) return this.skip(at)
    at = this.space(at + 1)
    if (this.buffer[at] === closeBracket) return at + 1
    for (;;) {
      const isRead = this.buffer[at] === openBrace || this.buffer[at] === quote
      at = isRead ? item(at) : this.skip(at)
      if (at < 0) return -1
      at = this.space(at)
      if (this.buffer[at] !== comma) return at < this.end ? at + 1 : -1
      at = this.space(at + 1)
    }
  }

  #text({ start, end }: Span): string | undefined {
    const raw = this.buffer.toString('utf8', start, end)
    return raw.includes('\\') ? attempt(() => JSON.parse(`"${raw}"`) as string) : raw
  }
}

function idNumber(id: string): number {
  return hash('sha1', id, 'buffer').readUIntLE(0, 6)
}

/** What is in `lines` more often than in `others`. */
function without(lines: readonly number[], others: readonly number[]): number[] {
  if (others.length === 0) return [...lines]
  const left = new Map<number, number>()
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    const count = left.get(line) ?? 0
    if (count > 0) left.set(line, count - 1)
    return count === 0
  })
}
