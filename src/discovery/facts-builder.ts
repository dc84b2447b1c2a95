// Builds the facts of a transcript, line by line. What a record means is decided here; scan.ts finds the lines, and
// record-walker.ts reads their bytes.
import type { TokenCounts } from '../domain/costs.ts'
import { isRecord } from '../domain/json.ts'
import { joinedPromptStart, withJoinedPrompt } from '../domain/joined-prompt.ts'
import type { EditScan } from './edit-scan.ts'
import { decodeText, isBlank, largestParsed, parsed, secondsOf } from './json-bytes.ts'
import { pricesOf } from './model-prices.ts'
import { costOfCall } from './price-table.ts'
import { readContent, readPrompt, type PromptText } from './transcript-facts.ts'
import type { RecordWalker } from './record-walker.ts'
import type { Span } from './scan-code.ts'
import { keptChars, type TranscriptFacts, noTokens } from './transcript-facts.ts'
import { identify, identifyByPlace, noUsage, type UsageRecord, type UsageTable } from './usage-table.ts'

/** The model of messages that Claude Code writes itself. */
const synthetic = '<synthetic>'
const budgetStart = Buffer.from('{"type":"budget_usd"')
const promptStart = Buffer.from(joinedPromptStart)

/** Fields of each record that say in which circumstances it was written. */
const settings = ['cwd', 'gitBranch', 'version', 'slug', 'entrypoint', 'permissionMode'] as const
const maxBranches = 100

export class FactsBuilder {
  readonly facts: TranscriptFacts
  readonly #usage: UsageTable
  readonly #walker: RecordWalker
  readonly #edits: EditScan
  readonly #path: string
  /** The usage of the last reply; one object for all replies. */
  readonly #record = noUsage()
  readonly #lastSettings: Partial<Record<(typeof settings)[number], string>> = {}
  /** A line whose time and settings were not read: only the last such line of a chunk matters. */
  readonly #unread = { start: -1, end: -1 }

  constructor(
    facts: TranscriptFacts,
    usage: UsageTable,
    edits: EditScan,
    walker: RecordWalker,
    path: string,
  ) {
    this.facts = facts
    this.#usage = usage
    this.#edits = edits
    this.#walker = walker
    this.#path = path
  }

  line(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.lineCount++
    const isWhole = facts.firstTimestamp === undefined && end - start < largestParsed
    walker.walk(start, end, isWhole)
    if (!walker.isSound) {
      if (isBlank(buffer, start, end)) facts.lineCount--
      else facts.damagedLines++
      return
    }
    if (isWhole && walker.timestamp.start >= 0) facts.firstTimestamp = walker.textOf(walker.timestamp)
    switch (walker.kind) {
      case 'assistant':
        return this.#assistant(buffer, start, end)
      case 'user':
        return this.#user(buffer, start, end)
      case 'system':
        return this.#system(buffer, start, end)
      case 'attachment':
        return this.#attachment(buffer, start, end)
      case 'progress':
        return this.#progress(buffer, start)
      case 'other':
        return this.#sessionRecord(buffer, start, end)
      default:
        // JSON without a record type: not written by Claude Code.
        facts.damagedLines++
    }
  }

  /** A line too long to hold: only its beginning is in the buffer. */
  overlong(buffer: Buffer, start: number, end: number): void {
    this.facts.lineCount++
    this.facts.overlongLines++
    this.#walker.walk(start, end, false)
    if (this.#walker.kind === 'user' || this.#walker.kind === 'assistant') this.facts.messageCount++
  }

  /** Reads the last line that was left early, before the buffer is reused. */
  finishChunk(buffer: Buffer): void {
    const { start, end } = this.#unread
    if (start < 0) return
    this.#unread.start = -1
    this.#walker.walk(start, end, true)
    if (this.#walker.isSound) this.#readSettings(buffer)
  }

  #assistant(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.messageCount++
    facts.limit = walker.isApiErrorMessage ? limitIn(parsed(buffer, start, end)) : undefined
    if (walker.isApiErrorMessage) facts.apiErrorCount++
    this.#leave(start, end)
    if (walker.callCount > 0) this.#edits.reply(facts.offset + start)
    const model = this.#model()
    if (!walker.hasUsage || model === synthetic) return
    const record = this.#readUsage(buffer, start, walker.requestId, walker.timestamp)
    record.model = this.#modelNumber(model)
    record.sidechain = walker.isSidechain
    facts.lastModel = facts.models[record.model]
    const outcome = this.#usage.put(record)
    if (outcome === 'added') facts.replyCount++
    if (outcome !== 'known') this.#countReply()
    if (!walker.isSidechain || facts.isSidechain) this.#noteContext(record)
  }

  /** A message of a sub-agent, reported in its session's transcript. Its own transcript may be missing. */
  #progress(buffer: Buffer, start: number): void {
    const walker = this.#walker
    const model = this.#model()
    if (!walker.hasUsage || model === synthetic) return
    const record = this.#readUsage(buffer, start, walker.wrappedRequestId, walker.wrappedTimestamp)
    record.model = this.#modelNumber(model)
    // As in ccusage: these records have no mark of a sidechain.
    record.sidechain = false
    if (this.#usage.put(record) === 'known') return
    const agents = (this.facts.reportedAgents ??= {})
    const agent = (agents[`agent-${decodeText(buffer, walker.agentId)}`] ??= { ...noTokens, costUsd: 0 })
    this.#count(agent)
    agent.costUsd += this.#costOf(record) - this.#costOf(this.#usage.replaced)
  }

  #costOf(record: UsageRecord): number {
    return costOfCall(record, pricesOf(this.facts.models[record.model]))
  }

