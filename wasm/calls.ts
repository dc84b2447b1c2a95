// Reads calls of tools that may change files, and their results.
import {
  afterLast,
  firstItem,
  firstValue,
  lastKey,
  nextItem,
  nextValue,
  openBrace,
  openBracket,
  quote,
  readUpTo,
  skip,
  string,
  wordOf,
} from './cursor'
import { hashLine, hashLines } from './line-hash'
import {
  base,
  byteAt,
  callNumbers,
  calls,
  endOf,
  Field,
  get,
  isPresent,
  mostCalls,
  set,
  setSpan,
  Span,
  startOf,
} from './memory'
import { Word } from './words'

const plus: i32 = 43
const less: i32 = 60
const letterG: i32 = 103
const letterI: i32 = 105
const letterT: i32 = 116

/** What a call does. */
export enum Tool {
  other,
  edit,
  write,
  command,
}

/** Reads the block of a reply at `at`, and notes it if it calls one of these tools. Returns the position after it. */
export function readReplyBlock(at: i32): i32 {
  set(Field.tool, Tool.other)
  setSpan(Span.callId, -1, -1)
  setSpan(Span.command, -1, -1)
  for (let value = firstValue(at); value >= 0;) value = nextValue(callValue(value))
  const next = afterLast()
  if (get(Field.tool) != Tool.other && isPresent(Span.callId)) noteCall()
  return next
}

function callValue(at: i32): i32 {
  switch (lastKey()) {
    case Word.id:
      return string(at, Span.callId)
    case Word.name:
      set(Field.tool, toolOf(wordOf(at)))
      return skip(at)
    case Word.input:
      // The input of a call comes after its name.
      return byteAt(at) == openBrace && get(Field.tool) == Tool.command ? readCommand(at) : skip(at)
    default:
      return skip(at)
  }
}

function toolOf(word: Word): Tool {
  if (word < Word.Edit) return Tool.other
  if (word == Word.Bash) return Tool.command
  return word == Word.Write ? Tool.write : Tool.edit
}

function readCommand(at: i32): i32 {
  for (let value = firstValue(at); value >= 0;)
    value = nextValue(lastKey() == Word.command ? string(value, Span.command) : skip(value))
  return afterLast()
}

function noteCall(): void {
  const count = get(Field.callCount)
  if (count == mostCalls) return
  set(Field.callCount, count + 1)
  const call = calls + count * callNumbers * 4
  store<i32>(call, get(Field.tool))
  store<i32>(call, startOf(Span.callId), 4)
  store<i32>(call, endOf(Span.callId), 8)
  store<i32>(call, startOf(Span.command), 12)
  store<i32>(call, endOf(Span.command), 16)
}

/**
 * False if a command neither has a here-document (`<<`) nor can make a commit (`git`). Compares 16 bytes at once; what it sees
 * behind the end of the command makes it true at worst.
 */
export function mayWrite(at: i32, end: i32): bool {
  for (; at < end; at += 16) {
    const isHere = v128.and(sameAs(less, at), sameAs(less, at + 1))
    const isGit = v128.and(v128.and(sameAs(letterG, at), sameAs(letterI, at + 1)), sameAs(letterT, at + 2))
    if (v128.any_true(v128.or(isHere, isGit))) return true
  }
  return false
}

/** Which of the 16 bytes from `at` on are this one. */
function sameAs(byte: i32, at: i32): v128 {
  return i8x16.eq(v128.load(at, base), i8x16.splat(<i8>byte))
}

/** Reads the id of the call whose result is at `at`, and its number. */
export function readResultId(at: i32, end: i32): void {
  readUpTo(end)
  setSpan(Span.resultId, -1, -1)
  for (let value = firstValue(at); value >= 0 && !isPresent(Span.resultId);)
    value = nextValue(lastKey() == Word.tool_use_id ? string(value, Span.resultId) : skip(value))
  setIdNumber(startOf(Span.resultId), endOf(Span.resultId))
}

/** 48 bits of a call's id, in two fields. */
function setIdNumber(at: i32, end: i32): void {
  let low: u32 = 0x811c9dc5
  let high: u32 = 0x1b873593
  for (; at < end; at++) {
    low = (low ^ byteAt(at)) * 0x01000193
    high = (high ^ byteAt(at)) * 0x5bd1e995
  }
  set(Field.idLow, low)
  set(Field.idHigh, (high >>> 8) & 0xffff)
}

/** Reads the result at `at`: whether it is an error, what it says, the file, and the hashes of the lines that the tool really added. */
export function readResult(at: i32, end: i32): void {
  readUpTo(end)
  set(Field.hashCount, 0)
  set(Field.isError, 0)
  set(Field.isShown, 0)
  setSpan(Span.resultContent, -1, -1)
  setSpan(Span.path, -1, -1)
  for (let value = firstValue(at); value >= 0;) {
    if (lastKey() == Word.is_error) set(Field.isError, byteAt(value) == letterT ? 1 : 0)
    value = nextValue(lastKey() == Word.content ? string(value, Span.resultContent) : skip(value))
  }
  for (let item = nextItem(afterLast()); item >= 0;) item = nextItem(skip(item))
  // After the list of blocks and the message comes what the tool itself returned.
  for (let value = nextValue(afterLast()); value >= 0;) value = nextValue(skip(value))
  for (let value = nextValue(afterLast()); value >= 0;)
    value = nextValue(lastKey() == Word.toolUseResult ? readReturned(value) : skip(value))
}

/** A new file is shown as its content, a change as a patch. */
function readReturned(at: i32): i32 {
  if (byteAt(at) != openBrace) return skip(at)
  setSpan(Span.text, -1, -1)
  for (let value = firstValue(at); value >= 0;) value = nextValue(returnedValue(value))
  const next = afterLast()
  if (get(Field.isShown) == 0 && isPresent(Span.text)) {
    set(Field.isShown, 1)
    hashLines(startOf(Span.text), endOf(Span.text))
  }
  return next
}

function returnedValue(at: i32): i32 {
  switch (lastKey()) {
    case Word.filePath:
      return string(at, Span.path)
    case Word.content:
      return string(at, Span.text)
    case Word.structuredPatch:
      return byteAt(at) == openBracket ? readHunks(at) : skip(at)
    default:
      return skip(at)
  }
}

function readHunks(at: i32): i32 {
  for (let hunk = firstItem(at); hunk >= 0;)
    hunk = nextItem(byteAt(hunk) == openBrace ? readHunk(hunk) : skip(hunk))
  return afterLast()
}

function readHunk(at: i32): i32 {
  set(Field.isShown, 1)
  for (let value = firstValue(at); value >= 0;) {
    const isLines = lastKey() == Word.lines && byteAt(value) == openBracket
    value = nextValue(isLines ? readLines(value) : skip(value))
  }
  return afterLast()
}

function readLines(at: i32): i32 {
  for (let item = firstItem(at); item >= 0;) {
    const next = skip(item)
    if (next >= 0 && byteAt(item) == quote && byteAt(item + 1) == plus) hashLine(item + 2, next - 1)
    item = nextItem(next)
  }
  return afterLast()
}
