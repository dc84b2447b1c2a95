// Walks over one line of a transcript: what the record says about itself at its top level, and inside `message` the id,
// the model and the usage. A line that cannot matter (a tool's result, an attachment) is left as soon as that is known,
// so that most bytes of a transcript are never looked at.
import type { Span } from './json-bytes.ts'
import { absent, hashOf, JsonBytes } from './json-bytes.ts'

const quote = 34
const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125
const letterT = 116

export const Kind = { unknown: 0, user: 1, assistant: 2, system: 3, attachment: 4, other: 5 } as const
export type Kind = (typeof Kind)[keyof typeof Kind]

const strings = [
  'subtype',
  'requestId',
  'timestamp',
  'cwd',
  'gitBranch',
  'version',
  'sessionId',
  'slug',
  'entrypoint',
  'permissionMode',
  'promptCacheRequested',
] as const
const flags = ['isMeta', 'isCompactSummary', 'isSidechain', 'isApiErrorMessage'] as const
const composites = ['message', 'attachment', 'forkedFrom'] as const
const inMessage = ['id', 'role', 'model', 'content', 'usage'] as const
const inBlock = ['text', 'tool_use_id'] as const
const inUsage = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'ephemeral_5m_input_tokens',
  'ephemeral_1h_input_tokens',
  'speed',
] as const

const known = ['type', ...strings, ...flags, ...composites, ...inMessage, ...inBlock, ...inUsage] as const
const keys = new Map(known.map((key) => [hashOf(key), key]))
const kinds = new Map<number, Kind>(
  (['user', 'assistant', 'system', 'attachment'] as const).map((name) => [hashOf(name), Kind[name]]),
)
const toolResult = hashOf('tool_result')
const fast = hashOf('fast')
const assistant = hashOf('assistant')

export class RecordWalker extends JsonBytes {
  kind: Kind = Kind.unknown
  /** False when the line is not one JSON object; then only what came before the damage is known. */
  sound = false
  readonly type = absent()
  readonly subtype = absent()
  readonly requestId = absent()
  readonly timestamp = absent()
  readonly cwd = absent()
  readonly gitBranch = absent()
  readonly version = absent()
  readonly sessionId = absent()
  readonly slug = absent()
  readonly entrypoint = absent()
  readonly permissionMode = absent()
  readonly promptCacheRequested = absent()
  readonly attachment = absent()
  readonly forkedFrom = absent()
  readonly messageId = absent()
  readonly model = absent()
  /** The text of a user message: its string, or its first block of text. */
  readonly text = absent()
  isMeta = false
  isCompactSummary = false
  isSidechain = false
  isApiErrorMessage = false
  isToolResult = false
  hasUsage = false
  hasCacheBreakdown = false
  isFast = false
  inputTokens = 0
  outputTokens = 0
  cacheReadTokens = 0
  cacheCreationTokens = 0
  cache5mTokens = 0
  cache1hTokens = 0
  private wholly = false
  private isReply = false
  private readonly scratch = absent()

  /** Walks over the line from `start` to `end`; with `wholly`, also over what cannot matter. */
  walk(buffer: Buffer, start: number, end: number, wholly: boolean): void {
    this.reset(buffer, end)
    this.wholly = wholly
    let at = this.space(start)
    if (at >= end || buffer[at] !== openBrace) return
    at = this.firstPair(at)
    while (at >= 0 && buffer[at] !== closeBrace) {
      at = this.topValue(this.key(at))
      if (!wholly && this.isEnough()) {
        this.sound = true
        return
      }
      if (at >= 0) at = this.nextPair(at)
    }
    this.sound = at >= 0 && this.space(at + 1) >= end
  }

  textOf(span: Span): string {
    return span.start < 0 ? '' : this.buffer.toString('utf8', span.start, span.end)
  }

  private reset(buffer: Buffer, end: number): void {
    this.buffer = buffer
    this.end = end
    this.kind = Kind.unknown
    this.sound = false
    this.type.start = this.subtype.start = this.requestId.start = this.timestamp.start = -1
    this.cwd.start = this.gitBranch.start = this.version.start = this.sessionId.start = -1
    this.slug.start = this.entrypoint.start = this.permissionMode.start = this.promptCacheRequested.start = -1
    this.messageId.start = this.model.start = this.text.start = -1
    this.forkedFrom.start = this.attachment.start = -1
    this.isMeta = this.isCompactSummary = this.isSidechain = this.isApiErrorMessage = false
    this.isReply = this.isToolResult = this.hasUsage = this.hasCacheBreakdown = this.isFast = false
    this.inputTokens = this.outputTokens = this.cacheReadTokens = this.cacheCreationTokens = 0
    this.cache5mTokens = this.cache1hTokens = 0
  }

