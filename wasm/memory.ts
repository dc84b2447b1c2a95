// The memory of the scan, which JavaScript sees too: the buffer with the bytes of a transcript, the places of what was found in
// it, and hashes of lines.

/** Where the buffer begins. All positions count from here. */
export const base: usize = 1 << 16
/** The longest line, and what a search may read behind it. */
export const bufferBytes: i32 = (1 << 24) + 64
/** A line that gets a hash takes at least five bytes of the buffer. */
export const hashes: usize = base + bufferBytes

/** Parts of a record. Each has two numbers: where it begins, or -1 if it is absent, and where it ends. */
export enum Span {
  // Strings at the top level, in the order of their words.
  subtype,
  requestId,
  timestamp,
  cwd,
  gitBranch,
  version,
  sessionId,
  uuid,
  slug,
  entrypoint,
  permissionMode,
  promptCacheRequested,
  type,
  attachment,
  forkedFrom,
  messageId,
  model,
  wrappedRequestId,
  wrappedTimestamp,
  agentId,
  text,
  // Of a call that may change files.
  callId,
  command,
  // Of its result.
  resultId,
  resultContent,
  path,
  count,
}

export enum Field {
  kind,
  isSound,
  isMeta,
  isCompactSummary,
  isSidechain,
  isApiErrorMessage,
  isToolResult,
  hasBlocks,
  hasUsage,
  hasCacheBreakdown,
  isFast,
  callCount,
  resultAt,
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheCreationTokens,
  cache5mTokens,
  cache1hTokens,
  tool,
  idLow,
  idHigh,
  isError,
  isShown,
  hashCount,
  count,
}

/** A call of a reply has five numbers: its tool, and where its id and its command begin and end. */
export const callNumbers: i32 = 5
/** A model makes a few calls in a reply; more than these are not noted. */
export const mostCalls: i32 = 256
export const calls = memory.data(256 * 5 * 4, 16)

const spanBytes: i32 = <i32>Span.count * 8
const spans = memory.data(<i32>Span.count * 8, 16)
const fields = memory.data(<i32>Field.count * 4, 16)

export function spansAt(): usize {
  return spans
}

export function fieldsAt(): usize {
  return fields
}

export function callsAt(): usize {
  return calls
}

export function bufferAt(): usize {
  return base
}

export function hashesAt(): usize {
  return hashes
}

/** Everything absent and zero. */
export function clear(): void {
  memory.fill(spans, 0xff, spanBytes)
  memory.fill(fields, 0, <i32>Field.count * 4)
}

export function byteAt(at: i32): i32 {
  return load<u8>(at, base)
}

/** The position of the first such byte; at or behind `end` if there is none. Compares 16 bytes at once. */
export function find(byte: i32, at: i32, end: i32): i32 {
  const wanted = i8x16.splat(<i8>byte)
  for (; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at, base), wanted))
    if (found != 0) return at + ctz(found)
  }
  return at
}

export function get(field: Field): i32 {
  return load<i32>(fields + (field << 2))
}

export function set(field: Field, value: i32): void {
  store<i32>(fields + (field << 2), value)
}

export function isPresent(span: Span): bool {
  return startOf(span) >= 0
}

export function startOf(span: Span): i32 {
  return load<i32>(spans + (span << 3))
}

export function endOf(span: Span): i32 {
  return load<i32>(spans + (span << 3), 4)
}

export function setSpan(span: Span, start: i32, end: i32): void {
  store<i32>(spans + (span << 3), start)
  store<i32>(spans + (span << 3), end, 4)
}
