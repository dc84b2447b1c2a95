// Finds the edits in the records of a transcript while it is scanned. A call of a tool says what is to be changed; its result says
// whether that happened, and exactly which lines it added. Refused and failed calls add nothing.
import { attempt } from '../domain/errors.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import {
  absent,
  closeBrace,
  closeBracket,
  JsonBytes,
  openBrace,
  openBracket,
  quote,
  WordTable,
} from './json-bytes.ts'
import { decodeText, secondsOf, type Span } from './json-bytes.ts'
import type { RecordWalker } from './record-walker.ts'
import type { Edit, EditTable, PendingCall } from './edit-table.ts'
import { hashesOfText, hashOneLine } from './line-hash.ts'
import { shellEdits } from './shell-edits.ts'

const comma = 44
const plus = 43
const newline = 10

const toolNames = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'Bash'] as const
const blockKeys = ['type', 'id', 'name', 'input'] as const
const inputKeys = ['file_path', 'notebook_path', 'command', 'lines'] as const

const toolTable = new WordTable(toolNames)
const keyTable = new WordTable([...blockKeys, ...inputKeys])

const toolUse = Buffer.from('"type":"tool_use"')
const idKey = Buffer.from(',"id":"')
const nameKey = Buffer.from('","name":"')
const gitWord = Buffer.from('git')
const less = 60
const letterG = 103
const toolUseIdKey = Buffer.from('"tool_use_id":"')
const toolUseResultKey = Buffer.from('"toolUseResult":')
const patchKey = Buffer.from('"structuredPatch":')

/** A larger command is not written by hand, and git's answer to a commit is short. */
const longestCommand = 1 << 18
/** Without an end, calls that never got a result would be kept forever. */
const mostPending = 64

/** Where the parts of a reply are. */
type Reply = Pick<RecordWalker, 'replyContent' | 'timestamp' | 'cwd'>

export class EditScan extends JsonBytes<(typeof blockKeys | typeof inputKeys)[number]> {
  readonly table: EditTable
  readonly #readRecord: (offset: number) => Record<string, unknown> | undefined
  readonly #id = absent()
  readonly #name = absent()
  readonly #input = absent()
  readonly #command = absent()
  readonly #path = absent()
  readonly #item = absent()
  #isOnlyBlock = true
  #tool: (typeof toolNames)[number] | undefined

  /** `readRecord` reads a record of the transcript again, by its place: few results do not show what was changed. */
  constructor(table: EditTable, readRecord: (offset: number) => Record<string, unknown> | undefined) {
    super(keyTable)
    this.table = table
    this.#readRecord = readRecord
  }

  /** A reply that the walker has passed. `offset`: where its record begins in the file. */
  reply(buffer: Buffer, { replyContent: content, timestamp, cwd }: Reply, offset: number): void {
    this.buffer = buffer
    this.end = content.end
    if (!this.#mayEdit(content)) return
    const second = content.start + 2 + toolUse.length
    this.#isOnlyBlock = !buffer.subarray(second, content.end).includes(toolUse)
    this.#passList(content.start, (at) => {
      this.#id.start = this.#name.start = this.#input.start = -1
      this.#tool = undefined
      const next = this.passObject(at, this.#blockValue)
      this.#call(secondsOf(buffer, timestamp), offset, () => (cwd.start < 0 ? '' : decodeText(buffer, cwd)))
      return next
    })
  }

