// The facts, the usage and the edits of a session of another agent, from its normalised records. What each agent's lines mean is decided in
// its own folder; here all agents are counted in the same way.
import type { EditTable } from '../edit-table.ts'
import { identifyByPlace, noUsage, type UsageTable } from '../usage-table.ts'
import { keptChars, type TranscriptFacts } from '../transcript-facts.ts'
import type { AgentRecord, SessionAbout } from '../../domain/agent-records.ts'
import type { ScannedSource } from './contract.ts'
import { addEdit } from './record-edits.ts'

type UsageOf = Extract<AgentRecord, { kind: 'usage' }>

export class RecordFacts {
  readonly #facts: TranscriptFacts
  readonly #usage: UsageTable
  readonly #edits: EditTable
  readonly #record = noUsage()

  constructor({ facts, usage, edits }: Pick<ScannedSource, 'facts' | 'usage' | 'edits'>) {
    this.#facts = facts
    this.#usage = usage
    this.#edits = edits
  }

  /** `offset`: where the line of the record begins. */
  take(record: AgentRecord, offset = 0): void {
    const facts = this.#facts
    this.seen(record.at)
    if (record.kind === 'session') return this.#session(record.about)
    // A fork shows the first prompt of the conversation that it continues.
    if (record.kind === 'prompt') facts.firstPrompt ??= record.text.slice(0, keptChars)
    if (record.inherited) return
    switch (record.kind) {
      case 'prompt':
        facts.promptCount++
        facts.messageCount++
        facts.lastPrompt = record.text.slice(0, keptChars)
        break
      case 'answer':
        facts.replyCount++
        facts.messageCount++
        break
      case 'model':
        facts.lastModel = record.model
        break
      case 'usage':
        this.#count(record)
        break
      case 'edit':
        addEdit(this.#edits, record, facts.cwd, offset)
        break
      case 'compaction':
        facts.compactionCount++
        break
      case 'turn-start':
        facts.isTurnOpen = true
        break
      case 'turn-end':
        facts.isTurnOpen = false
        if (record.outcome === 'failed') facts.apiErrorCount++
    }
  }

  /** A record was written at this time. */
  seen(at: string): void {
    const facts = this.#facts
    if (at === '') return
    facts.firstTimestamp ??= at
    if (facts.lastTimestamp === undefined || at > facts.lastTimestamp) facts.lastTimestamp = at
  }

  #session({ id, parent, cwd, branch, title, startedAt, firstId, ...about }: SessionAbout): void {
    const facts = this.#facts
    if (id !== undefined && parent?.kind !== 'subagent' && !facts.isSidechain) facts.sessionId = id
    if (parent?.kind === 'subagent') {
      facts.isSidechain = true
      facts.threadId = id
      facts.sessionId = parent.root ?? parent.id
    } else if (parent) facts.forkedFrom = parent.id
    if (cwd !== undefined) {
      facts.cwd = cwd
      facts.firstCwd ??= cwd
    }
    if (branch !== undefined) facts.gitBranch = branch
    if (branch !== undefined && !facts.branches.includes(branch)) facts.branches.push(branch)
    if (title !== undefined) facts.customTitle = title.slice(0, keptChars)
    if (startedAt !== undefined) facts.firstTimestamp = startedAt
    if (firstId !== undefined) facts.firstUuid ??= firstId
    if (about.version !== undefined) facts.version = about.version
    if (about.entrypoint !== undefined) facts.entrypoint = about.entrypoint
    if (about.contextWindow !== undefined) facts.contextWindow = about.contextWindow
  }

  #count(usage: UsageOf): void {
    const facts = this.#facts
    const record = this.#record
    identifyByPlace(record, usage.id)
    record.input = usage.input
    record.output = usage.output
    record.cacheRead = usage.cacheRead
    record.cacheCreation = usage.cacheWrite
    record.seconds = Math.trunc((Date.parse(usage.at) || 0) / 1000)
    record.model = this.#modelNumber(usage.model)
    record.fast = usage.fast ?? false
    record.reportedUsd = usage.costUsd
    facts.lastModel = usage.model
    const { replaced } = this.#usage
    if (this.#usage.put(record) === 'known') return
    facts.inputTokens += record.input - replaced.input
    facts.outputTokens += record.output - replaced.output
    facts.cacheReadTokens += record.cacheRead - replaced.cacheRead
    facts.cacheCreationTokens += record.cacheCreation - replaced.cacheCreation
    facts.contextTokens = record.input + record.cacheRead + record.cacheCreation
    facts.lastAnswerTokens = record.output
    if (record.seconds > 0) facts.lastUsageSeconds = record.seconds
  }

  #modelNumber(model: string): number {
    const { models } = this.#facts
    const found = models.indexOf(model)
    return found >= 0 ? found : models.push(model) - 1
  }
}