  /** Is what was seen so far all that anybody wants to know of such a record? */
  private isEnough(): boolean {
    if (this.kind === Kind.assistant || this.kind === Kind.unknown) return false
    if (this.kind === Kind.user) return this.isToolResult
    if (this.kind === Kind.system) return this.subtype.start >= 0
    return true
  }

  private topValue(at: number): number {
    if (at < 0) return -1
    const key = keys.get(this.keyHash)
    switch (key) {
      case 'type':
        at = this.string(at, this.type)
        if (at >= 0) this.kind = kinds.get(this.hashOfSpan(this.type)) ?? Kind.other
        return at
      case 'message':
        return this.buffer[at] === openBrace ? this.message(at) : this.skip(at)
      case 'attachment':
        // Claude writes the type of an attachment behind it, and attachments are long.
        if (this.kind === Kind.unknown) this.kind = Kind.attachment
        if (this.wholly) return this.composite(at, this.attachment)
        this.attachment.start = at
        return at
      case 'forkedFrom':
        return this.composite(at, this.forkedFrom)
      case 'isMeta':
      case 'isCompactSummary':
      case 'isSidechain':
      case 'isApiErrorMessage':
        this[key] = this.buffer[at] === letterT
        return this.skip(at)
      case 'subtype':
      case 'requestId':
      case 'timestamp':
      case 'cwd':
      case 'gitBranch':
      case 'version':
      case 'sessionId':
      case 'slug':
      case 'entrypoint':
      case 'permissionMode':
      case 'promptCacheRequested':
        return this.string(at, this[key])
      default:
        return this.skip(at)
    }
  }

  private message(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.messageValue(this.key(at))
      if (!this.wholly && this.isEnough()) return -1
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private messageValue(at: number): number {
    if (at < 0) return -1
    switch (keys.get(this.keyHash)) {
      case 'id':
        return this.string(at, this.messageId)
      case 'model':
        return this.string(at, this.model)
      case 'usage':
        return this.buffer[at] === openBrace ? this.usage(at) : this.skip(at)
      case 'role':
        this.isReply = this.stringIs(at, assistant)
        return this.skip(at)
      case 'content':
        return this.isReply ? this.skip(at) : this.content(at)
      default:
        return this.skip(at)
    }
  }

  /** What a user record says. A tool's result is left at once. */
  private content(at: number): number {
    if (this.buffer[at] !== openBracket) return this.string(at, this.text)
    let block = this.space(at + 1)
    while (block < this.end && this.buffer[block] === openBrace && this.text.start < 0) {
      block = this.block(block)
      if (this.isToolResult) break
      if (block < 0) return -1
      block = this.space(block)
      if (this.buffer[block] === closeBracket) break
      block = this.space(block + 1)
    }
    return !this.wholly && this.isEnough() ? -1 : this.skip(at)
  }

  private block(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.key(at)
      const key = keys.get(this.keyHash)
      if (key === 'tool_use_id') this.isToolResult = true
      else if (key === 'type' && this.stringIs(at, toolResult)) this.isToolResult = true
      if (this.isToolResult) return at
      if (at >= 0) at = key === 'text' ? this.string(at, this.text) : this.skip(at)
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private usage(at: number): number {
    this.hasUsage = true
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.usageValue(this.key(at))
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private usageValue(at: number): number {
    if (at < 0) return -1
    switch (keys.get(this.keyHash)) {
      case 'input_tokens':
        this.inputTokens = this.integer(at)
        break
      case 'output_tokens':
        this.outputTokens = this.integer(at)
        break
      case 'cache_read_input_tokens':
        this.cacheReadTokens = this.integer(at)
        break
      case 'cache_creation_input_tokens':
        this.cacheCreationTokens = this.integer(at)
        break
      case 'ephemeral_5m_input_tokens':
        this.cache5mTokens = this.integer(at)
        break
      case 'ephemeral_1h_input_tokens':
        this.cache1hTokens = this.integer(at)
        break
      case 'cache_creation':
        if (this.buffer[at] !== openBrace) break
        this.hasCacheBreakdown = true
        return this.usage(at)
      case 'speed':
        this.isFast = this.stringIs(at, fast)
        break
      default:
    }
    return this.skip(at)
  }

  private stringIs(at: number, hash: number): boolean {
    if (at < 0 || this.buffer[at] !== quote || this.string(at, this.scratch) < 0) return false
    return this.hashOfSpan(this.scratch) === hash
  }
}
