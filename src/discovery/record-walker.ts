// Walks over one line of a transcript: the fields at the top level of the record, and inside `message` the id, the model and
// the usage. A record that cannot matter (a tool result, an attachment) is left as soon as that is known.
import { absent, closeBracket, JsonBytes, openBrace, openBracket, WordTable } from './json-bytes.ts'
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
/** Maps each field of Claude's `usage` to the field of the walker. */
const usageFields = {
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
  cache_read_input_tokens: 'cacheReadTokens',
  cache_creation_input_tokens: 'cacheCreationTokens',
  ephemeral_5m_input_tokens: 'cache5mTokens',
  ephemeral_1h_input_tokens: 'cache1hTokens',
} as const
const tokenCounts = Object.values(usageFields)
const usageFieldOf = new Map<string | undefined, (typeof tokenCounts)[number]>(Object.entries(usageFields))
const keyNames = [
  ...topStrings,
  ...flags,
  ...(Object.keys(usageFields) as Array<keyof typeof usageFields>),
  ...(['type', 'message', 'attachment', 'forkedFrom', 'data', 'agentId'] as const),
  ...(['id', 'role', 'model', 'content', 'usage', 'text', 'tool_use_id', 'cache_creation', 'speed'] as const),
]
const keyTable = new WordTable(keyNames)
const kindTable = new WordTable(kinds)

const assistant = Buffer.from('"assistant"')
const toolResult = Buffer.from('"tool_result"')
const fast = Buffer.from('"fast"')
const letterT = 116

export class RecordWalker extends JsonBytes<(typeof keyNames)[number]> {
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
  #isWhole = false
  #isReply = false
  #isInProgress = false
  #hasProgress = false
  readonly #topSpans: ReadonlyMap<string, Span> = new Map(topStrings.map((name) => [name, this[name]]))
  readonly #spans: readonly Span[] = Object.values(this).filter((value) => value?.start === -1)

  constructor() {
    super(keyTable)
  }

  /** Walks over the line from `start` to `end`. With `isWhole`, no record is left early. */
  walk(buffer: Buffer, start: number, end: number, isWhole: boolean): void {
    this.buffer = buffer
    this.end = end
    this.#isWhole = isWhole
    this.#reset()
    const at = this.space(start)
    if (at >= end || buffer[at] !== openBrace) return
    const after = this.passObject(at, this.#topValue)
    this.isSound = this.#isEnough() || (after >= 0 && this.space(after) >= end)
  }

  textOf(span: Span): string {
    return span.start < 0 ? '' : this.buffer.toString('utf8', span.start, span.end)
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
    if (this.#isWhole || this.kind === undefined || this.kind === 'assistant') return false
    if (this.kind === 'user') return this.isToolResult
    if (this.kind === 'system') return this.subtype.start >= 0
    return this.kind !== 'progress' || this.#hasProgress
  }

  #topValue = (at: number): number => {
    const next = this.#readTop(at)
    return this.#isEnough() ? -1 : next
  }

  #readTop(at: number): number {
    const { key } = this
    switch (key) {
      case undefined:
        return this.skip(at)
      case 'type':
        return this.#readType(at)
      case 'message':
        return this.#object(at, this.#messageValue)
      case 'data':
        return this.#readProgress(at)
      case 'forkedFrom':
        return this.composite(at, this.forkedFrom)
      case 'attachment':
        return this.#readAttachment(at)
      case 'isMeta':
      case 'isCompactSummary':
      case 'isSidechain':
      case 'isApiErrorMessage':
        this[key] = this.buffer[at] === letterT
        return this.skip(at)
      default: {
        const span = this.#topSpans.get(key)
        return span ? this.string(at, span) : this.skip(at)
      }
    }
  }

  #object(at: number, value: (at: number) => number): number {
    return this.buffer[at] === openBrace ? this.passObject(at, value) : this.skip(at)
  }

  #readType(at: number): number {
    const next = this.string(at, this.type)
    if (next >= 0) this.kind = kindTable.find(this.buffer, this.type.start, this.type.end) ?? 'other'
    return next
  }

  /** Claude writes the type of an attachment behind it, and attachments are long. */
  #readAttachment(at: number): number {
    this.kind ??= 'attachment'
    if (this.#isWhole) return this.composite(at, this.attachment)
    this.attachment.start = at
    return at
  }

  /** The data of a progress record. Only reports of sub-agents have a message in it. */
  #readProgress(at: number): number {
    if (this.buffer[at] !== openBrace) return this.skip(at)
    this.#isInProgress = true
    const next = this.passObject(at, this.#progressValue)
    this.#isInProgress = false
    this.#hasProgress = next >= 0
    return next
  }

  #progressValue = (at: number): number => {
    if (this.key === 'message') return this.#object(at, this.#wrappedValue)
    return this.key === 'agentId' ? this.string(at, this.agentId) : this.skip(at)
  }

  /** A field of a sub-agent's record inside a progress record. */
  #wrappedValue = (at: number): number => {
    if (this.key === 'requestId') return this.string(at, this.wrappedRequestId)
    if (this.key === 'timestamp') return this.string(at, this.wrappedTimestamp)
    return this.key === 'message' ? this.#object(at, this.#messageValue) : this.skip(at)
  }

  #messageValue = (at: number): number => {
    switch (this.key) {
      case 'id':
        return this.string(at, this.messageId)
      case 'model':
        return this.string(at, this.model)
      case 'usage':
        return this.buffer[at] === openBrace ? this.#readUsage(at) : this.skip(at)
      case 'role':
        this.#isReply = this.isAt(at, assistant)
        return this.skip(at)
      case 'content':
        if (this.#isInProgress) return this.skip(at)
        return this.#isReply ? this.composite(at, this.replyContent) : this.#readContent(at)
      default:
        return this.skip(at)
    }
  }

  #readUsage(at: number): number {
    this.hasUsage = true
    this.hasCacheBreakdown = this.isFast = false
    for (const field of tokenCounts) this[field] = 0
    return this.passObject(at, this.#usageValue)
  }

  #usageValue = (at: number): number => {
    const { key } = this
    if (key === 'cache_creation' && this.buffer[at] === openBrace) {
      this.hasCacheBreakdown = true
      return this.passObject(at, this.#usageValue)
    }
    if (key === 'speed') this.isFast = this.isAt(at, fast)
    const field = usageFieldOf.get(key)
    if (field !== undefined) this[field] = this.integer(at)
    return this.skip(at)
  }

  /** The content of a user message, up to its first text. A tool result is left at once. */
  #readContent(at: number): number {
    if (this.buffer[at] !== openBracket) return this.string(at, this.text)
    this.hasBlocks = true
    let block = this.space(at + 1)
    while (block < this.end && this.buffer[block] === openBrace && this.text.start < 0) {
      block = this.passObject(block, this.#blockValue)
      if (this.isToolResult) break
      if (block < 0) return -1
      block = this.space(block)
      if (this.buffer[block] === closeBracket) break
      block = this.space(block + 1)
    }
    return this.#isEnough() ? -1 : this.skip(at)
  }

  #blockValue = (at: number): number => {
    this.isToolResult ||= this.key === 'tool_use_id' || (this.key === 'type' && this.isAt(at, toolResult))
    if (this.isToolResult) return -1
    return this.key === 'text' ? this.string(at, this.text) : this.skip(at)
  }
}
