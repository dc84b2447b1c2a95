// Assembles a session from what is known of it: its transcript, its sub-agents, the registries and the live processes.
import { hash } from 'node:crypto'
import { basename } from 'node:path'
import { TimeSlice } from '../domain/async.ts'
import { nativeState } from '../domain/coding-state.ts'
import type { DiscoveredSession, SessionTranscript, TokenCounts } from '../domain/discovered-session.ts'
import type { SideFiles } from './list-files.ts'
import type { LiveSession, RegistryRow } from './registries.ts'
import type { KnownFile } from './native-index.ts'
import { originMarkerOf, branchIn, type TranscriptFacts, noTokens } from './transcript-facts.ts'
import { contextWindowOf } from './price-table.ts'

/** All files of one session. */
export interface SessionFiles {
  sessionId: string
  main: KnownFile
  subagents: KnownFile[]
  /** The session from which this one was forked, if known. */
  forkedFrom?: string
}

export interface SessionContext {
  side?: SideFiles
  registry?: RegistryRow
  live?: LiveSession
  now: number
}

const shownLength = 200
/** A registry row names the owner of a session, or a tag, which only this machine's owner can set; a message never does. */
const trustedTag = /^(?:openclaw|rockpool):([a-z0-9][a-z0-9_-]{0,63})$/

/** Groups files by session. A session has a file that is named after it, is not a sub-agent's, and is not empty. */
export function groupFiles(files: Iterable<KnownFile>): Map<string, SessionFiles> {
  const sessions = new Map<string, SessionFiles>()
  const subagents: KnownFile[] = []
  const others: KnownFile[] = []
  for (const known of files) {
    const { file, facts } = known
    if (file.kind !== 'session' || facts.isSidechain) subagents.push(known)
    else if (file.agentKind) others.push(known)
    else if (isWorthListing(facts)) addMain(sessions, file.sessionId!, known)
  }
  for (const known of others) addOther(sessions, known)
  for (const known of subagents) ownerOf(known, sessions)?.subagents.push(known)
  findForks(sessions)
  return sessions
}

/** A fork made by resuming does not name its parent, but begins with the same record. The oldest is the parent. */
function findForks(sessions: Map<string, SessionFiles>): void {
  const oldest = new Map<string, SessionFiles>()
  for (const session of sessions.values()) {
    const { firstUuid } = session.main.facts
    if (firstUuid === undefined) continue
    const known = oldest.get(firstUuid)
    if (!known || beganAt(session) < beganAt(known)) oldest.set(firstUuid, session)
  }
  for (const session of sessions.values()) {
    const { firstUuid, forkedFrom } = session.main.facts
    const first = firstUuid === undefined ? undefined : oldest.get(firstUuid)
    session.forkedFrom = forkedFrom ?? (first === session ? undefined : first?.sessionId)
  }
}

function beganAt({ main }: SessionFiles): string {
  return main.facts.firstTimestamp ?? '9'
}

/** The session that a file's usage belongs to, whether or not that session is listed. */
export function sessionIdOf({ file, facts }: KnownFile): string {
  return file.sessionId ?? facts.sessionId ?? ''
}

/** A sub-agent's file is in its session's folder; the oldest versions only name the session in the records. */
function ownerOf(known: KnownFile, sessions: Map<string, SessionFiles>): SessionFiles | undefined {
  return sessions.get(known.file.sessionId ?? '') ?? sessions.get(known.facts.sessionId ?? '')
}

/** A session that was moved or copied has two files; the one that was written last counts. */
function addMain(sessions: Map<string, SessionFiles>, sessionId: string, main: KnownFile): void {
  const known = sessions.get(sessionId)
  if (!known) sessions.set(sessionId, { sessionId, main, subagents: [] })
  else if (main.file.mtimeMs > known.main.file.mtimeMs) known.main = main
}

/** An id of another agent's session may be any text, also one that is taken: then the session gets a longer id, and hides no other
 *  one. Two files of one conversation (a copy, an archive) are one session. */