  /** Claude Code writes one block in each record, and few of them are edits: nearly all records are left after some bytes. */
  #mayEdit({ start, end }: Span): boolean {
    const { buffer } = this
    // A text or a thought ends with a string; only a call can end with the braces of its input.
    if (!this.isAt(start + 2, toolUse)) return buffer[end - 3] === closeBrace
    const idAt = start + 2 + toolUse.length + idKey.length
    let idEnd = idAt
    while (idEnd < end && buffer[idEnd] !== quote) idEnd++
    const nameAt = idEnd + nameKey.length
    if (!this.isAt(idAt - idKey.length, idKey) || !this.isAt(idEnd, nameKey)) return true
    let nameEnd = nameAt
    while (nameEnd < end && buffer[nameEnd] !== quote) nameEnd++
    const tool = toolTable.find(buffer, nameAt, nameEnd)
    return tool === 'Bash' ? this.#mayWrite(nameEnd, end) : tool !== undefined
  }

  /** Whether a command can have a here-document or make a commit. */
  #mayWrite(at: number, end: number): boolean {
    const { buffer } = this
    for (; at < end; at++) {
      if (buffer[at] === less && buffer[at + 1] === less) return true
      if (buffer[at] === letterG && this.isAt(at, gitWord)) return true
    }
    return false
  }

  /** A record with the result of a call. `offset`: where it begins in the file. */
  result(buffer: Buffer, start: number, end: number, offset: number): void {
    const { pending } = this.table
    if (pending.size === 0) return
    // A search in the whole buffer would pass all other records.
    const record = buffer.subarray(start, end)
    const idAt = record.indexOf(toolUseIdKey) + toolUseIdKey.length
    const id = record.toString('latin1', idAt, record.indexOf(quote, idAt))
    const call = pending.get(id)
    if (!call) return
    pending.delete(id)
    // What the model sees of the result comes first, and is short for an edit. The mark of an error may be before the id.
    const found = record.indexOf(toolUseResultKey, idAt)
    const shown = record.toString('latin1', 0, found < 0 ? record.length : found)
    // A command that ends with an error has run, and has written its files; any other tool has changed nothing.
    if (shown.includes('"is_error":true') && !shown.includes('"content":"Exit code ')) return
    if (call.mayCommit) this.#noteCommits(buffer.toString('utf8', start, end), call.seconds, offset)
    const about = { seconds: call.seconds, offset, id: idNumber(id) }
    for (const { file, kind, lines } of call.edits) {
      const added = kind === 'shell' ? lines : this.#linesOf(call, { buffer, start, end, offset })
      if (added.length > 0) this.table.edits.push({ file, kind, ...about, lines: added })
    }
  }

  /** What the tool has really added; if its result does not show that, what it was asked for. */
  #linesOf(
    { toolUseId, offset: callOffset }: PendingCall,
    { buffer, start, end, offset }: { buffer: Buffer; start: number; end: number; offset: number },
  ): number[] {
    const patched = this.#patchedLines(buffer, start, end)
    if (patched.length > 0) return patched
    // The call is nearly always among the bytes that were read together with its result.
    const callAt = start - (offset - callOffset)
    const record = callAt >= 0 ? recordIn(buffer, callAt) : this.#readRecord(callOffset)
    const content = isRecord(record?.['message']) ? record['message']['content'] : undefined
    const block = Array.isArray(content)
      ? content.find((one) => isRecord(one) && one['id'] === toolUseId)
      : undefined
    return isRecord(block) && isRecord(block['input']) ? linesOfInput(block['input']) : []
  }

  #blockValue = (at: number): number => {
    if (this.key === 'id') return this.string(at, this.#id)
    if (this.key === 'name') return this.string(at, this.#name)
    if (this.key !== 'input') return this.skip(at)
    const { start, end } = this.#name
    this.#tool = start < 0 ? undefined : toolTable.find(this.buffer, start, end)
    this.#input.start = at
    this.#input.end = this.end
    // The input is the last field of a block, and most records have one block: then nothing more is to be passed.
    return this.#isOnlyBlock ? -1 : this.skip(at)
  }

  #call(seconds: number, offset: number, cwdOf: () => string): void {
    const tool = this.#tool
    if (tool === undefined || this.#id.start < 0 || this.#input.start < 0) return
    const call = tool === 'Bash' ? this.#shellCall(cwdOf) : this.#fileCall(tool)
    if (!call || (call.edits.length === 0 && !call.mayCommit)) return
    const toolUseId = this.buffer.toString('latin1', this.#id.start, this.#id.end)
    const { pending } = this.table
    pending.set(toolUseId, { toolUseId, seconds, offset, ...call })
    if (pending.size > mostPending) pending.delete(pending.keys().next().value!)
  }

  #fileCall(tool: string): Pick<PendingCall, 'edits' | 'mayCommit'> | undefined {
    this.#path.start = -1
    // Ends when the path is found.
    this.passObject(this.#input.start, this.#pathValue)
    const file = this.#path.start < 0 ? undefined : this.#text(this.#path)
    if (file === undefined) return undefined
    return { edits: [{ file, kind: tool === 'Write' ? 'write' : 'edit', lines: [] }], mayCommit: false }
  }

  #pathValue = (at: number): number => {
    if (this.key !== 'file_path' && this.key !== 'notebook_path') return this.skip(at)
    this.string(at, this.#path)
    return -1
  }

  #shellCall(cwdOf: () => string): Pick<PendingCall, 'edits' | 'mayCommit'> | undefined {
    this.#command.start = -1
    this.passObject(this.#input.start, this.#commandValue)
    const { start, end } = this.#command
    if (start < 0 || end - start > longestCommand) return undefined
    const command = this.#text(this.#command) ?? ''
    const written = command.includes('<<') ? shellEdits(command, cwdOf()) : []
    const edits = written.map(({ file, lines }): Pick<Edit, 'file' | 'kind' | 'lines'> => {
      return { file, kind: 'shell', lines: hashesOfText(lines.join('\n')) }
    })
    return { edits, mayCommit: /\bgit\b[^\n]*\b(?:commit|cherry-pick|revert|merge|am)\b/.test(command) }
  }

  #commandValue = (at: number): number => {
    if (this.key !== 'command') return this.skip(at)
    this.string(at, this.#command)
    return -1
  }

  /** The added lines of the patch in a result; none for a new file. */
  #patchedLines(buffer: Buffer, start: number, end: number): number[] {
    // Usually near the end, after the original file.
    const found = buffer.subarray(start, end).lastIndexOf(patchKey)
    if (found < 0) return []
    const at = start + found
    this.buffer = buffer
    this.end = end
    const lines: number[] = []
    this.#passList(at + patchKey.length, (hunk) =>
      this.passObject(hunk, (value) =>
        this.key === 'lines'
          ? this.#passList(value, (item) => this.#addedLine(item, lines))
          : this.skip(value),
      ),
    )
    return lines
  }

  #addedLine(at: number, into: number[]): number {
    const next = this.string(at, this.#item)
    if (next >= 0 && this.buffer[this.#item.start] === plus)
      hashOneLine(this.buffer, this.#item.start + 1, this.#item.end, into)
    return next
  }

  /** Git reports `[main 3f2a0b1] Subject` for a new commit. */
  #noteCommits(text: string, seconds: number, offset: number): void {
    const shas = [...text.matchAll(/\[[^\]\n"]{1,200} ([0-9a-f]{7,40})\] /g)].map(([, sha]) =>
      sha!.slice(0, 7),
    )
    for (const sha of new Set(shas)) this.table.commits.push({ sha, seconds, offset })
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

function recordIn(buffer: Buffer, at: number): Record<string, unknown> | undefined {
  const end = buffer.indexOf(newline, at)
  return parseRecord(buffer.toString('utf8', at, end < 0 ? buffer.length : end))
}

/** 48 bits of a call's id. */
function idNumber(id: string): number {
  let [low, high] = [0x811c9dc5, 0x1b873593]
  for (let i = 0; i < id.length; i++) {
    const code = id.codePointAt(i)!
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x5bd1e995)
  }
  return (low >>> 0) + ((high >>> 8) & 0xffff) * 2 ** 32
}

/** The lines that Edit, MultiEdit, Write or NotebookEdit is asked to add. */
function linesOfInput(input: Record<string, unknown>): number[] {
  const parts = Array.isArray(input['edits']) ? input['edits'].filter(isRecord) : [input]
  return parts.flatMap((part) => {
    const [added, removed] = [
      [part['new_string'], part['content'], part['new_source']],
      [part['old_string']],
    ].map((texts) => texts.flatMap((text) => (typeof text === 'string' ? hashesOfText(text) : [])))
    return without(added!, removed!)
  })
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
