// Walks over one line of a transcript: the fields at the top level of the record, and inside `message` the id, the model and
// the usage. A record that cannot matter (a tool result, an attachment) is left as soon as that is known.
import { absent, decodeText, JsonCursor, openBrace, openBracket, WordTable } from './json-bytes.ts'
import type { Span } from './json-bytes.ts'

/** Kinds of records that the scan distinguishes; `other` has a type that is none of these. */
const kinds = ['user', 'assistant', 'system', 'attachment', 'progress'] as const
export type RecordKind = (typeof kinds)[number] | 'other'

/** Strings at the top level of a record. */
const topStrings = [
  'subtype',
  'requestId',
  'timestamp',
  'cwd',
  'gitBranch',
  'version',
  'sessionId',
  'uuid',
  'slug',
  'entrypoint',
  'permissionMode',
  'promptCacheRequested',
] as const
const flags = ['isMeta', 'isCompactSummary', 'isSidechain', 'isApiErrorMessage'] as const
const tokenFields = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'ephemeral_5m_input_tokens',
  'ephemeral_1h_input_tokens',
] as const
const keyNames = [
  ...topStrings,
  ...flags,
  ...tokenFields,
  ...(['type', 'message', 'attachment', 'forkedFrom', 'data', 'agentId'] as const),
  ...(['id', 'role', 'model', 'content', 'usage', 'text', 'tool_use_id', 'cache_creation', 'speed'] as const),
  // Not needed, but frequent: a known key is passed faster.
  ...(['parentUuid', 'promptId', 'userType', 'stop_reason', 'stop_sequence'] as const),
  ...(['server_tool_use', 'service_tier', 'toolUseResult', 'inference_geo', 'iterations'] as const),
]
const kindTable = WordTable.of(kinds)

const assistant = Buffer.from('"assistant"')
const toolResult = Buffer.from('"tool_result"')
const fast = Buffer.from('"fast"')
const letterT = 116
/** The name of the model in a message that Claude Code writes itself begins with it. */
const openAngle = 60

export class RecordWalker {
  /** Undefined for JSON without a record type. */
  kind: RecordKind | undefined
  /** False when the line is not one JSON object; then only what came before the damage is known. */
  isSound = false
  readonly type = absent()
  readonly subtype = absent()
  readonly requestId = absent()
  readonly timestamp = absent()
  readonly cwd = absent()
  readonly gitBranch = absent()
  readonly version = absent()
  readonly sessionId = absent()
  readonly uuid = absent()
  readonly slug = absent()
  readonly entrypoint = absent()
  readonly permissionMode = absent()
  readonly promptCacheRequested = absent()
  readonly attachment = absent()
  readonly forkedFrom = absent()
  readonly messageId = absent()
  readonly model = absent()
  /** A progress record wraps a message of a sub-agent: its request, its time, and the sub-agent's id. */
  readonly wrappedRequestId = absent()
  readonly wrappedTimestamp = absent()
  readonly agentId = absent()
  /** The content of a reply: its list of blocks. */
  readonly replyContent = absent()
  /** The text of a user message: its string, or its first block of text. */
  readonly text = absent()
  isMeta = false
  isCompactSummary = false
  isSidechain = false
  isApiErrorMessage = false
  isToolResult = false
  /** Where the block of a tool result begins; valid only with `isToolResult`. */
  resultAt = 0
  /** The content is a list, of which only the first text was read. */
  hasBlocks = false
  /** The fields below are valid only with `hasUsage`. */
  hasUsage = false
  hasCacheBreakdown = false
  isFast = false
  inputTokens = 0
  outputTokens = 0
  cacheReadTokens = 0
  cacheCreationTokens = 0
  cache5mTokens = 0
  cache1hTokens = 0
  #start = 0
  #isWhole = false
  #isReply = false
  #isInProgress = false
  #hasProgress = false
  readonly #json = new JsonCursor(keyNames, Object.fromEntries(topStrings.map((name) => [name, this[name]])))
  readonly #spans: readonly Span[] = Object.values(this).filter((value) => value?.start === -1)