function addOther(sessions: Map<string, SessionFiles>, main: KnownFile): void {
  const { facts, file } = main
  if (facts.messageCount === 0 && !isWorthListing(facts) && facts.damagedLines === 0 && !main.torn) return
  const id = facts.sessionId!
  const known = sessions.get(id)
  const isCopy = known?.main.file.agentKind === file.agentKind && isSameStart(known!.main.facts, facts)
  addMain(sessions, !known || isCopy ? id : `${id}~${hash('sha1', file.path).slice(0, 6)}`, main)
}

function isSameStart(a: TranscriptFacts, b: TranscriptFacts): boolean {
  return a.firstPrompt === b.firstPrompt && a.firstTimestamp === b.firstTimestamp
}

function isWorthListing(facts: TranscriptFacts): boolean {
  return Boolean(
    facts.firstPrompt ??
    facts.firstCommand ??
    facts.customTitle ??
    facts.aiTitle ??
    facts.lastPrompt ??
    facts.summary,
  )
}

const sliceMs = 10

/** Assembles sessions, and reuses the previous result if nothing has changed. */
export class Assembler {
  readonly #known = new Map<
    string,
    { files: SessionFiles; context: SessionContext; session: DiscoveredSession }
  >()

  /** Other tasks run in between: there may be thousands. */
  async assembleAll(
    groups: readonly SessionFiles[],
    contextOf: (sessionId: string) => SessionContext,
  ): Promise<DiscoveredSession[]> {
    const slice = new TimeSlice(sliceMs)
    const sessions: DiscoveredSession[] = []
    for (const files of groups) {
      if (slice.isUsedUp) await slice.yield()
      sessions.push(this.#assemble(files, contextOf(files.sessionId)))
    }
    return sessions
  }

  #assemble(files: SessionFiles, context: SessionContext): DiscoveredSession {
    const known = this.#known.get(files.sessionId)
    if (known && isSame(known.files, files) && isSameContext(known.context, context)) {
      const { facts } = files.main
      const hasChanged = (is: (facts: TranscriptFacts, now: number) => boolean): boolean =>
        is(facts, known.context.now) !== is(facts, context.now)
      if (!hasChanged(isWarm) && !hasChanged(isLimited)) return known.session
    }
    const session = assemble(files, context)
    this.#known.set(files.sessionId, { files, context, session })
    return session
  }
}

function isSame(a: SessionFiles, b: SessionFiles): boolean {
  if (a === b) return true
  return (
    a.main === b.main &&
    a.forkedFrom === b.forkedFrom &&
    a.subagents.length === b.subagents.length &&
    a.subagents.every((sub, i) => sub === b.subagents[i])
  )
}

function isSameContext(a: SessionContext, b: SessionContext): boolean {
  return (
    a.registry === b.registry &&
    a.live?.status === b.live?.status &&
    a.live?.waitingFor === b.live?.waitingFor &&
    a.live?.stateText === b.live?.stateText &&
    a.live?.pid === b.live?.pid &&
    a.side?.archived === b.side?.archived &&
    a.side?.customTitle === b.side?.customTitle
  )
}

/** Claude's usage limit stopped the session, and is not reset yet. */
function isLimited({ limit }: TranscriptFacts, now: number): boolean {
  return limit !== undefined && now < limit.until
}

function isWarm(facts: TranscriptFacts, now: number): boolean {
  const usedAt = facts.lastUsageSeconds * 1000
  return usedAt > 0 && now < usedAt + facts.cacheTtlMinutes * 60_000
}

