// Outlines of all sessions, to filter and sort them, and whole sessions for those that are shown. Keeps both until they are out of date:
// most lists come when nothing has changed.
import type { DiscoveredSession, SessionSort } from '../domain/discovered-session.ts'
import { assemble, nextExpiry, outlineOf } from './assemble.ts'
import type { Outline, SessionContext, SessionFiles } from './assemble.ts'
import { sortSessions } from './filter.ts'
import type { SideFiles } from './list-files.ts'
import type { KnownFile } from './native-index.ts'
import type { LiveSession, RegistryRow } from './registries.ts'
import type { TranscriptFacts } from './transcript-facts.ts'

/** Everything that sessions are assembled from, at one moment. */
export interface SessionSources {
  groups: ReadonlyMap<string, SessionFiles>
  side: ReadonlyMap<string, SideFiles>
  rows: ReadonlyMap<string, RegistryRow>
  live: ReadonlyMap<string, LiveSession>
  now: number
}

/** The facts of transcripts by their path, read from the index. */
type ReadFacts = (files: readonly KnownFile[]) => Promise<ReadonlyMap<string, TranscriptFacts>>

interface Assembled {
  files: SessionFiles
  context: SessionContext
  /** The session changes at this moment, although nothing that it is made from has changed. */
  until: number
  session: DiscoveredSession
}

interface Outlines {
  sources: SessionSources
  outlines: Outline[]
  sorted: Map<SessionSort, Outline[]>
}

/** Other tasks run after this many sessions. */
const atOnce = 250
/** Assembled sessions that are kept. Each takes 2 KB; more of them are assembled again for each list. */
const mostKept = 5_000

export class Assembler {
  readonly #readFacts: ReadFacts
  readonly #kept = new Map<string, Assembled>()
  #last: Outlines | undefined

  constructor(readFacts: ReadFacts) {
    this.#readFacts = readFacts
  }

  /** The outlines of all sessions in this order. The caller must not change the list. */
  sorted(sources: SessionSources, sort: SessionSort): readonly Outline[] {
    if (!this.#last || !isCurrent(this.#last, sources)) this.#last = outlinesOf(sources)
    const { outlines, sorted } = this.#last
    const known = sorted.get(sort) ?? sortSessions(outlines, sort)
    sorted.set(sort, known)
    return known
  }

  whole(outlines: readonly Outline[], sources: SessionSources): Promise<DiscoveredSession[]> {
    const groups = outlines.map(({ files }) => files)
    return this.sessions(groups, sources)
  }

  /** The sessions of these files, in their order. A session whose transcript cannot be read any more is left out. */
  async sessions(groups: readonly SessionFiles[], sources: SessionSources): Promise<DiscoveredSession[]> {
    const sessions: DiscoveredSession[] = []
    for (let start = 0; start < groups.length; start += atOnce) {
      if (start > 0) await new Promise((resolve) => setImmediate(resolve))
      sessions.push(...(await this.#assembleSome(groups.slice(start, start + atOnce), sources)))
    }
    return sessions
  }

  async #assembleSome(groups: SessionFiles[], sources: SessionSources): Promise<DiscoveredSession[]> {
    const known = groups.map((files) => this.#find(files, contextOf(files, sources)))
    const missing = groups.flatMap(({ main }, at) => (known[at] ? [] : [main]))
    const facts = missing.length === 0 ? undefined : await this.#readFacts(missing)
    return groups.flatMap((files, at) => {
      if (known[at]) return known[at]
      const found = facts!.get(files.main.file.path)
      return found ? this.#assemble(files, found, contextOf(files, sources)) : []
    })
  }

  #find(files: SessionFiles, context: SessionContext): DiscoveredSession | undefined {
    const kept = this.#kept.get(files.sessionId)
    const isSame =
      kept &&
      isSameFiles(kept.files, files) &&
      isSameContext(kept.context, context) &&
      isValid(kept, context.now)
    return isSame ? kept.session : undefined
  }

  #assemble(files: SessionFiles, facts: TranscriptFacts, context: SessionContext): DiscoveredSession {
    const session = assemble(files, facts, context)
    // The latest is the last in the map.
    this.#kept.delete(files.sessionId)
    this.#kept.set(files.sessionId, { files, context, until: nextExpiry(facts, context.now), session })
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value!)
    return session
  }
}

function outlinesOf(sources: SessionSources): Outlines {
  const outlines: Outline[] = []
  for (const files of sources.groups.values()) outlines.push(outlineOf(files, contextOf(files, sources)))
  return { sources, outlines, sorted: new Map() }
}

function contextOf({ sessionId }: SessionFiles, { side, rows, live, now }: SessionSources): SessionContext {
  return { side: side.get(sessionId), registry: rows.get(sessionId), live: live.get(sessionId), now }
}

function isValid({ context, until }: Assembled, now: number): boolean {
  return now >= context.now && now < until
}

function isCurrent({ sources }: Outlines, next: SessionSources): boolean {
  return (
    sources.groups === next.groups &&
    sources.side === next.side &&
    isSameMap(sources.rows, next.rows, (a, b) => a === b) &&
    isSameMap(sources.live, next.live, isSameLife)
  )
}

function isSameMap<T>(
  a: ReadonlyMap<string, T>,
  b: ReadonlyMap<string, T>,
  isSameValue: (a: T, b: T | undefined) => boolean,
): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (!isSameValue(value, b.get(key))) return false
  return true
}

function isSameFiles(a: SessionFiles, b: SessionFiles): boolean {
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
    isSameLife(a.live, b.live) &&
    a.side?.archived === b.side?.archived &&
    a.side?.customTitle === b.side?.customTitle
  )
}

function isSameLife(a: LiveSession | undefined, b: LiveSession | undefined): boolean {
  return (
    a?.status === b?.status &&
    a?.waitingFor === b?.waitingFor &&
    a?.stateText === b?.stateText &&
    a?.pid === b?.pid
  )
}
