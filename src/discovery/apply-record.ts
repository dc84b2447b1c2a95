// Takes one line after another into the facts of a transcript. What a line means is decided here; where it begins and
// ends is scan.ts's business, what bytes it has record-walker.ts's.
import type { TokenCounts } from '../domain/discovered-session.ts'
import { costOfCall } from './cost.ts'
import type { Span } from './json-bytes.ts'
import { bookkeepingOf } from './bookkeeping.ts'
import { asRecord, decodeText, isBlank, keptText, largestParsed, parsed, secondsOf } from './decode.ts'
import { readBlocks, readPrompt } from './prompt-text.ts'
import type { Asked } from './prompt-text.ts'
import { Remembered } from './repeated-values.ts'
import { Kind, Word } from './record-keys.ts'
import { pricesOf } from './price-table.ts'
import type { RecordWalker } from './record-walker.ts'
import type { TranscriptFacts } from './transcript-facts.ts'
import { identify, identifyByPlace, noUsage } from './usage-table.ts'
import type { UsageRecord, UsageTable } from './usage-table.ts'

const budgetStart = Buffer.from('{"type":"budget_usd"')

const places = ['cwd', 'gitBranch', 'version', 'slug', 'entrypoint', 'permissionMode'] as const

/** Reads the lines of one file into its facts; one for each file. */
export class Absorber {
  readonly facts: TranscriptFacts
  readonly #usage: UsageTable
  readonly #walker: RecordWalker
  readonly #path: string
  /** What the last reply used; one object for all of them. */
  readonly #record = noUsage()
  readonly #seen = new Map<string, Remembered>(
    [...places, 'model', 'timestamp'].map((name) => [name, new Remembered()]),
  )
  readonly #lastMessage = new Remembered()
  readonly #lastRequest = new Remembered()
  #model = 0
  /** A line whose end, with time and place, was not looked at: only the last such line of a chunk matters. */
  #unread: Span = { start: -1, end: -1 }

  constructor(facts: TranscriptFacts, usage: UsageTable, walker: RecordWalker, path: string) {
    this.facts = facts
    this.#usage = usage
    this.#walker = walker
    this.#path = path
  }

  line(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.lineCount++
    const wholly = facts.firstTimestamp === undefined && end - start < largestParsed
    walker.walk(buffer, start, end, wholly)
    if (!walker.sound) {
      if (isBlank(buffer, start, end)) facts.lineCount--
      else facts.damagedLines++
      return
    }
    if (wholly && walker.timestamp.start >= 0) facts.firstTimestamp = walker.textOf(walker.timestamp)
    switch (walker.kind) {
      case Kind.assistant:
        this.#assistant(buffer, start, end)
        break
      case Kind.user:
        this.#user(buffer, start, end)
        break
      case Kind.system:
        this.#system(buffer, start, end)
        break
      case Kind.attachment:
        this.#attachment(buffer, start, end)
        break
      case Kind.progress:
        this.#progress(buffer, start)
        break
      case Kind.other:
        this.#bookkeeping(buffer, start, end)
        break
      default:
        // JSON without a record type: not written by Claude Code.
        facts.damagedLines++
    }
  }

  /** A line too long to hold: only its beginning is there. */
  overlong(buffer: Buffer, start: number, end: number): void {
    this.facts.lineCount++
    this.facts.overlongLines++
    this.#walker.walk(buffer, start, end, false)
    if (this.#walker.kind === Kind.user || this.#walker.kind === Kind.assistant) this.facts.messageCount++
  }

  /** The buffer is about to be used again: look at the last line that was left early. */
  settle(buffer: Buffer): void {
    const { start, end } = this.#unread
    if (start < 0) return
    this.#unread.start = -1
    this.#walker.walk(buffer, start, end, true)
    if (this.#walker.sound) this.#whereabouts(buffer)
  }

  #assistant(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.messageCount++
    if (walker.isApiErrorMessage) facts.apiErrorCount++
    this.#leave(start, end)
    if (!walker.hasUsage || this.#isSynthetic()) return
    const { requestId, timestamp } = walker
    if (this.#isRepeated(buffer, requestId)) this.#record.seconds = secondsOf(buffer, timestamp)
    else {
      this.#readUsage(buffer, start, requestId, timestamp)
      this.#record.model = this.#modelNumber(buffer)
      this.#record.sidechain = walker.isSidechain
      facts.lastModel = facts.models[this.#record.model]
      const outcome = this.#usage.put(this.#record)
      if (outcome === 'added') facts.replyCount++
      if (outcome !== 'known') this.#countReply()
    }
    if (!walker.isSidechain || facts.isSidechain) this.#noteContext(this.#record)
  }

  /** What a sub-agent said, reported in its session's transcript. Its own transcript may be missing. */
  #progress(buffer: Buffer, start: number): void {
    const walker = this.#walker
    const { wrappedRequestId, wrappedTimestamp } = walker
    if (!walker.hasUsage || this.#isSynthetic() || this.#isRepeated(buffer, wrappedRequestId)) return
    this.#readUsage(buffer, start, wrappedRequestId, wrappedTimestamp)
    const record = this.#record
    record.model = this.#modelNumber(buffer)
    // As ccusage has it: these records carry no mark of a sidechain.
    record.sidechain = false
    if (this.#usage.put(record) === 'known') return
    const agents = (this.facts.reportedAgents ??= {})
    const agent = (agents[`agent-${decodeText(buffer, walker.agentId)}`] ??= noReport())
    this.#count(agent)
    agent.costUsd += this.#costOf(record) - this.#costOf(this.#usage.replaced)
  }

  /** Another line of the reply that was taken in last, with the same usage: nothing new but the time. */
  #isRepeated(buffer: Buffer, requestId: Span): boolean {
    const { isRepeatedUsage, messageId } = this.#walker
    if (messageId.start < 0 || requestId.start < 0) return false
    const isOther = this.#lastMessage.differs(buffer, messageId)
    return !this.#lastRequest.differs(buffer, requestId) && !isOther && isRepeatedUsage
  }

  #costOf(record: UsageRecord): number {
    return costOfCall(record, pricesOf(this.facts.models[record.model]))
  }

  #isSynthetic(): boolean {
    return this.#walker.wordOf(this.#walker.model) === Word['<synthetic>']
  }

  #readUsage(buffer: Buffer, start: number, requestId: Span, timestamp: Span): void {
    const walker = this.#walker
    const record = this.#record
    this.#identify(buffer, start, requestId)
    record.input = walker.inputTokens
    record.output = walker.outputTokens
    record.cacheRead = walker.cacheReadTokens
    record.cacheCreation = walker.cacheCreationTokens
    record.cache5m = walker.cache5mTokens
    record.cache1h = walker.cache1hTokens
    record.seconds = secondsOf(buffer, timestamp)
    record.fast = walker.isFast
    record.itemised = walker.hasCacheBreakdown
  }

  /** A message is known by its id and its request. One without an id is like no other. */
  #identify(buffer: Buffer, start: number, requestId: Span): void {
    const { messageId } = this.#walker
    if (messageId.start >= 0) identify(this.#record, buffer, messageId, requestId)
    else identifyByPlace(this.#record, `${this.#path} ${this.facts.offset + start}`)
  }

  #modelNumber(buffer: Buffer): number {
    const { facts } = this
    const { model } = this.#walker
    if (model.start < 0) return this.#numberOf('unknown')
    if (facts.models.length === 0 || this.#seen.get('model')!.differs(buffer, model)) {
      this.#model = this.#numberOf(this.#walker.textOf(model))
    }
    return this.#model
  }

  #numberOf(model: string): number {
    const found = this.facts.models.indexOf(model)
    return found >= 0 ? found : this.facts.models.push(model) - 1
  }

  #count(to: TokenCounts): void {
    const record = this.#record
    const { replaced } = this.#usage
    to.inputTokens += record.input - replaced.input
    to.outputTokens += record.output - replaced.output
    to.cacheReadTokens += record.cacheRead - replaced.cacheRead
    to.cacheCreationTokens += record.cacheCreation - replaced.cacheCreation
  }

  #countReply(): void {
    const { facts } = this
    const record = this.#record
    const { replaced } = this.#usage
    this.#count(facts)
    facts.cache5mTokens += record.cache5m - replaced.cache5m
    facts.cache1hTokens += record.cache1h - replaced.cache1h
  }

  #noteContext(record: UsageRecord): void {
    const { facts } = this
    facts.contextTokens = record.input + record.cacheRead + record.cacheCreation
    facts.lastAnswerTokens = record.output
    if (record.seconds > 0) facts.lastUsageSeconds = record.seconds
    if (record.cache1h > 0 || this.#walker.textOf(this.#walker.promptCacheRequested) === '1h')
      facts.cacheTtlMinutes = 60
    else if (record.cacheCreation > 0 || this.#walker.promptCacheRequested.start >= 0)
      facts.cacheTtlMinutes = 5
    else if (record.cacheRead > 0 && facts.cacheTtlMinutes === 0) facts.cacheTtlMinutes = 5
  }

  #user(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.messageCount++
    if (walker.isToolResult) return this.#leave(start, end)
    this.#unread.start = -1
    this.#whereabouts(buffer)
    if (walker.forkedFrom.start >= 0) this.#noteFork()
    if (walker.isSidechain && facts.messageCount === 1) facts.isSidechain = true
    if (walker.isMeta || walker.isCompactSummary || walker.isSidechain) return
    const head = walker.text.start < 0 ? '' : decodeText(buffer, walker.text)
    if (facts.firstUserLine === 0 && walker.text.start >= 0) {
      facts.firstUserLine = facts.lineCount
      facts.firstUserMessage = head
    }
    this.#prompt(this.#asked(head, buffer, start, end))
  }

  /** What the record asks. Programs put blocks of their own before what a person wrote; then all of them are looked at. */
  #asked(head: string, buffer: Buffer, start: number, end: number): Asked {
    const asked = readPrompt(head)
    if (asked.kind === 'prompt' || !this.#walker.hasBlocks) return asked
    const content = asRecord(parsed(buffer, start, end)?.['message'])?.['content']
    return Array.isArray(content) ? readBlocks(content) : asked
  }

  #prompt(asked: Asked): void {
    const { facts } = this
    if (asked.kind === 'command') facts.firstCommand ??= asked.text
    if (asked.kind !== 'prompt') return
    facts.promptCount++
    facts.firstPrompt ??= asked.text.slice(0, keptText)
    facts.lastPrompt = asked.text.slice(0, keptText)
  }

  #system(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    const subtype = walker.wordOf(walker.subtype)
    this.#leave(start, end)
    if (subtype === Word.api_error) facts.apiErrorCount++
    if (subtype !== Word.compact_boundary || walker.isSidechain) return
    facts.compactionCount++
    const after = asRecord(parsed(buffer, start, end)?.['compactMetadata'])?.['postTokens']
    if (typeof after !== 'number') return
    facts.contextTokens = after
    facts.lastAnswerTokens = 0
  }

  #attachment(buffer: Buffer, start: number, end: number): void {
    const at = this.#walker.attachment.start
    this.#leave(start, end)
    if (at < 0 || buffer.compare(budgetStart, 0, budgetStart.length, at, at + budgetStart.length) !== 0)
      return
    const budget = asRecord(parsed(buffer, start, end)?.['attachment'])
    if (typeof budget?.['used'] === 'number') this.facts.budgetUsedUsd = budget['used']
    if (typeof budget?.['total'] === 'number') this.facts.budgetUsd = budget['total']
  }

  #bookkeeping(buffer: Buffer, start: number, end: number): void {
    const note = bookkeepingOf(buffer, this.#walker.type)
    if (!note) return
    const record = parsed(buffer, start, end)
    if (record) note(this.facts, record)
    else this.facts.damagedLines++
  }

  #leave(start: number, end: number): void {
    this.#unread.start = start
    this.#unread.end = end
  }

  #noteFork(): void {
    if (this.facts.forkedFrom !== undefined) return
    const fork = asRecord(JSON.parse(this.#walker.textOf(this.#walker.forkedFrom)))
    if (typeof fork?.['sessionId'] === 'string') this.facts.forkedFrom = fork['sessionId']
  }

  /** When and where the record was written. */
  #whereabouts(buffer: Buffer): void {
    const { facts } = this
    const walker = this.#walker
    for (const name of places) {
      const span = walker[name]
      if (span.start < 0 || !this.#seen.get(name)!.differs(buffer, span)) continue
      facts[name] = decodeText(buffer, span)
    }
    if (facts.gitBranch !== undefined && !facts.branches.includes(facts.gitBranch)) {
      if (facts.branches.length < 100) facts.branches.push(facts.gitBranch)
    }
    facts.firstCwd ??= facts.cwd
    if (facts.sessionId === undefined && walker.sessionId.start >= 0)
      facts.sessionId = walker.textOf(walker.sessionId)
    if (facts.firstUuid === undefined && walker.uuid.start >= 0) facts.firstUuid = walker.textOf(walker.uuid)
    const { timestamp } = walker
    if (timestamp.start < 0 || !this.#seen.get('timestamp')!.differs(buffer, timestamp)) return
    const time = walker.textOf(timestamp)
    if (facts.lastTimestamp === undefined || time > facts.lastTimestamp) facts.lastTimestamp = time
  }
}

function noReport(): TokenCounts & { costUsd: number } {
  return { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0, costUsd: 0 }
}