// oxlint-disable-next-line max-lines-per-function -- a list of fields, with nothing to decide
function assemble(files: SessionFiles, context: SessionContext): DiscoveredSession {
  const { facts, file, torn } = files.main
  const { registry, side, now } = context
  const { lost, repeatedUsd } = reportedIn(files)
  const subagentTokens = addTokens([...files.subagents.map((sub) => sub.facts), ...lost])
  const costUsd = files.subagents.reduce((sum, sub) => sum + sub.facts.costUsd, facts.costUsd) - repeatedUsd
  const first = facts.firstPrompt ?? facts.firstCommand ?? facts.summary ?? ''
  const life = liveness(facts, context)
  // Every field is listed, none spread: V8 then keeps one shape for thousands of sessions.
  return {
    sessionId: files.sessionId,
    agentKind: file.agentKind ?? 'claude',
    source: registry?.source ?? 'native-only',
    agentId: agentOf(facts, registry),
    label: registry?.label,
    totalCostUsd: registry?.totalCostUsd,
    totalTurns: registry?.totalTurns,
    lastTask: registry?.lastTask === undefined ? undefined : cut(registry.lastTask),
    repoPath: repoOf(facts, registry),
    branch: branchIn(facts.gitBranch),
    firstMessage: cut(first),
    lastPrompt: facts.lastPrompt === undefined ? undefined : cut(facts.lastPrompt),
    lastModified: lastModifiedOf(facts, file.mtimeMs),
    createdAt: dateOf(facts.firstTimestamp),
    messageCount: facts.messageCount,
    promptCount: facts.promptCount,
    replyCount: facts.replyCount,
    lineCount: facts.lineCount + (torn ? 1 : 0),
    fileSizeBytes: file.agentKind ? facts.offset : file.size,
    slug: facts.slug,
    originMarker: originMarkerOf(first),
    totalInputTokens: facts.inputTokens,
    totalOutputTokens: facts.outputTokens,
    cacheReadTokens: facts.cacheReadTokens,
    cacheCreationTokens: facts.cacheCreationTokens,
    contextTokens: facts.contextTokens,
    lastAnswerTokens: facts.lastAnswerTokens,
    contextWindow: facts.contextWindow ?? contextWindowOf(facts.lastModel, facts.contextTokens),
    compactionCount: facts.compactionCount,
    budgetUsedPct: budgetUsed(facts, registry),
    subagentCount: files.subagents.length,
    subagentTokens,
    costUsd,
    costGuessed: facts.costGuessed || files.subagents.some((sub) => sub.facts.costGuessed),
    reportedCostUsd: facts.costStateUsd,
    model: facts.lastModel,
    title: side?.customTitle ?? facts.customTitle ?? facts.aiTitle ?? facts.summary,
    tag: facts.tag,
    forkedFrom: files.forkedFrom,
    archived: side?.archived ?? false,
    isRunning: life.status !== 'stopped',
    state: life.state,
    status: life.status,
    waitingFor: life.waitingFor,
    stateText: life.stateText,
    limit: life.limit,
    pid: context.live?.pid,
    lastUsageAt: facts.lastUsageSeconds > 0 ? new Date(facts.lastUsageSeconds * 1000) : undefined,
    cacheTtlMinutes: facts.cacheTtlMinutes,
    warm: isWarm(facts, now),
    cacheCreation5mTokens: Math.max(facts.cache5mTokens, facts.cacheCreationTokens - facts.cache1hTokens),
    cacheCreation1hTokens: facts.cache1hTokens,
    apiErrorCount: facts.apiErrorCount,
    damagedLines: facts.damagedLines + (torn ? 1 : 0),
    overlongLines: facts.overlongLines,
    entrypoint: facts.entrypoint,
    version: facts.version,
    permissionMode: facts.permissionMode,
    configDir: file.configDir,
    filePath: file.agentKind === 'opencode' ? file.path.replace(/#[^#]*$/, '') : file.path,
  }
}

/** All files of a session, its own last. */
export function transcriptsOf(
  { sessionId, main, subagents }: SessionFiles,
  registry: RegistryRow | undefined,
): SessionTranscript[] {
  const agentId = agentOf(main.facts, registry)
  const repoPath = repoOf(main.facts, registry)
  const branch = branchIn(main.facts.gitBranch)
  return [...subagents, main].map(({ file: { path, inode, size, mtimeMs } }) => ({
    sessionId,
    agentId,
    // Our transcripts do not contain what sub-agents said.
    chat: path === main.file.path ? registry?.chat : undefined,
    repoPath,
    branch,
    path,
    inode,
    size,
    mtimeMs,
  }))
}

function agentOf(facts: TranscriptFacts, registry: RegistryRow | undefined): string | undefined {
  return registry?.agentId ?? trustedTag.exec(facts.tag ?? '')?.[1]
}

function repoOf(facts: TranscriptFacts, registry: RegistryRow | undefined): string {
  return facts.relocatedCwd ?? facts.firstCwd ?? registry?.repoPath ?? ''
}

/** Our own state has priority: we know what our processes wait for before they have written it. */
function liveness(
  facts: TranscriptFacts,
  { registry, live, now }: SessionContext,
): Pick<DiscoveredSession, 'status' | 'state' | 'waitingFor' | 'stateText' | 'limit'> {
  const own = registry?.status !== undefined && registry.status !== 'stopped' ? registry : undefined
  // Of other agents only the process is known; whether it works, the transcript says.
  const isWorking = live !== undefined && facts.isTurnOpen === true
  const status = own?.status ?? (isWorking ? 'busy' : live?.status) ?? 'stopped'
  // Somebody may continue in a terminal what our row calls stopped.
  const ownState = own || !live ? registry?.state : undefined
  const waitingFor = status === 'waiting' ? (own?.waitingFor ?? live?.waitingFor) : undefined
  const limit = isLimited(facts, now) && status !== 'busy' ? facts.limit : undefined
  const state = ownState ?? (limit ? 'limited' : nativeState(status))
  const stateText = own ? undefined : live?.stateText
  return { status, state, waitingFor, stateText, limit: state === 'limited' ? facts.limit : undefined }
}

function budgetUsed(facts: TranscriptFacts, registry: RegistryRow | undefined): number | undefined {
  if (registry?.budgetUsd !== undefined && registry.totalCostUsd !== undefined && registry.budgetUsd > 0)
    return registry.totalCostUsd / registry.budgetUsd
  if (facts.budgetUsd === undefined || facts.budgetUsd <= 0 || facts.budgetUsedUsd === undefined)
    return undefined
  return facts.budgetUsedUsd / facts.budgetUsd
}

function lastModifiedOf(facts: TranscriptFacts, mtimeMs: number): Date {
  return dateOf(facts.lastTimestamp) ?? new Date(mtimeMs)
}

function dateOf(timestamp: string | undefined): Date | undefined {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp)
  return Number.isNaN(at) ? undefined : new Date(at)
}