  #model(): string {
    const { model } = this.#walker
    return model.start < 0 ? 'unknown' : this.#walker.textOf(model)
  }

  #readUsage(buffer: Buffer, start: number, requestId: Span, timestamp: Span): UsageRecord {
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
    return record
  }

  /** A message is identified by its id and its request; a message without an id by its place. */
  #identify(buffer: Buffer, start: number, requestId: Span): void {
    const { messageId } = this.#walker
    if (messageId.start >= 0) identify(this.#record, buffer, messageId, requestId)
    else identifyByPlace(this.#record, `${this.#path} ${this.facts.offset + start}`)
  }

  #modelNumber(model: string): number {
    const { models } = this.facts
    const found = models.indexOf(model)
    return found >= 0 ? found : models.push(model) - 1
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
    const { replaced } = this.#usage
    this.#count(facts)
    facts.cache5mTokens += this.#record.cache5m - replaced.cache5m
    facts.cache1hTokens += this.#record.cache1h - replaced.cache1h
  }

  #noteContext(record: UsageRecord): void {
    const { facts } = this
    const { promptCacheRequested } = this.#walker
    facts.contextTokens = record.input + record.cacheRead + record.cacheCreation
    facts.lastAnswerTokens = record.output
    if (record.seconds > 0) facts.lastUsageSeconds = record.seconds
    if (record.cache1h > 0 || this.#walker.textOf(promptCacheRequested) === '1h') facts.cacheTtlMinutes = 60
    else if (record.cacheCreation > 0 || promptCacheRequested.start >= 0) facts.cacheTtlMinutes = 5
    else if (record.cacheRead > 0 && facts.cacheTtlMinutes === 0) facts.cacheTtlMinutes = 5
  }

  #user(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    facts.messageCount++
    facts.limit = undefined
    if (walker.isToolResult) {
      this.#edits.result(end, facts.offset + start)
      return this.#leave(start, end)
    }
    this.#unread.start = -1
    this.#readSettings(buffer)
    if (walker.forkedFrom.start >= 0) this.#noteFork()
    if (walker.isSidechain && facts.messageCount === 1) facts.isSidechain = true
    if (walker.isMeta || walker.isCompactSummary || walker.isSidechain) return
    const text = walker.text.start < 0 ? '' : decodeText(buffer, walker.text)
    if (facts.firstUserLine === 0 && walker.text.start >= 0) {
      facts.firstUserLine = facts.lineCount
      facts.firstUserMessage = text
    }
    this.#notePrompt(this.#promptOf(text, buffer, start, end))
  }

  /** Programs put blocks of their own before what a person wrote; then all blocks are read. */
  #promptOf(text: string, buffer: Buffer, start: number, end: number): PromptText {
    const prompt = readPrompt(text)
    if (prompt.kind === 'prompt' || !this.#walker.hasBlocks) return prompt
    const message = parsed(buffer, start, end)?.['message']
    const content = isRecord(message) ? message['content'] : undefined
    return Array.isArray(content) ? readContent(content) : prompt
  }

  #notePrompt(prompt: PromptText): void {
    const { facts } = this
    if (prompt.kind === 'command') facts.firstCommand ??= prompt.text
    if (prompt.kind !== 'prompt') return
    facts.promptCount++
    facts.lastPrompt = prompt.text.slice(0, keptChars)
    facts.firstPrompt ??= facts.lastPrompt
  }

  #system(buffer: Buffer, start: number, end: number): void {
    const { facts } = this
    const walker = this.#walker
    const subtype = walker.textOf(walker.subtype)
    this.#leave(start, end)
    if (subtype === 'api_error') facts.apiErrorCount++
    if (subtype !== 'compact_boundary' || walker.isSidechain) return
    facts.compactionCount++
    const compaction = parsed(buffer, start, end)?.['compactMetadata']
    if (!isRecord(compaction) || typeof compaction['postTokens'] !== 'number') return
    facts.contextTokens = compaction['postTokens']
    facts.lastAnswerTokens = 0
  }

  #attachment(buffer: Buffer, start: number, end: number): void {
    const at = this.#walker.attachment.start
    this.#leave(start, end)
    if (at < 0) return
    if (beginsWith(buffer, at, promptStart)) return this.#joinedPrompt(parsed(buffer, start, end))
    if (!beginsWith(buffer, at, budgetStart)) return
    const budget = parsed(buffer, start, end)?.['attachment']
    if (!isRecord(budget)) return
    if (typeof budget['used'] === 'number') this.facts.budgetUsedUsd = budget['used']
    if (typeof budget['total'] === 'number') this.facts.budgetUsd = budget['total']
  }

  /** A person sent it while a turn ran. */
  #joinedPrompt(record: Record<string, unknown> | undefined): void {
    if (!record || record['isSidechain'] === true) return
    const { message } = withJoinedPrompt(record)
    if (isRecord(message)) this.#notePrompt(readContent(message['content']))
  }

  #sessionRecord(buffer: Buffer, start: number, end: number): void {
    const note = sessionRecords.get(this.#walker.textOf(this.#walker.type))
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
    const fork: unknown = JSON.parse(this.#walker.textOf(this.#walker.forkedFrom))
    if (isRecord(fork) && typeof fork['sessionId'] === 'string') this.facts.forkedFrom = fork['sessionId']
  }

  /** When, where and with which settings the record was written. */
  #readSettings(buffer: Buffer): void {
    const { facts } = this
    const walker = this.#walker
    for (const name of settings) {
      const value = walker[name].start < 0 ? undefined : decodeText(buffer, walker[name])
      // A repeated value does not overwrite what another kind of record has set since.
      if (value !== undefined && value !== this.#lastSettings[name])
        facts[name] = this.#lastSettings[name] = value
    }
    const { gitBranch, branches } = facts
    if (gitBranch !== undefined && !branches.includes(gitBranch) && branches.length < maxBranches)
      branches.push(gitBranch)
    facts.firstCwd ??= facts.cwd
    if (walker.sessionId.start >= 0) facts.sessionId ??= walker.textOf(walker.sessionId)
    if (walker.uuid.start >= 0) facts.firstUuid ??= walker.textOf(walker.uuid)
    const time = walker.textOf(walker.timestamp)
    if (walker.timestamp.start >= 0 && (facts.lastTimestamp === undefined || time > facts.lastTimestamp))
      facts.lastTimestamp = time
  }
}

