// Walks over one line of a transcript: the fields at the top level of the record, and inside `message` the id, the model and
// the usage. A record that cannot matter (a tool result, an attachment) is left as soon as that is known.
import { readReplyBlock } from './calls'
import {
  afterLast,
  composite,
  firstItem,
  firstValue,
  integer,
  lastKey,
  nextItem,
  nextValue,
  openBrace,
  openBracket,
  readUpTo,
  skip,
  space,
  string,
  wordOf,
} from './cursor'
import { byteAt, clear, endOf, Field, get, isPresent, set, setSpan, Span, startOf } from './memory'
import { Word, wordAt } from './words'

/** Kinds of records that the scan distinguishes; `other` has a type that is none of these. */
export enum Kind {
  none,
  user,
  assistant,
  system,
  attachment,
  progress,
  other,
}

const letterT: i32 = 116
/** The name of the model in a message that Claude Code writes itself begins with it. */
const openAngle: i32 = 60

let wantsAll: bool = false
let isReply: bool = false
let isInProgress: bool = false
let hasProgress: bool = false

/** Walks over the line from `start` to `end`. With `isWhole`, no record is left early. */
export function walk(start: i32, end: i32, isWhole: bool): void {
  clear()
  readUpTo(end)
  wantsAll = isWhole
  isReply = isInProgress = hasProgress = false
  const at = space(start)
  if (at >= end || byteAt(at) != openBrace) return
  let value = firstValue(at)
  while (value >= 0) {
    const next = readTop(value)
    if (isEnough()) break
    value = nextValue(next)
  }
  const isSound = value >= 0 || (afterLast() >= 0 && space(afterLast()) >= end)
  set(Field.isSound, isSound ? 1 : 0)
}

/** True if every field that the scan needs from this kind of record has been read. */
function isEnough(): bool {
  if (wantsAll) return false
  switch (get(Field.kind)) {
    case Kind.none:
      return false
    case Kind.assistant:
      return isReplyRead()
    case Kind.user:
      return get(Field.isToolResult) == 1
    case Kind.system:
      return isPresent(Span.subtype)
    case Kind.progress:
      return hasProgress
    default:
      return true
  }
}

/** Claude Code writes the folder, the branch and the like behind these; they matter only in the last record of a chunk. */
function isReplyRead(): bool {
  const isOfModel = isPresent(Span.model) && byteAt(startOf(Span.model)) != openAngle
  return isOfModel && get(Field.hasUsage) == 1 && isPresent(Span.requestId) && isPresent(Span.timestamp)
}

function readTop(at: i32): i32 {
  const key = lastKey()
  switch (key) {
    case Word.unknown:
      return skip(at)
    case Word.type:
      return readType(at)
    case Word.message:
      return readMessage(at)
    case Word.data:
      return readProgress(at)
    case Word.forkedFrom:
      return composite(at, Span.forkedFrom)
    case Word.attachment:
      return readAttachment(at)
    case Word.isMeta:
      return flag(at, Field.isMeta)
    case Word.isCompactSummary:
      return flag(at, Field.isCompactSummary)
    case Word.isSidechain:
      return flag(at, Field.isSidechain)
    case Word.isApiErrorMessage:
      return flag(at, Field.isApiErrorMessage)
    default:
      return key <= Word.promptCacheRequested ? string(at, key - Word.subtype) : skip(at)
  }
}

function flag(at: i32, field: Field): i32 {
  set(field, byteAt(at) == letterT ? 1 : 0)
  return skip(at)
}

function readType(at: i32): i32 {
  const next = string(at, Span.type)
  if (next < 0 || !isPresent(Span.type)) return next
  set(Field.kind, kindOf(wordAt(startOf(Span.type), endOf(Span.type) - startOf(Span.type))))
  return next
}

function kindOf(word: Word): Kind {
  switch (word) {
    case Word.user:
      return Kind.user
    case Word.assistant:
      return Kind.assistant
    case Word.system:
      return Kind.system
    case Word.attachment:
      return Kind.attachment
    case Word.progress:
      return Kind.progress
    default:
      return Kind.other
  }
}

/** Claude writes the type of an attachment behind it, and attachments are long. */
function readAttachment(at: i32): i32 {
  if (get(Field.kind) == Kind.none) set(Field.kind, Kind.attachment)
  if (wantsAll) return composite(at, Span.attachment)
  setSpan(Span.attachment, at, at)
  return at
}