/** What the session's transcript reports of sub-agents: the tokens of those without a transcript of their own, and the cost that
 *  the transcripts of the others repeat. */
function reportedIn({ main, subagents }: SessionFiles): { lost: TokenCounts[]; repeatedUsd: number } {
  const { reportedAgents } = main.facts
  if (!reportedAgents) return { lost: [], repeatedUsd: 0 }
  const own = new Set(subagents.map(({ file }) => basename(file.path, '.jsonl')))
  const reported = Object.entries(reportedAgents)
  return {
    lost: reported.flatMap(([name, usage]) => (own.has(name) ? [] : [usage])),
    repeatedUsd: reported.reduce((sum, [name, { costUsd }]) => (own.has(name) ? sum + costUsd : sum), 0),
  }
}

function addTokens(parts: TokenCounts[]): TokenCounts {
  const total = { ...noTokens }
  for (const part of parts) {
    total.inputTokens += part.inputTokens
    total.outputTokens += part.outputTokens
    total.cacheReadTokens += part.cacheReadTokens
    total.cacheCreationTokens += part.cacheCreationTokens
  }
  return total
}

/** At most 200 characters, never half of one. */
function cut(text: string): string {
  if (text.length <= shownLength) return text
  const end = text.slice(0, shownLength)
  return /[\ud800-\udbff]$/.test(end) ? end.slice(0, -1) : end
}
