// The facts, the usage and the edits of a session of another agent, from its normalised records. What each agent's lines mean is decided in
// its own folder; here all agents are counted in the same way.
import { isAbsolute, join } from 'node:path'
import { nameHash, type EditTable } from '../edit-table.ts'
import { hashesOfText } from '../line-hash.ts'
import { identifyByPlace, noUsage, type UsageTable } from '../usage-table.ts'
import { keptChars, type TranscriptFacts } from '../transcript-facts.ts'
import type { AgentRecord, SessionAbout } from '../../domain/agent-records.ts'
import type { ScannedSource } from './contract.ts'

type UsageOf = Extract<AgentRecord, { kind: 'usage' }>
type EditOf = Extract<AgentRecord, { kind: 'edit' }>

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

/** The agents report an edit when it has happened, as a diff or as the whole file; refused and failed edits have no records.
 *  `offset`: where the line of the record begins; 0 where the session is not a file of lines. */
function addEdit(table: EditTable, edit: EditOf, cwd: string | undefined, offset: number): void {
  const file = isAbsolute(edit.path) ? edit.path : cwd === undefined ? undefined : join(cwd, edit.path)
  const lines = hashesOfText(edit.change === 'delete' ? '' : (edit.content ?? addedText(edit.diff ?? '')))
  if (file === undefined || lines.length === 0) return
  table.edits.push({
    file,
    kind: edit.content === undefined ? 'edit' : 'write',
    seconds: Math.trunc((Date.parse(edit.at) || 0) / 1000),
    offset,
    // Copies in a fork are left out, so the number only has to tell the edits of one session apart.
    id: nameHash(`${file} ${edit.at} ${table.edits.length}`),
    lines,
  })
}

/** The added lines of a unified diff. The lines with the names of the files are before the first `@@`. */
function addedText(diff: string): string {
  const hunks = diff.slice(Math.max(0, diff.search(/^@@/m)))
  return [...hunks.matchAll(/^\+(.*)$/gm)].map(([, line]) => line).join('\n')
}