function beginsWith(buffer: Buffer, at: number, start: Buffer): boolean {
  return buffer.compare(start, 0, start.length, at, at + start.length) === 0
}

/** The usage limit that a message of Claude Code itself reports, with the time of its reset. */
function limitIn(record: Record<string, unknown> | undefined): TranscriptFacts['limit'] {
  const params = record?.['apiErrorParams']
  const info = isRecord(params) ? params['rate_limit_info'] : undefined
  if (record?.['error'] !== 'rate_limit' || !isRecord(info)) return undefined
  const { resetsAt, rateLimitType } = info
  if (typeof resetsAt !== 'number') return undefined
  return { until: resetsAt * 1_000, window: typeof rateLimitType === 'string' ? rateLimitType : undefined }
}

/** Records that are not part of the conversation but describe the session, by type. The last one wins. */
const sessionRecords: ReadonlyMap<string, (facts: TranscriptFacts, record: Record<string, unknown>) => void> =
  new Map(
    Object.entries({
      'custom-title': (facts, record) => (facts.customTitle = text(record['customTitle'])),
      'ai-title': (facts, record) => (facts.aiTitle = text(record['aiTitle'] ?? record['title'])),
      summary: (facts, record) => (facts.summary = text(record['summary'])),
      tag: (facts, record) => (facts.tag = text(record['tag'])),
      'last-prompt': (facts, record) => (facts.lastPrompt = text(record['lastPrompt']) ?? facts.lastPrompt),
      relocated: (facts, record) => (facts.relocatedCwd = text(record['relocatedCwd']) ?? facts.relocatedCwd),
      'permission-mode': (facts, record) => (facts.permissionMode = text(record['permissionMode'])),
      'cost-state': (facts, record) => {
        if (typeof record['totalCostUSD'] === 'number') facts.costStateUsd = record['totalCostUSD']
      },
    } satisfies Record<string, (facts: TranscriptFacts, record: Record<string, unknown>) => void>),
  )

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, keptChars) : undefined
}
