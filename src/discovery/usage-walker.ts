// Walks over the usage of a reply: how many tokens of which kind. Claude writes it into each line of a reply, so most of
// the time it is the same as in the line before, and comparing is faster than reading.
import type { Span } from './json-bytes.ts'
import { absent, JsonBytes } from './json-bytes.ts'
import { Key, keys, Word, words } from './record-keys.ts'

const quote = 34
const openBrace = 123
const closeBrace = 125
const longestRemembered = 1024

export class UsageWalker extends JsonBytes {
  hasUsage = false
  /** It is, byte for byte, the usage that was seen last. */
  isRepeatedUsage = false
  /** Valid with `hasUsage`. */
  hasCacheBreakdown = false
  isFast = false
  inputTokens = 0
  outputTokens = 0
  cacheReadTokens = 0
  cacheCreationTokens = 0
  cache5mTokens = 0
  cache1hTokens = 0
  private readonly scratch = absent()
  private readonly lastUsage = new Int32Array(longestRemembered / 4 + 1)
  private lastUsageLength = 0

  constructor() {
    super(keys)
  }

  /** Which of the words that we know this is; 0 for any other. */
  wordOf(span: Span): number {
    return span.start < 0 ? 0 : words.find(this.buffer, span.start, span.end)
  }

  protected stringIs(at: number, word: number): boolean {
    if (at < 0 || this.buffer[at] !== quote || this.string(at, this.scratch) < 0) return false
    return this.wordOf(this.scratch) === word
  }

  /** The next usage is compared with nothing: the line that had the last one is walked over again. */
  forgetUsage(): void {
    this.lastUsageLength = 0
  }

  /** Past the usage of a reply, whose numbers are then known. */
  protected usage(at: number): number {
    this.hasUsage = true
    this.isRepeatedUsage = this.lastUsageLength > 0 && this.isAt(at, this.lastUsage, this.lastUsageLength)
    if (this.isRepeatedUsage) return at + this.lastUsageLength
    this.lastUsageLength = 0
    this.hasCacheBreakdown = this.isFast = false
    this.inputTokens = this.outputTokens = this.cacheReadTokens = this.cacheCreationTokens = 0
    this.cache5mTokens = this.cache1hTokens = 0
    const end = this.usagePairs(at)
    if (end - at <= longestRemembered && end > 0) {
      this.lastUsageLength = end - at
      this.copyWords(at, this.lastUsageLength, this.lastUsage)
    }
    return end
  }

  private usagePairs(at: number): number {
    at = this.firstPair(at)
    while (at >= 0 && this.buffer[at] !== closeBrace) {
      at = this.usageValue(this.key(at))
      if (at >= 0) at = this.nextPair(at)
    }
    return at < 0 ? -1 : at + 1
  }

  private usageValue(at: number): number {
    if (at < 0) return -1
    switch (this.keyNumber) {
      case Key.input_tokens:
        this.inputTokens = this.integer(at)
        break
      case Key.output_tokens:
        this.outputTokens = this.integer(at)
        break
      case Key.cache_read_input_tokens:
        this.cacheReadTokens = this.integer(at)
        break
      case Key.cache_creation_input_tokens:
        this.cacheCreationTokens = this.integer(at)
        break
      case Key.ephemeral_5m_input_tokens:
        this.cache5mTokens = this.integer(at)
        break
      case Key.ephemeral_1h_input_tokens:
        this.cache1hTokens = this.integer(at)
        break
      case Key.cache_creation:
        if (this.buffer[at] !== openBrace) break
        this.hasCacheBreakdown = true
        return this.usagePairs(at)
      case Key.speed:
        this.isFast = this.stringIs(at, Word.fast)
        break
      default:
    }
    return this.skip(at)
  }
}
