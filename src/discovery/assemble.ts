// Assembles a session from what is known of it: its transcript, its sub-agents, the registries and the live processes.
import { hash } from 'node:crypto'
import { basename } from 'node:path'
import { nativeState } from '../domain/coding-state.ts'
import type { DiscoveredSession, SessionTranscript } from '../domain/discovered-session.ts'
import type { TokenCounts } from '../domain/costs.ts'
import type { ListFacts } from './list-facts.ts'
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
    const { file, listFacts } = known
    if (file.kind !== 'session' || listFacts.isSidechain) subagents.push(known)
    else if (file.agentKind) others.push(known)
    else if (listFacts.hasText) addMain(sessions, file.sessionId!, known)
  }
  for (const known of others) addOther(sessions, known)
  for (const known of subagents) ownerOf(known, sessions)?.subagents.push(known)
  findForks(sessions)
  return sessions
}

export function groupsOf(sessionIds: Iterable<string>, groups: Map<string, SessionFiles>): SessionFiles[] {
  return [...new Set(sessionIds)].flatMap((id) => groups.get(id) ?? [])
}

/** A fork made by resuming does not name its parent, but begins with the same record. The oldest is the parent. */
function findForks(sessions: Map<string, SessionFiles>): void {
  const oldest = new Map<string, SessionFiles>()
  for (const session of sessions.values()) {
    const { firstUuid } = session.main.listFacts
    if (firstUuid === undefined) continue
    const known = oldest.get(firstUuid)
    if (!known || beganAt(session) < beganAt(known)) oldest.set(firstUuid, session)
  }
  for (const session of sessions.values()) {
    const { firstUuid, forkedFrom } = session.main.listFacts
    const first = firstUuid === undefined ? undefined : oldest.get(firstUuid)
    session.forkedFrom = forkedFrom ?? (first === session ? undefined : first?.sessionId)
  }
}

function beganAt({ main }: SessionFiles): string {
  return main.listFacts.firstTimestamp ?? '9'
}

/** The session that a file's usage belongs to, whether or not that session is listed. */
export function sessionIdOf({ file, listFacts }: KnownFile): string {
  return file.sessionId ?? listFacts.sessionId ?? ''
}

/** A sub-agent's file is in its session's folder; the oldest versions only name the session in the records. */
function ownerOf(known: KnownFile, sessions: Map<string, SessionFiles>): SessionFiles | undefined {
  return sessions.get(known.file.sessionId ?? '') ?? sessions.get(known.listFacts.sessionId ?? '')
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
  const { listFacts, file } = main
  if (!listFacts.hasText && !listFacts.hasRecords && !main.torn) return
  const id = listFacts.sessionId!
  const known = sessions.get(id)
  const isCopy =
    known?.main.file.agentKind === file.agentKind && isSameStart(known!.main.listFacts, listFacts)
  addMain(sessions, !known || isCopy ? id : `${id}~${hash('sha1', file.path).slice(0, 6)}`, main)
}

function isSameStart(a: ListFacts, b: ListFacts): boolean {
  return a.start === b.start && a.firstTimestamp === b.firstTimestamp
}

/** The facts by which lists filter and sort sessions. */
export interface Outline extends Pick<
  DiscoveredSession,
  | ('sessionId' | 'agentKind' | 'source' | 'agentId' | 'repoPath' | 'isRunning' | 'archived' | 'title')
  | ('totalInputTokens' | 'totalOutputTokens' | 'cacheReadTokens' | 'cacheCreationTokens' | 'contextTokens')
  | ('costUsd' | 'messageCount' | 'fileSizeBytes')
> {
  /** Milliseconds since 1970. */
  lastModified: number
  files: SessionFiles
}

export function outlineOf(files: SessionFiles, { registry, live, side }: SessionContext): Outline {
  const { listFacts, file } = files.main
  return {
    files,
    sessionId: files.sessionId,
    agentKind: file.agentKind ?? 'claude',
    source: registry?.source ?? 'native-only',
    agentId: agentOf(listFacts, registry),
    repoPath: repoOf(listFacts, registry),
    isRunning: live !== undefined || ownRow(registry) !== undefined,
    archived: side?.archived ?? false,
    title: side?.customTitle ?? listFacts.title,
    totalInputTokens: listFacts.inputTokens,
    totalOutputTokens: listFacts.outputTokens,
    cacheReadTokens: listFacts.cacheReadTokens,
    cacheCreationTokens: listFacts.cacheCreationTokens,
    contextTokens: listFacts.contextTokens,
    costUsd: costOf(files),
    messageCount: listFacts.messageCount,
    fileSizeBytes: file.agentKind ? listFacts.offset : file.size,
    lastModified: timeOf(listFacts.lastTimestamp) ?? file.mtimeMs,
  }
}

