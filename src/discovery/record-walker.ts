// Walks over one line of a transcript: what the record says about itself at its top level, and inside `message` the id,
// the model and the usage. A line that cannot matter (a tool's result, an attachment) is left as soon as that is known,
// so that most bytes of a transcript are never looked at.
import type { Span } from './json-bytes.ts'
import { absent } from './json-bytes.ts'
import { Key, Kind, kinds, topStrings, Word } from './record-keys.ts'
import { UsageWalker } from './usage-walker.ts'

const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125
const letterT = 116
/** Of `<synthetic>`. */
const openAngle = 60

/** What follows the content of a reply, in the order in which Claude Code has always written it. */
const afterContent = Buffer.from('],"stop_reason":')

export class RecordWalker extends UsageWalker {
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
  readonly uuid = absent()
  readonly slug = absent()
  readonly entrypoint = absent()
  readonly permissionMode = absent()
  readonly promptCacheRequested = absent()
  readonly attachment = absent()
  readonly forkedFrom = absent()
  readonly messageId = absent()
  readonly model = absent()
  /** A progress record wraps a message of a sub-agent: its request, its time, and which sub-agent said it. */
  readonly wrappedRequestId = absent()
  readonly wrappedTimestamp = absent()
  readonly agentId = absent()
  /** The text of a user message: its string, or its first block of text. */
  readonly text = absent()
  isMeta = false
  isCompactSummary = false
  isSidechain = false
  isApiErrorMessage = false
  isToolResult = false
  /** The content is a list, of which only the first text was looked at. */
  hasBlocks = false
  private wholly = false
  private sidechainSeen = false
  private isStepwise = false
  private hasJumped = false
  private isInProgress = false
  private progressSeen = false
  /** Where the strings at the top level go, by their key's number. */
  private readonly spans: ReadonlyArray<Span | undefined> = spansByKey(this)
  private isReply = false

  /** Walks over the line from `start` to `end`; with `wholly`, also over what cannot matter. */
  walk(buffer: Buffer, start: number, end: number, wholly: boolean): void {
    this.isStepwise = false
    this.walkLine(buffer, start, end, wholly)
    if (this.sound || !this.hasJumped) return
    this.isStepwise = true
    this.walkLine(buffer, start, end, wholly)
  }