  /** Walks over the line from `start` to `end`. With `isWhole`, no record is left early. */
  walk(buffer: Buffer, start: number, end: number, isWhole: boolean): void {
    this.#json.over(buffer, end)
    this.#start = start
    this.#isWhole = isWhole
    this.#reset()
    const at = this.#json.space(start)
    if (at >= end || buffer[at] !== openBrace) return
    let value = this.#json.firstValue(at)
    while (value >= 0) {
      const next = this.#readTop(value)
      if (this.#isEnough()) break
      value = this.#json.nextValue(next)
    }
    this.isSound = value >= 0 || (this.#json.after >= 0 && this.#json.space(this.#json.after) >= end)
  }

  /** The folder of the record that was walked last, which may have been left before it. */
  folder(): string {
    const { buffer, end } = this.#json
    if (this.cwd.start < 0 && !this.#isWhole) this.walk(buffer, this.#start, end, true)
    return this.cwd.start < 0 ? '' : decodeText(buffer, this.cwd)
  }

  textOf(span: Span): string {
    return span.start < 0 ? '' : this.#json.buffer.toString('utf8', span.start, span.end)
  }

  #reset(): void {
    this.kind = undefined
    for (const span of this.#spans) span.start = -1
    this.isSound = this.isMeta = this.isCompactSummary = this.isSidechain = this.isApiErrorMessage = false
    this.isToolResult = this.hasBlocks = this.hasUsage = false
    this.#isReply = this.#isInProgress = this.#hasProgress = false
  }

  /** True if every field that the scan needs from this kind of record has been read. */
  #isEnough(): boolean {
    if (this.#isWhole || this.kind === undefined) return false
    if (this.kind === 'assistant') return this.#isReplyRead()
    if (this.kind === 'user') return this.isToolResult
    if (this.kind === 'system') return this.subtype.start >= 0
    return this.kind !== 'progress' || this.#hasProgress
  }

  /** Claude Code writes the folder, the branch and the like behind these; they matter only in the last record of a chunk. */
  #isReplyRead(): boolean {
    const { buffer } = this.#json
    const isOfModel = this.model.start >= 0 && buffer[this.model.start] !== openAngle
    return isOfModel && this.hasUsage && this.requestId.start >= 0 && this.timestamp.start >= 0
  }

  #readTop(at: number): number {
    const { key } = this.#json
    switch (key) {
      case undefined:
        return this.#json.skip(at)
      case 'type':
        return this.#readType(at)
      case 'message':
        return this.#readMessage(at)
      case 'data':
        return this.#readProgress(at)
      case 'forkedFrom':
        return this.#json.composite(at, this.forkedFrom)
      case 'attachment':
        return this.#readAttachment(at)
      case 'isMeta':
      case 'isCompactSummary':
      case 'isSidechain':
      case 'isApiErrorMessage':
        this[key] = this.#json.buffer[at] === letterT
        return this.#json.skip(at)
      default: {
        const { span } = this.#json
        return span ? this.#json.string(at, span) : this.#json.skip(at)
      }
    }
  }

  #readType(at: number): number {
    const next = this.#json.string(at, this.type)
    if (next >= 0) this.kind = kindTable.find(this.#json.buffer, this.type.start, this.type.end) ?? 'other'
    return next
  }

  /** Claude writes the type of an attachment behind it, and attachments are long. */
  #readAttachment(at: number): number {
    this.kind ??= 'attachment'
    if (this.#isWhole) return this.#json.composite(at, this.attachment)
    this.attachment.start = at
    return at
  }

  /** The data of a progress record. Only reports of sub-agents have a message in it. */
  #readProgress(at: number): number {
    if (this.#json.buffer[at] !== openBrace) return this.#json.skip(at)
    this.#isInProgress = true
    for (let value = this.#json.firstValue(at); value >= 0;) {
      if (this.#json.key === 'message') value = this.#json.nextValue(this.#readWrapped(value))
      else if (this.#json.key === 'agentId')
        value = this.#json.nextValue(this.#json.string(value, this.agentId))
      else value = this.#json.nextValue(this.#json.skip(value))
    }
    this.#isInProgress = false
    this.#hasProgress = this.#json.after >= 0
    return this.#json.after
  }

  /** A sub-agent's record inside a progress record. */
  #readWrapped(at: number): number {
    if (this.#json.buffer[at] !== openBrace) return this.#json.skip(at)
    for (let value = this.#json.firstValue(at); value >= 0;) {
      if (this.#json.key === 'message') value = this.#json.nextValue(this.#readMessage(value))
      else if (this.#json.key === 'requestId')
        value = this.#json.nextValue(this.#json.string(value, this.wrappedRequestId))
      else if (this.#json.key === 'timestamp')
        value = this.#json.nextValue(this.#json.string(value, this.wrappedTimestamp))
      else value = this.#json.nextValue(this.#json.skip(value))
    }
    return this.#json.after
  }

  #readMessage(at: number): number {
    if (this.#json.buffer[at] !== openBrace) return this.#json.skip(at)
    for (let value = this.#json.firstValue(at); value >= 0;)
      value = this.#json.nextValue(this.#messageValue(value))
    return this.#json.after
  }

  #messageValue(at: number): number {
    switch (this.#json.key) {
      case 'id':
        return this.#json.string(at, this.messageId)
      case 'model':
        return this.#json.string(at, this.model)
      case 'usage':
        return this.#readUsage(at)
      case 'role':
        this.#isReply = this.#json.isAt(at, assistant)
        return this.#json.skip(at)
      case 'content':
        if (this.#isInProgress) return this.#json.skip(at)
        return this.#isReply ? this.#json.composite(at, this.replyContent) : this.#readContent(at)
      default:
        return this.#json.skip(at)
    }
  }

  #readUsage(at: number): number {
    if (this.#json.buffer[at] !== openBrace) return this.#json.skip(at)
    this.hasUsage = true
    this.hasCacheBreakdown = this.isFast = false
    this.inputTokens = this.outputTokens = this.cacheReadTokens = this.cacheCreationTokens = 0
    this.cache5mTokens = this.cache1hTokens = 0
    return this.#readTokens(at)
  }

  #readTokens(at: number): number {
    for (let value = this.#json.firstValue(at); value >= 0;)
      value = this.#json.nextValue(this.#usageValue(value))
    return this.#json.after
  }

  #usageValue(at: number): number {
    switch (this.#json.key) {
      case 'input_tokens':
        this.inputTokens = this.#json.integer(at)
        break
      case 'output_tokens':
        this.outputTokens = this.#json.integer(at)
        break
      case 'cache_read_input_tokens':
        this.cacheReadTokens = this.#json.integer(at)
        break
      case 'cache_creation_input_tokens':
        this.cacheCreationTokens = this.#json.integer(at)
        break
      case 'ephemeral_5m_input_tokens':
        this.cache5mTokens = this.#json.integer(at)
        break
      case 'ephemeral_1h_input_tokens':
        this.cache1hTokens = this.#json.integer(at)
        break
      case 'speed':
        this.isFast = this.#json.isAt(at, fast)
        break
      case 'cache_creation':
        if (this.#json.buffer[at] !== openBrace) break
        this.hasCacheBreakdown = true
        return this.#readTokens(at)
    }
    return this.#json.skip(at)
  }

  /** The content of a user message, up to its first text. A tool result is left at once. */
  #readContent(at: number): number {
    if (this.#json.buffer[at] !== openBracket) return this.#json.string(at, this.text)
    this.hasBlocks = true
    for (let block = this.#json.firstItem(at); block >= 0 && this.text.start < 0;) {
      if (this.#json.buffer[block] !== openBrace) break
      const next = this.#readBlock(block)
      if (this.isToolResult) {
        this.resultAt = block
        break
      }
      if (next < 0) return -1
      block = this.#json.nextItem(next)
    }
    return this.#isEnough() ? -1 : this.#json.skip(at)
  }

  #readBlock(at: number): number {
    for (let value = this.#json.firstValue(at); value >= 0;) {
      const { key } = this.#json
      this.isToolResult ||= key === 'tool_use_id' || (key === 'type' && this.#json.isAt(value, toolResult))
      if (this.isToolResult) return -1
      value = this.#json.nextValue(
        key === 'text' ? this.#json.string(value, this.text) : this.#json.skip(value),
      )
    }
    return this.#json.after
  }
}
