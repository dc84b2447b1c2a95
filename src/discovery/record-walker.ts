// One line of a transcript: the fields at the top level of its record, and inside `message` the id, the model and the usage. The
// compiled code finds them (wasm/walker.ts).
import { decodeText } from './json-bytes.ts'
import { ScanCode, type Span } from './scan-code.ts'

/** By their numbers in the compiled code. `other` has a type that is none of these; JSON without a type has no kind. */
const kinds = [undefined, 'user', 'assistant', 'system', 'attachment', 'progress', 'other'] as const

export class RecordWalker {
  readonly code = new ScanCode()
  readonly type = this.code.span('type')
  readonly subtype = this.code.span('subtype')
  readonly requestId = this.code.span('requestId')
  readonly timestamp = this.code.span('timestamp')
  readonly cwd = this.code.span('cwd')
  readonly gitBranch = this.code.span('gitBranch')
  readonly version = this.code.span('version')
  readonly sessionId = this.code.span('sessionId')
  readonly uuid = this.code.span('uuid')
  readonly slug = this.code.span('slug')
  readonly entrypoint = this.code.span('entrypoint')
  readonly permissionMode = this.code.span('permissionMode')
  readonly promptCacheRequested = this.code.span('promptCacheRequested')
  readonly attachment = this.code.span('attachment')
  readonly forkedFrom = this.code.span('forkedFrom')
  readonly messageId = this.code.span('messageId')
  readonly model = this.code.span('model')
  /** A progress record wraps a message of a sub-agent: its request, its time, and the sub-agent's id. */
  readonly wrappedRequestId = this.code.span('wrappedRequestId')
  readonly wrappedTimestamp = this.code.span('wrappedTimestamp')
  readonly agentId = this.code.span('agentId')
  /** The text of a user message: its string, or its first block of text. */
  readonly text = this.code.span('text')
  readonly #field = this.code.fieldNumbers()
  #start = 0
  #end = 0
  #isWhole = false

  /**
   * Walks over the line from `start` to `end` in the buffer. A record that cannot matter is left as soon as that is known; with
   * `isWhole` none is.
   */
  walk(start: number, end: number, isWhole: boolean): void {
    this.#start = start
    this.#end = end
    this.#isWhole = isWhole
    this.code.run.walk(start, end, isWhole)
  }

  /** The folder of the record that was walked last, which may have been left before it. */
  folder(): string {
    if (this.cwd.start < 0 && !this.#isWhole) this.walk(this.#start, this.#end, true)
    return this.cwd.start < 0 ? '' : decodeText(this.code.buffer, this.cwd)
  }

  textOf({ start, end }: Span): string {
    return start < 0 ? '' : this.code.buffer.toString('utf8', start, end)
  }

  get kind(): (typeof kinds)[number] {
    return kinds[this.code.fields[this.#field.kind]!]
  }

  /** False when the line is not one JSON object; then only what came before the damage is known. */
  get isSound(): boolean {
    return this.code.fields[this.#field.isSound] === 1
  }

  get isMeta(): boolean {
    return this.code.fields[this.#field.isMeta] === 1
  }

  get isCompactSummary(): boolean {
    return this.code.fields[this.#field.isCompactSummary] === 1
  }

  get isSidechain(): boolean {
    return this.code.fields[this.#field.isSidechain] === 1
  }

  get isApiErrorMessage(): boolean {
    return this.code.fields[this.#field.isApiErrorMessage] === 1
  }

  get isToolResult(): boolean {
    return this.code.fields[this.#field.isToolResult] === 1
  }

  /** The content is a list, of which only the first text was read. */
  get hasBlocks(): boolean {
    return this.code.fields[this.#field.hasBlocks] === 1
  }

  /** The fields below are valid only with `hasUsage`. */
  get hasUsage(): boolean {
    return this.code.fields[this.#field.hasUsage] === 1
  }

  get hasCacheBreakdown(): boolean {
    return this.code.fields[this.#field.hasCacheBreakdown] === 1
  }

  get isFast(): boolean {
    return this.code.fields[this.#field.isFast] === 1
  }

  /** How many blocks of a reply call a tool which may change files. */
  get callCount(): number {
    return this.code.fields[this.#field.callCount]!
  }

  /** Where the block of a tool result begins; valid only with `isToolResult`. */
  get resultAt(): number {
    return this.code.fields[this.#field.resultAt]!
  }

  get inputTokens(): number {
    return this.code.fields[this.#field.inputTokens]! >>> 0
  }

  get outputTokens(): number {
    return this.code.fields[this.#field.outputTokens]! >>> 0
  }

  get cacheReadTokens(): number {
    return this.code.fields[this.#field.cacheReadTokens]! >>> 0
  }

  get cacheCreationTokens(): number {
    return this.code.fields[this.#field.cacheCreationTokens]! >>> 0
  }

  get cache5mTokens(): number {
    return this.code.fields[this.#field.cache5mTokens]! >>> 0
  }

  get cache1hTokens(): number {
    return this.code.fields[this.#field.cache1hTokens]! >>> 0
  }
}
