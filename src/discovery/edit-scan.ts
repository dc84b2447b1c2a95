// Finds the edits in the records of a transcript while it is scanned. A call of a tool says what is to be changed; its result says
// whether that happened, and exactly which lines it added. Refused and failed calls add nothing.
import { attempt } from '../domain/errors.ts'
import {
  absent,
  closeBrace,
  JsonCursor,
  openBrace,
  openBracket,
  quote,
  secondsOf,
  WordTable,
} from './json-bytes.ts'
import type { Span } from './json-bytes.ts'
import type { RecordWalker } from './record-walker.ts'
import { EditTable, type Edit, type PendingCall } from './edit-table.ts'
import { hashesOfText, hashLines, hashOneLine } from './line-hash.ts'
import { shellEdits } from './shell-edits.ts'

const plus = 43

const toolNames = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'Bash'] as const
const keyNames = [
  ...(['id', 'name', 'input'] as const),
  ...(['file_path', 'notebook_path', 'command', 'edits'] as const),
  ...(['content', 'new_string', 'new_source', 'old_string'] as const),
  ...(['tool_use_id', 'is_error', 'lines'] as const),
]

const toolTable = WordTable.of(toolNames)

const toolUse = Buffer.from('"type":"tool_use"')
const idKey = Buffer.from(',"id":"')
const nameKey = Buffer.from('","name":"')
const gitWord = Buffer.from('git')
const less = 60
const letterG = 103
const toolUseResultKey = Buffer.from('"toolUseResult":')
const patchKey = Buffer.from('"structuredPatch":')
const exitCode = Buffer.from('"Exit code ')
const letterT = 116

/** A larger command is not written by hand, and git's answer to a commit is short. */
const longestCommand = 1 << 18
/** Without an end, calls that never got a result would be kept forever. */
const mostPending = 64

/** Where the parts of a reply are. */
type Reply = Pick<RecordWalker, 'replyContent' | 'timestamp' | 'folder'>

/** What a call is asked to do. */
type Asked = Pick<PendingCall, 'edits' | 'mayCommit'>

export class EditScan {
  /** Of the transcript that is scanned. */
  table = new EditTable()
  readonly #json = new JsonCursor(keyNames)
  readonly #id = absent()
  readonly #name = absent()
  readonly #path = absent()
  readonly #item = absent()
  #asked: Asked | undefined