/** The data of a progress record. Only reports of sub-agents have a message in it. */
function readProgress(at: i32): i32 {
  if (byteAt(at) != openBrace) return skip(at)
  isInProgress = true
  for (let value = firstValue(at); value >= 0;) {
    if (lastKey() == Word.message) value = nextValue(readWrapped(value))
    else if (lastKey() == Word.agentId) value = nextValue(string(value, Span.agentId))
    else value = nextValue(skip(value))
  }
  isInProgress = false
  hasProgress = afterLast() >= 0
  return afterLast()
}

/** A sub-agent's record inside a progress record. */
function readWrapped(at: i32): i32 {
  if (byteAt(at) != openBrace) return skip(at)
  for (let value = firstValue(at); value >= 0;) {
    if (lastKey() == Word.message) value = nextValue(readMessage(value))
    else if (lastKey() == Word.requestId) value = nextValue(string(value, Span.wrappedRequestId))
    else if (lastKey() == Word.timestamp) value = nextValue(string(value, Span.wrappedTimestamp))
    else value = nextValue(skip(value))
  }
  return afterLast()
}

function readMessage(at: i32): i32 {
  if (byteAt(at) != openBrace) return skip(at)
  for (let value = firstValue(at); value >= 0;) value = nextValue(messageValue(value))
  return afterLast()
}

function messageValue(at: i32): i32 {
  switch (lastKey()) {
    case Word.id:
      return string(at, Span.messageId)
    case Word.model:
      return string(at, Span.model)
    case Word.usage:
      return readUsage(at)
    case Word.role:
      isReply = wordOf(at) == Word.assistant
      return skip(at)
    case Word.content:
      if (isInProgress) return skip(at)
      return isReply ? readReply(at) : readContent(at)
    default:
      return skip(at)
  }
}

function readUsage(at: i32): i32 {
  if (byteAt(at) != openBrace) return skip(at)
  set(Field.hasUsage, 1)
  set(Field.hasCacheBreakdown, 0)
  set(Field.isFast, 0)
  for (let field = <i32>Field.inputTokens; field <= <i32>Field.cache1hTokens; field++) set(field, 0)
  return readTokens(at)
}

function readTokens(at: i32): i32 {
  for (let value = firstValue(at); value >= 0;) value = nextValue(usageValue(value))
  return afterLast()
}

function usageValue(at: i32): i32 {
  switch (lastKey()) {
    case Word.input_tokens:
      return tokens(at, Field.inputTokens)
    case Word.output_tokens:
      return tokens(at, Field.outputTokens)
    case Word.cache_read_input_tokens:
      return tokens(at, Field.cacheReadTokens)
    case Word.cache_creation_input_tokens:
      return tokens(at, Field.cacheCreationTokens)
    case Word.ephemeral_5m_input_tokens:
      return tokens(at, Field.cache5mTokens)
    case Word.ephemeral_1h_input_tokens:
      return tokens(at, Field.cache1hTokens)
    case Word.speed:
      set(Field.isFast, wordOf(at) == Word.fast ? 1 : 0)
      return skip(at)
    case Word.cache_creation:
      if (byteAt(at) != openBrace) return skip(at)
      set(Field.hasCacheBreakdown, 1)
      return readTokens(at)
    default:
      return skip(at)
  }
}

function tokens(at: i32, field: Field): i32 {
  set(field, integer(at))
  return skip(at)
}

/** The content of a reply. Notes the calls of tools that may change files. */
function readReply(at: i32): i32 {
  if (byteAt(at) != openBracket) return skip(at)
  for (let block = firstItem(at); block >= 0;) {
    const next = byteAt(block) == openBrace ? readReplyBlock(block) : skip(block)
    block = nextItem(next)
  }
  return afterLast()
}

/** The content of a user message, up to its first text. A tool result is left at once. */
function readContent(at: i32): i32 {
  if (byteAt(at) != openBracket) return string(at, Span.text)
  set(Field.hasBlocks, 1)
  for (let block = firstItem(at); block >= 0 && !isPresent(Span.text);) {
    if (byteAt(block) != openBrace) break
    const next = readBlock(block)
    if (get(Field.isToolResult) == 1) {
      set(Field.resultAt, block)
      break
    }
    if (next < 0) return -1
    block = nextItem(next)
  }
  return isEnough() ? -1 : skip(at)
}

function readBlock(at: i32): i32 {
  for (let value = firstValue(at); value >= 0;) {
    const key = lastKey()
    if (key == Word.tool_use_id || (key == Word.type && wordOf(value) == Word.tool_result)) {
      set(Field.isToolResult, 1)
      return -1
    }
    value = nextValue(key == Word.text ? string(value, Span.text) : skip(value))
  }
  return afterLast()
}
