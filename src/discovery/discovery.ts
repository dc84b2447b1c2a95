// Every session of Claude Code and of other coding agents on the machine: transcripts, registries and live processes behind one
// interface. Without a watcher each query checks the files again; with one, answers come from memory.
import { basename } from 'node:path'
import type { AgentConversation } from '../domain/agent-records.ts'
import type { Clock } from '../domain/clock.ts'
import type {
  DiscoveredSession,
  Discovery,
  EditLookup,
  ScanProgress,
  SessionFilter,
  SessionHealth,
  SessionList,
  SessionTranscript,
  Subagent,
  TranscriptSnapshot,
  UnreadablePath,
} from '../domain/discovered-session.ts'
import type { CostFilter, CostReport } from '../domain/costs.ts'
import { RockpoolError } from '../domain/errors.ts'
import { dayIn } from '../domain/local-time.ts'
import type { Log } from '../domain/log.ts'
import { DiscoveryIndex } from '../store/sqlite/discovery-index.ts'
import { groupFiles, groupsOf, sessionIdOf, transcriptsOf, type SessionFiles } from './assemble.ts'
import { Assembler, type SessionSources } from './assembler.ts'
import { reportCosts } from './cost.ts'
import { havingWords, matching, mayBeNamed, findOne } from './filter.ts'
import { AgentHomes, filesOf, type AgentHome } from './agents/agent-homes.ts'
import { watchAgents } from './agents/watch-agents.ts'
import { IndexedEdits, type PresentFiles } from './edit-lookup.ts'
import { accessFault, type Listing, type TranscriptFile } from './list-files.ts'
import { NativeIndex, indexFormat, stampOf } from './native-index.ts'
import type { LiveReports } from './live-reports.ts'
import { LiveSessions } from './live-sessions.ts'
import { readRegistries } from './registries.ts'
import type { RegistryRow, RegistrySource } from './registries.ts'
import { repairTranscript } from './repair.ts'
import { idOf, subagentsOf } from './subagents.ts'
import { usageByFile } from './usage-by-file.ts'
import { watchTranscripts, type Change } from './watch.ts'
import { sessionHealth } from './transcript-health.ts'

interface DiscoveryParts {
  configDirs: readonly string[]
  /** Where other agents keep their sessions. */
  agentHomes?: readonly AgentHome[]
  /** Where the index is kept. */
  indexFile: string
  registries: readonly RegistrySource[]
  /** The workspaces in which our agents answer chats. */
  workspaces?: () => string[]
  /** Reports of sessions with the plugin. */
  reports?: LiveReports
  clock: Clock
  log: Log
  /** For costs by day; the machine's time zone when absent. */
  timeZone?: string
  /** Receives the progress of a long scan. */
  onProgress?: (progress: ScanProgress) => void
}

/** Transcripts of Claude that are polled more often than all are checked. */
const mostRecent = 500

export function openDiscovery(parts: DiscoveryParts): Discovery {
  return new SessionDiscovery(parts)
}

class SessionDiscovery implements Discovery {
  readonly #parts: DiscoveryParts
  readonly #native: NativeIndex
  readonly #agents: AgentHomes
  readonly #assembler = new Assembler((files) => this.#native.facts(files))
  #groups: Map<string, SessionFiles> | undefined
  #ids: ReadonlySet<string> | undefined
  /** The last listing of names, sizes and times. */
  #listed: Listing | undefined
  #isWatching = false
  readonly #live: LiveSessions

  constructor(parts: DiscoveryParts) {
    this.#parts = parts
    const index = DiscoveryIndex.open(parts.indexFile, indexFormat, parts.log)
    const claude = parts.configDirs.map((path) => ({ kind: 'claude' as const, path }))
    this.#agents = new AgentHomes([...claude, ...(parts.agentHomes ?? [])])
    this.#native = new NativeIndex(index, this.#agents, parts.log)
    this.#live = new LiveSessions(this.#agents, parts.clock, parts.reports)
  }