  /** A reply that the walker has passed. */
  reply(buffer: Buffer, reply: Reply): void {
    const { replyContent: content, timestamp } = reply
    this.#json.over(buffer, content.end)
    if (buffer[content.start] !== openBracket || !this.#mayEdit(content)) return
    for (let block = this.#json.firstItem(content.start); block >= 0;) {
      const next = buffer[block] === openBrace ? this.#passBlock(block, reply) : this.#json.skip(block)
      this.#noteCall(secondsOf(buffer, timestamp))
      block = this.#json.nextItem(next)
    }
  }

  /** Claude Code writes one block in each record, and few of them are edits: nearly all records are left after some bytes. */
  #mayEdit({ start, end }: Span): boolean {
    const { buffer } = this.#json
    // A text or a thought ends with a string; only a call can end with the braces of its input.
    if (!this.#json.isAt(start + 2, toolUse)) return buffer[end - 3] === closeBrace
    const idAt = start + 2 + toolUse.length + idKey.length
    let idEnd = idAt
    while (idEnd < end && buffer[idEnd] !== quote) idEnd++
    const nameAt = idEnd + nameKey.length
    if (!this.#json.isAt(idAt - idKey.length, idKey) || !this.#json.isAt(idEnd, nameKey)) return true
    let nameEnd = nameAt
    while (nameEnd < end && buffer[nameEnd] !== quote) nameEnd++
    const tool = toolTable.find(buffer, nameAt, nameEnd)
    return tool === 'Bash' ? this.#mayWrite(nameEnd, end) : tool !== undefined
  }

  /** Whether a command can have a here-document or make a commit. */
  #mayWrite(at: number, end: number): boolean {
    const { buffer } = this.#json
    for (; at < end; at++) {
      if (buffer[at] === less && buffer[at + 1] === less) return true
      if (buffer[at] === letterG && this.#json.isAt(at, gitWord)) return true
    }
    return false
  }

  #passBlock(at: number, reply: Reply): number {
    this.#id.start = this.#name.start = -1
    this.#asked = undefined
    for (let value = this.#json.firstValue(at); value >= 0;) {
      if (this.#json.key === 'id') value = this.#json.nextValue(this.#json.string(value, this.#id))
      else if (this.#json.key === 'name') value = this.#json.nextValue(this.#json.string(value, this.#name))
      else if (this.#json.key === 'input') value = this.#json.nextValue(this.#passInput(value, reply))
      else value = this.#json.nextValue(this.#json.skip(value))
    }
    return this.#json.after
  }

  /** The input of a call comes after its name. */
  #passInput(at: number, reply: Reply): number {
    const { start, end } = this.#name
    const tool = start < 0 ? undefined : toolTable.find(this.#json.buffer, start, end)
    if (tool === undefined || this.#json.buffer[at] !== openBrace) return this.#json.skip(at)
    return tool === 'Bash' ? this.#passCommand(at, reply) : this.#passFileInput(at, tool)
  }

  #noteCall(seconds: number): void {
    const asked = this.#asked
    if (!asked || this.#id.start < 0 || (asked.edits.length === 0 && !asked.mayCommit)) return
    const toolUseId = this.#latin(this.#id)
    const { pending } = this.table
    pending.set(toolUseId, { toolUseId, seconds, ...asked })
    if (pending.size > mostPending) pending.delete(pending.keys().next().value!)
  }

  #passFileInput(at: number, tool: string): number {
    this.#path.start = -1
    const lines: number[] = []
    const next = this.#passEdit(at, lines)
    const file = this.#path.start < 0 ? undefined : this.#text(this.#path)
    const kind = tool === 'Write' ? 'write' : 'edit'
    if (file !== undefined) this.#asked = { edits: [{ file, kind, lines }], mayCommit: false }
    return next
  }

  /** Past an object with one edit or a list of them; adds the lines that it is asked to add. */
  #passEdit(at: number, into: number[]): number {
    const [added, removed]: [number[], number[]] = [[], []]
    for (let value = this.#json.firstValue(at); value >= 0;) {
      const isList = this.#json.key === 'edits' && this.#json.buffer[value] === openBracket
      const next = isList ? this.#passEdits(value, into) : this.#editValue(value, added, removed)
      value = this.#json.nextValue(next)
    }
    const next = this.#json.after
    for (const line of without(added, removed)) into.push(line)
    return next
  }

  #passEdits(at: number, into: number[]): number {
    for (let edit = this.#json.firstItem(at); edit >= 0;) {
      const isEdit = this.#json.buffer[edit] === openBrace
      edit = this.#json.nextItem(isEdit ? this.#passEdit(edit, into) : this.#json.skip(edit))
    }
    return this.#json.after
  }

  #editValue(at: number, added: number[], removed: number[]): number {
    switch (this.#json.key) {
      case 'file_path':
      case 'notebook_path':
        return this.#json.string(at, this.#path)
      case 'content':
      case 'new_string':
      case 'new_source':
        return this.#hashString(at, added)
      case 'old_string':
        return this.#hashString(at, removed)
      default:
        return this.#json.skip(at)
    }
  }

  #hashString(at: number, into: number[]): number {
    this.#item.start = -1
    const next = this.#json.string(at, this.#item)
    if (this.#item.start >= 0) hashLines(this.#json.buffer, this.#item.start, this.#item.end, into)
    return next
  }

  #passCommand(at: number, reply: Reply): number {
    this.#item.start = -1
    for (let value = this.#json.firstValue(at); value >= 0;)
      value = this.#json.nextValue(
        this.#json.key === 'command' ? this.#json.string(value, this.#item) : this.#json.skip(value),
      )
    const { start, end } = this.#item
    if (start >= 0 && end - start <= longestCommand)
      this.#asked = askedOf(this.#text(this.#item) ?? '', reply)
    return this.#json.after
  }

  /** The block at `at` with the result of a call, in a record that ends at `end`. `offset`: where the record begins in the file. */
  result(buffer: Buffer, at: number, end: number, offset: number): void {
    this.#json.over(buffer, end)
    const call = this.#callOf(at)
    if (!call) return
    if (call.mayCommit) this.#noteCommits(buffer.toString('utf8', at, end), call.seconds, offset)
    // What the tool has really added; if its result does not show that, what it was asked for.
    const patched = this.#patchedLines()
    const about = { seconds: call.seconds, offset, id: idNumber(call.toolUseId) }
    for (const { file, kind, lines } of call.edits) {
      const added = kind === 'shell' || patched.length === 0 ? lines : patched
      if (added.length > 0) this.table.edits.push({ file, kind, ...about, lines: added })
    }
  }