/** Claude's usage limit stopped the session, and is not reset yet. */
function isLimited({ limit }: TranscriptFacts, now: number): boolean {
  return limit !== undefined && now < limit.until
}

function isWarm(facts: TranscriptFacts, now: number): boolean {
  return now < coldAt(facts)
}

function coldAt({ lastUsageSeconds, cacheTtlMinutes }: TranscriptFacts): number {
  return lastUsageSeconds > 0 ? lastUsageSeconds * 1000 + cacheTtlMinutes * 60_000 : 0
}

/** The next moment at which the session changes by time alone: its prompt cache or its usage limit expires. */
export function nextExpiry(facts: TranscriptFacts, now: number): number {
  const moments = [coldAt(facts), facts.limit?.until ?? 0]
  return Math.min(...moments.filter((moment) => moment > now))
}

// oxlint-disable-next-line max-lines-per-function -- a list of fields, with nothing to decide
export function assemble(
  files: SessionFiles,
  facts: TranscriptFacts,
  context: SessionContext,
): DiscoveredSession {
  const { file, torn } = files.main
  const { registry, side, now } = context
  const subagentTokens = addTokens([
    ...files.subagents.map((sub) => sub.listFacts),
    ...reportedIn(files).lost,
  ])
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
    costUsd: costOf(files),
    costGuessed: facts.costGuessed || files.subagents.some((sub) => sub.listFacts.costGuessed),
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
  const agentId = agentOf(main.listFacts, registry)
  const repoPath = repoOf(main.listFacts, registry)
  const branch = branchIn(main.listFacts.gitBranch)
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

function agentOf({ tag }: Pick<ListFacts, 'tag'>, registry: RegistryRow | undefined): string | undefined {
  return registry?.agentId ?? (tag === undefined ? undefined : trustedTag.exec(tag)?.[1])
}

function repoOf(
  { relocatedCwd, firstCwd }: Pick<ListFacts, 'relocatedCwd' | 'firstCwd'>,
  registry: RegistryRow | undefined,
): string {
  return relocatedCwd ?? firstCwd ?? registry?.repoPath ?? ''
}

/** The row of a session that we run. */
function ownRow(registry: RegistryRow | undefined): RegistryRow | undefined {
  return registry?.status !== undefined && registry.status !== 'stopped' ? registry : undefined
}

/** Our own state has priority: we know what our processes wait for before they have written it. */
function liveness(
  facts: TranscriptFacts,
  { registry, live, now }: SessionContext,
): Pick<DiscoveredSession, 'status' | 'state' | 'waitingFor' | 'stateText' | 'limit'> {
  const own = ownRow(registry)
  // Of other agents only the process is known; whether it works, the transcript says.
  const isWorking = live !== undefined && facts.isTurnOpen === true
  const status = own?.status ?? (isWorking ? 'busy' : live?.status) ?? 'stopped'
  // A person may continue in a terminal a session that our row calls stopped.
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
  const at = timeOf(timestamp)
  return at === undefined ? undefined : new Date(at)
}

function timeOf(timestamp: string | undefined): number | undefined {
  const at = timestamp === undefined ? Number.NaN : Date.parse(timestamp)
  return Number.isNaN(at) ? undefined : at
}

/** Of the session and its sub-agents. */
function costOf(files: SessionFiles): number {
  const { main, subagents } = files
  const all = subagents.reduce((sum, { listFacts }) => sum + listFacts.costUsd, main.listFacts.costUsd)
  return all - reportedIn(files).repeatedUsd
}

/** What the session's transcript reports of sub-agents: the tokens of those without a transcript of their own, and the cost that
 *  the transcripts of the others repeat. */
function reportedIn({ main, subagents }: SessionFiles): { lost: TokenCounts[]; repeatedUsd: number } {
  const { reportedAgents } = main.listFacts
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