  private walkLine(buffer: Buffer, start: number, end: number, wholly: boolean): void {
    this.reset(buffer, end)
    this.wholly = wholly
    let at = this.space(start)
    if (at >= end || buffer[at] !== openBrace) return
    at = this.firstPair(at)
    while (at >= 0 && buffer[at] !== closeBrace) {
      at = this.topValue(this.key(at))
      if (!wholly && this.isEnough(at)) {
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
    this.begin(buffer, end)
    this.kind = Kind.unknown
    this.sound = false
    this.type.start = this.subtype.start = this.requestId.start = this.timestamp.start = -1
    this.cwd.start = this.gitBranch.start = this.version.start = this.sessionId.start = this.uuid.start = -1
    this.slug.start = this.entrypoint.start = this.permissionMode.start = this.promptCacheRequested.start = -1
    this.messageId.start = this.model.start = this.text.start = -1
    this.forkedFrom.start = this.attachment.start = -1
    this.wrappedRequestId.start = this.wrappedTimestamp.start = this.agentId.start = -1
    this.isMeta = this.isCompactSummary = this.isSidechain = this.isApiErrorMessage = false
    this.sidechainSeen = this.isReply = this.isToolResult = this.hasUsage = false
    this.hasBlocks = this.hasJumped = this.isInProgress = this.progressSeen = false
  }

  /** True if every field that we need from this kind of record has been seen. */
  private isEnough(at: number): boolean {
    if (this.kind === Kind.unknown) return false
    if (this.kind === Kind.assistant) return this.isBilled() && this.isFlat(at)
    if (this.kind === Kind.user) return this.isToolResult
    if (this.kind === Kind.system) return this.subtype.start >= 0
    if (this.kind === Kind.progress) return this.progressSeen
    return true
  }

  /** A reply of a model: who asked, when, and what it used. Where it was written stands in its prompt too. */
  private isBilled(): boolean {
    return (
      this.hasUsage &&
      this.requestId.start >= 0 &&
      this.timestamp.start >= 0 &&
      this.sidechainSeen &&
      this.buffer[this.model.start] !== openAngle
    )
  }

  /** Does the rest of the line only end the record? Then we are where we think, also after a jump. */
  private isFlat(at: number): boolean {
    const { buffer, end } = this
    if (at < 0 || buffer.indexOf(closeBrace, at) !== end - 1) return false
    const opened = buffer.indexOf(openBrace, at)
    return opened < 0 || opened >= end
  }

  private topValue(at: number): number {
    if (at < 0) return -1
    const key = this.keyNumber
    if (key === 0) return this.skip(at)
    if (key === Key.type) return this.typeValue(at)
    if (key === Key.message) return this.buffer[at] === openBrace ? this.message(at) : this.skip(at)
    if (key === Key.data) return this.buffer[at] === openBrace ? this.progress(at) : this.skip(at)
    const span = this.spans[key]
    if (span !== undefined) return this.string(at, span)
    if (key === Key.forkedFrom) return this.composite(at, this.forkedFrom)
    if (key === Key.attachment) return this.attachmentValue(at)
    return this.flag(key, at)
  }

  private typeValue(at: number): number {
    const next = this.string(at, this.type)
    if (next >= 0) this.kind = this.kindOfType()
    return next
  }

  private kindOfType(): Kind {
    const kind = kinds.find(this.buffer, this.type.start, this.type.end)
    return kind === 0 || kind >= Kind.other ? Kind.other : (kind as Kind)
  }

  /** Claude writes the type of an attachment behind it, and attachments are long. */
  private attachmentValue(at: number): number {
    if (this.kind === Kind.unknown) this.kind = Kind.attachment
    if (this.wholly) return this.composite(at, this.attachment)
    this.attachment.start = at
    return at
  }

  private flag(key: number, at: number): number {
    const isOn = this.buffer[at] === letterT
    if (key === Key.isSidechain) {
      this.isSidechain = isOn
      this.sidechainSeen = true
    } else if (key === Key.isMeta) this.isMeta = isOn
    else if (key === Key.isCompactSummary) this.isCompactSummary = isOn
    else if (key === Key.isApiErrorMessage) this.isApiErrorMessage = isOn
    return this.skip(at)
  }

  /** Past the data of a progress record. Only reports of sub-agents have a message in it. */
  private progress(at: number): number {
    this.isInProgress = true
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.key(at)
      const key = this.keyNumber
      if (key === Key.message && at >= 0 && this.buffer[at] === openBrace) at = this.wrapped(at)
      else if (at >= 0) at = key === Key.agentId ? this.string(at, this.agentId) : this.skip(at)
      if (at >= 0) at = this.nextPair(at)
    }
    this.isInProgress = false
    this.progressSeen = at >= 0
    return at < 0 ? -1 : at + 1
  }

  /** Past the record of a sub-agent inside a progress record. */
  private wrapped(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.wrappedValue(this.key(at))
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private wrappedValue(at: number): number {
    if (at < 0) return -1
    if (this.keyNumber === Key.requestId) return this.string(at, this.wrappedRequestId)
    if (this.keyNumber === Key.timestamp) return this.string(at, this.wrappedTimestamp)
    if (this.keyNumber === Key.message && this.buffer[at] === openBrace) return this.message(at)
    return this.skip(at)
  }

  private message(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.messageValue(this.key(at))
      if (!this.wholly && this.isEnough(at)) return -1
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private messageValue(at: number): number {
    if (at < 0) return -1
    switch (this.keyNumber) {
      case Key.id:
        return this.string(at, this.messageId)
      case Key.model:
        return this.string(at, this.model)
      case Key.usage:
        return this.buffer[at] === openBrace ? this.usage(at) : this.skip(at)
      case Key.role:
        this.isReply = this.stringIs(at, Word.assistant)
        return this.skip(at)
      case Key.content:
        if (this.isReply) return this.replyContent(at)
        return this.isInProgress ? this.skip(at) : this.content(at)
      default:
        return this.skip(at)
    }
  }

  /**
   * Past the content of a reply. Its end is looked for as bytes, which jumps over everything that was written; if that
   * was another end (one inside the input of a tool), the rest of the line does not fit, and it is walked step by step.
   */
  private replyContent(at: number): number {
    if (this.isStepwise || this.isInProgress || this.buffer[at] !== openBracket) return this.skip(at)
    const found = this.endOfContent(at)
    if (found < 0) return this.skip(at)
    this.hasJumped = true
    return found + 1
  }

  private endOfContent(at: number): number {
    const { buffer, end } = this
    for (;;) {
      at = buffer.indexOf(closeBracket, at)
      if (at < 0 || at >= end) return -1
      let i = 0
      while (i < afterContent.length && buffer[at + i] === afterContent[i]) i++
      if (i === afterContent.length) return at
      at++
    }
  }

  /** What a user record says. A tool's result is left at once. */
  private content(at: number): number {
    if (this.buffer[at] !== openBracket) return this.string(at, this.text)
    this.hasBlocks = true
    let block = this.space(at + 1)
    while (block < this.end && this.buffer[block] === openBrace && this.text.start < 0) {
      block = this.block(block)
      if (this.isToolResult) break
      if (block < 0) return -1
      block = this.space(block)
      if (this.buffer[block] === closeBracket) break
      block = this.space(block + 1)
    }
    return !this.wholly && this.isEnough(at) ? -1 : this.skip(at)
  }

  private block(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.key(at)
      const key = this.keyNumber
      if (key === Key.tool_use_id) this.isToolResult = true
      else if (key === Key.type && this.stringIs(at, Word.tool_result)) this.isToolResult = true
      if (this.isToolResult) return at
      if (at >= 0) at = key === Key.text ? this.string(at, this.text) : this.skip(at)
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }
}

function spansByKey(walker: RecordWalker): Array<Span | undefined> {
  const spans: Array<Span | undefined> = Array.from({ length: Object.keys(Key).length })
  for (const name of topStrings) spans[Key[name]] = walker[name]
  return spans
}