  async list(filter: SessionFilter = {}): Promise<SessionList> {
    await this.#refreshUnlessWatching()
    const sources = await this.#sources()
    const { search, archived, sort = 'recent', offset = 0, limit = Infinity, ...others } = filter
    const both = matching(this.#assembler.sorted(sources, sort), others)
    const found = matching(both, { agentKind: 'all', archived })
    const { unreadable } = this.#native
    if (search === undefined) {
      const sessions = await this.#assembler.whole(found.slice(offset, offset + limit), sources)
      const archivedLeftOut = archived === false ? both.length - found.length : undefined
      return { total: found.length, archivedLeftOut, sessions, unreadable }
    }
    const sessions = havingWords(await this.#assembler.whole(found, sources), search)
    return { total: sessions.length, sessions: sessions.slice(offset, offset + limit), unreadable }
  }

  async unreadable(): Promise<UnreadablePath[]> {
    await this.refresh()
    const { unreadable, files } = this.#native
    const noticed = new Set(unreadable.map(({ path }) => path))
    // An unchanged transcript is not read again, so its permissions are checked.
    const paths = new Set([...files.values()].flatMap(({ file }) => file.paths?.[0] ?? file.path))
    const closed = [...paths].filter((path) => !noticed.has(path)).flatMap(accessFault)
    return [...unreadable, ...closed]
  }

  async known(sessionIds: Iterable<string>): Promise<DiscoveredSession[]> {
    const wanted = new Set(sessionIds)
    if (wanted.size === 0) return []
    const some =
      this.#groups === undefined ? this.#listed && this.#native.some(this.#listed, wanted) : undefined
    if (this.#groups === undefined && !some) await this.refresh()
    const groups = some ? groupFiles(some) : this.#groups!
    return this.#assembler.sessions(groupsOf(wanted, groups), await this.#sources(groups))
  }

  async ids(): Promise<ReadonlySet<string>> {
    // The names of transcripts are enough in a short-lived process that has listed them.
    if (this.#groups === undefined && this.#listed)
      return new Set(
        this.#listed.files.flatMap(({ kind, sessionId }) => (kind === 'session' ? (sessionId ?? []) : [])),
      )
    if (this.#groups === undefined) await this.refresh()
    return (this.#ids ??= new Set(this.#groups!.keys()))
  }

  async transcripts(sessionIds?: Iterable<string>): Promise<SessionTranscript[]> {
    await this.#refreshUnlessWatching()
    return this.#transcripts(await this.#registryRows(), sessionIds)
  }

  async edits(): Promise<EditLookup> {
    return new IndexedEdits(this.#native, await this.#presentFiles())
  }

  /** All transcripts. In a short-lived process nothing is loaded if no file has changed. */
  async #presentFiles(): Promise<PresentFiles> {
    if (this.#groups === undefined) {
      const listing = this.#native.list()
      this.#listed = listing
      const files = new Map(listing.files.map((file) => [file.path, file]))
      if (this.#native.isUpToDate(listing))
        return { at: (path) => files.get(path), all: () => files.values() }
    }
    await this.#refreshUnlessWatching()
    const { files } = this.#native
    return { at: (path) => files.get(path)?.file, all: () => [...files.values()].map(({ file }) => file) }
  }

  async snapshot(): Promise<TranscriptSnapshot> {
    const listing = this.#native.list()
    const rows = await this.#registryRows()
    this.#listed = listing
    return {
      stamp: stampOf(listing, rows),
      transcripts: async () => {
        this.#regroup(await this.#native.refreshTo(listing, this.#parts.onProgress))
        return this.#transcripts(rows)
      },
    }
  }

  #transcripts(rows: Map<string, RegistryRow>, sessionIds?: Iterable<string>): SessionTranscript[] {
    const groups = sessionIds ? groupsOf(sessionIds, this.#groups!) : [...this.#groups!.values()]
    return groups
      .filter(({ main }) => main.file.agentKind === undefined)
      .sort((a, b) => a.main.file.mtimeMs - b.main.file.mtimeMs)
      .flatMap((files) => transcriptsOf(files, rows.get(files.sessionId)))
  }

  async get(
    idOrTitle: string,
    mayBe: (session: DiscoveredSession) => boolean = () => true,
  ): Promise<DiscoveredSession> {
    await this.#refreshUnlessWatching()
    const sources = await this.#sources()
    const near = this.#assembler.sorted(sources, 'recent').filter((outline) => mayBeNamed(outline, idOrTitle))
    return findOne(idOrTitle, (await this.#assembler.whole(near, sources)).filter(mayBe))
  }

  async subagents(sessionId: string): Promise<Subagent[]> {
    const { isRunning } = await this.get(sessionId)
    const files = this.#groups!.get(sessionId)!
    return subagentsOf(files, await this.#native.facts(files.subagents), isRunning)
  }

  async costs(filter: CostFilter = {}): Promise<CostReport> {
    await this.#refreshUnlessWatching()
    const sources = await this.#sources()
    const outlines = this.#assembler.sorted(sources, 'recent')
    const { repoPath, agentKind, by } = filter
    const isNarrow = repoPath !== undefined || agentKind !== undefined
    const some = isNarrow && matching(outlines, { repoPath, agentKind: agentKind ?? 'all' })
    const wanted = some ? new Set(some.map((session) => session.sessionId)) : undefined
    // Only a list by session shows more than an outline has.
    const named = by === 'session' ? await this.#assembler.whole(some || outlines, sources) : outlines
    const sessions = new Map(named.map((session) => [session.sessionId, session]))
    const files = usageByFile(this.#native.usage(filter.since), {
      sessions,
      wanted,
      rows: sources.rows,
      workspaces: new Set(this.#parts.workspaces?.()),
    })
    return reportCosts(files, filter, dayIn(this.#parts.timeZone))
  }

  async conversation(sessionId: string, subagentId?: string): Promise<AgentConversation> {
    const known = this.#groups?.get(sessionId)
    const id = known ? sessionId : (await this.get(sessionId)).sessionId
    const { main, subagents } = this.#groups!.get(id)!
    const wanted = subagentId === undefined ? main : subagents.find((known) => idOf(known) === subagentId)
    if (!wanted) throw new RockpoolError('not-found', `${id} has no sub-agent ${subagentId}.`)
    return this.#agents.conversation(wanted.file)
  }

  async files(sessionId: string): Promise<string[]> {
    if (this.#groups === undefined) await this.refresh()
    const { main, subagents = [] } = this.#groups!.get(sessionId) ?? {}
    return main ? filesOf([main, ...subagents].map(({ file }) => file)) : []
  }

  async health(sessionId: string): Promise<SessionHealth> {
    return sessionHealth(await this.get(sessionId))
  }

  async repair(
    sessionId: string,
  ): Promise<{ sessionId: string; filePath: string; health: SessionHealth; left: number }> {
    const session = await this.get(sessionId)
    if (session.isRunning)
      throw new RockpoolError('busy', `${session.sessionId} is running; its file still changes.`, {
        hint: 'Repair it when it has ended.',
      })
    const repaired = await repairTranscript(session.sessionId, session.filePath)
    await this.refresh()
    return repaired
  }

  async refresh(): Promise<void> {
    this.#regroup(await this.#native.refresh(this.#parts.onProgress))
  }

  #regroup(changed: string[]): void {
    if (changed.length === 0 && this.#groups !== undefined) return
    this.#groups = groupFiles(this.#native.files.values())
    this.#ids = undefined
  }

  async purge(): Promise<void> {
    await this.refresh()
    await this.#native.rewrite()
  }

  async watch(onChange: (sessionId: string, why: string) => void): Promise<() => Promise<void>> {
    await this.refresh()
    this.#live.changed(this.#groups)
    const { clock } = this.#parts
    const handle = async (change: Change): Promise<void> => {
      try {
        if (change.live) for (const id of this.#live.changed(this.#groups)) onChange(id, 'status')
        for (const id of await this.#changedFiles(change)) onChange(id, 'file')
      } catch (error) {
        this.#parts.log.warn(
          { event: 'discovery-refresh-failed', reason: String(error) },
          'Could not read changed sessions; the next refresh tries again.',
        )
      }
    }
    const stops = [
      watchTranscripts({ ...this.#parts, recent: () => this.#recentTranscripts() }, handle),
      watchAgents(
        () => this.#agents.watched(this.#changedLately(), new Date(clock.now())),
        clock,
        (transcripts) => handle({ transcripts, live: true }),
      ),
    ]
    this.#isWatching = true
    return async () => {
      this.#isWatching = false
      await Promise.all(stops.map((stop) => stop()))
    }
  }

  /** The files of other agents that changed in the last day, the latest first. */
  #changedLately(): TranscriptFile[] {
    return this.#changedInLastDay().filter(({ agentKind }) => agentKind !== undefined)
  }

  #recentTranscripts(): string[] {
    return this.#changedInLastDay()
      .filter(({ agentKind }) => agentKind === undefined)
      .slice(0, mostRecent)
      .map(({ path }) => path)
  }

  /** The latest first. */
  #changedInLastDay(): TranscriptFile[] {
    const since = this.#parts.clock.now() - 24 * 3_600_000
    const changed: TranscriptFile[] = []
    for (const { file } of this.#native.files.values()) if (file.mtimeMs > since) changed.push(file)
    return changed.sort((a, b) => b.mtimeMs - a.mtimeMs)
  }

  async #changedFiles({ transcripts }: Change): Promise<Set<string>> {
    if (transcripts?.length === 0) return new Set()
    const changed = await this.#native.refresh(undefined, transcripts)
    this.#regroup(changed)
    return new Set(changed.map((path) => this.#idOf(path)))
  }

  close(): Promise<void> {
    return this.#native.close()
  }

  async #refreshUnlessWatching(): Promise<void> {
    if (!this.#isWatching || this.#groups === undefined) await this.refresh()
  }

  #registryRows(): Promise<Map<string, RegistryRow>> {
    return readRegistries(this.#parts.registries, this.#parts.log)
  }

  /** The current sources from which sessions are assembled. */
  async #sources(groups = this.#groups!): Promise<SessionSources> {
    const rows = await this.#registryRows()
    return {
      groups,
      side: this.#native.side,
      rows,
      live: this.#live.read(this.#groups),
      now: this.#parts.clock.now(),
    }
  }

  /** Of a deleted file only the name is left. */
  #idOf(path: string): string {
    const known = this.#native.files.get(path)
    return known ? sessionIdOf(known) : basename(path, '.jsonl')
  }
}