  /** The call whose result is at `at`; undefined if it is no edit or has changed nothing. */
  #callOf(at: number): PendingCall | undefined {
    const { pending } = this.table
    let [call, isError, isExit]: [PendingCall | undefined, boolean, boolean] = [undefined, false, false]
    for (let value = pending.size === 0 ? -1 : this.#json.firstValue(at); value >= 0;) {
      if (this.#json.key === 'tool_use_id') {
        value = this.#json.nextValue(this.#json.string(value, this.#id))
        call = pending.get(this.#latin(this.#id))
        if (!call) return undefined
        continue
      }
      if (this.#json.key === 'is_error') isError = this.#json.buffer[value] === letterT
      if (this.#json.key === 'content') isExit = this.#json.isAt(value, exitCode)
      value = this.#json.nextValue(this.#json.skip(value))
    }
    if (call) pending.delete(call.toolUseId)
    // A command that ends with an error has run, and has written its files; any other tool has changed nothing.
    return isError && !isExit ? undefined : call
  }

  /** The added lines of the patch in the rest of the record; none for a new file. */
  #patchedLines(): number[] {
    const lines: number[] = []
    const rest =
      this.#json.after < 0 ? undefined : this.#json.buffer.subarray(this.#json.after, this.#json.end)
    const answer = rest?.indexOf(toolUseResultKey) ?? -1
    // Near the end, after the original file.
    const found = answer < 0 ? -1 : rest!.lastIndexOf(patchKey)
    if (found < answer || found < 0) return lines
    const at = this.#json.after + found + patchKey.length
    for (let hunk = this.#json.buffer[at] === openBracket ? this.#json.firstItem(at) : -1; hunk >= 0;)
      hunk = this.#json.nextItem(
        this.#json.buffer[hunk] === openBrace ? this.#passHunk(hunk, lines) : this.#json.skip(hunk),
      )
    return lines
  }

  #passHunk(at: number, into: number[]): number {
    for (let value = this.#json.firstValue(at); value >= 0;) {
      const isLines = this.#json.key === 'lines' && this.#json.buffer[value] === openBracket
      value = this.#json.nextValue(isLines ? this.#passLines(value, into) : this.#json.skip(value))
    }
    return this.#json.after
  }

  #passLines(at: number, into: number[]): number {
    for (let item = this.#json.firstItem(at); item >= 0;)
      item = this.#json.nextItem(this.#addedLine(item, into))
    return this.#json.after
  }

  #addedLine(at: number, into: number[]): number {
    this.#item.start = -1
    const next = this.#json.string(at, this.#item)
    if (this.#item.start >= 0 && this.#json.buffer[this.#item.start] === plus)
      hashOneLine(this.#json.buffer, this.#item.start + 1, this.#item.end, into)
    return next
  }

  /** Git reports `[main 3f2a0b1] Subject` for a new commit. */
  #noteCommits(text: string, seconds: number, offset: number): void {
    const shas = [...text.matchAll(/\[[^\]\n"]{1,200} ([0-9a-f]{7,40})\] /g)].map(([, sha]) =>
      sha!.slice(0, 7),
    )
    for (const sha of new Set(shas)) this.table.commits.push({ sha, seconds, offset })
  }

  #latin({ start, end }: Span): string {
    return this.#json.buffer.toString('latin1', start, end)
  }

  #text({ start, end }: Span): string | undefined {
    const raw = this.#json.buffer.toString('utf8', start, end)
    return raw.includes('\\') ? attempt(() => JSON.parse(`"${raw}"`) as string) : raw
  }
}

/** What a command writes itself, and whether it may make a commit. */
function askedOf(command: string, reply: Reply): Asked {
  const written = command.includes('<<') ? shellEdits(command, reply.folder()) : []
  const edits = written.map(({ file, lines }): Pick<Edit, 'file' | 'kind' | 'lines'> => {
    return { file, kind: 'shell', lines: hashesOfText(lines.join('\n')) }
  })
  return { edits, mayCommit: /\bgit\b[^\n]*\b(?:commit|cherry-pick|revert|merge|am)\b/.test(command) }
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

/** What is in `lines` more often than in `others`. */
function without(lines: readonly number[], others: readonly number[]): readonly number[] {
  if (others.length === 0) return lines
  const left = new Map<number, number>()
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    const count = left.get(line) ?? 0
    if (count > 0) left.set(line, count - 1)
    return count === 0
  })
}
