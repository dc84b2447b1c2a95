// The homes of all agents on this machine, behind one interface for discovery. A reader that fails hides only its own sessions, and
// says so.
import { dirname } from 'node:path'
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { AgentKind, OtherAgent } from '../../domain/agent.ts'
import { emptyListing, noteUnreadable, type Listing, type TranscriptFile } from '../list-files.ts'
import type { LiveSession } from '../registries.ts'
import { claudeReader } from './claude/claude-files.ts'
import type { AgentEnvironment, AgentReader, LiveWorld, WatchedFolder } from './contract.ts'
import { agentReaders } from './readers.ts'
import { runningPrograms } from './running-programs.ts'

const allReaders: readonly AgentReader[] = [claudeReader, ...agentReaders]

export interface AgentHome {
  kind: AgentKind
  path: string
}

/** Where the sessions of each other agent are: what its variables name, what the configuration adds, and the usual place. */
export function agentHomesOf(
  environment: AgentEnvironment,
  {
    agentHomes,
    onlyConfigured,
  }: { agentHomes: Partial<Record<OtherAgent, string[]>>; onlyConfigured: boolean },
): AgentHome[] {
  return agentReaders.flatMap((reader) => {
    const usual = onlyConfigured ? [] : reader.homes(environment)
    const paths = new Set([...usual, ...(agentHomes[reader.kind] ?? [])])
    return [...paths].map((path) => ({ kind: reader.kind, path }))
  })
}

/** How old the known processes may be. */
const processesMs = 1_000

export class AgentHomes {
  readonly #homes: Array<{ reader: AgentReader; path: string }>
  #processes: { at: number; found: ReturnType<LiveWorld['processes']> } = { at: -Infinity, found: [] }

  constructor(homes: readonly AgentHome[]) {
    this.#homes = homes.map(({ kind, path }) => ({ reader: readerOfAny(kind), path }))
  }

  /** Names, sizes and times of the sessions of all agents. */
  list(): Listing {
    const listing = emptyListing()
    for (const { reader, path } of this.#homes) {
      try {
        reader.list(path, listing)
      } catch (error) {
        noteUnreadable(path, error, listing)
      }
    }
    return listing
  }

  /** Whether a path of the index is below one of the homes; a database is a home itself. */
  has(path: string): boolean {
    return this.#homes.some(({ path: home }) => path.startsWith(`${home}/`) || path.startsWith(`${home}#`))
  }

  /** The sessions that a process has open. */
  live(
    now: number,
    sessionsOf: (kind: AgentKind) => ReturnType<LiveWorld['sessions']>,
  ): Map<string, LiveSession> {
    const processes = (): ReturnType<LiveWorld['processes']> => this.#processesAt(now)
    const live = allReaders.flatMap((reader) => {
      const homes = this.#homes.flatMap((home) => (home.reader === reader ? [home.path] : []))
      const sessions = (): ReturnType<LiveWorld['sessions']> => sessionsOf(reader.kind)
      return homes.length === 0 ? [] : [...reader.live(homes, { processes, sessions })]
    })
    return new Map(live)
  }

  /** Every list asks, and looking at all processes of the machine takes some milliseconds. */
  #processesAt(now: number): ReturnType<LiveWorld['processes']> {
    const { at, found } = this.#processes
    if (now >= at && now - at < processesMs) return found
    this.#processes = { at: now, found: runningPrograms(now) }
    return this.#processes.found
  }

  /** The folders in which other agents may write now: those of sessions that changed lately, then those that the readers name. */
  watched(lately: readonly TranscriptFile[], now: Date): WatchedFolder[] {
    const ofSessions = lately.map(({ path, agentKind }) => ({
      path: dirname(path.replace(/#[^#/]*$/, '')),
      oneFileEach: agentKind === 'codex' || agentKind === 'pi',
    }))
    const ofReaders = this.#homes.flatMap(({ reader, path }) => reader.watched?.(path, now) ?? [])
    return [...new Map([...ofSessions, ...ofReaders].map((folder) => [folder.path, folder])).values()]
  }

  async conversation(file: TranscriptFile): Promise<AgentConversation> {
    return readerOfAny(file.agentKind ?? 'claude').read(file)
  }
}

function readerOfAny(kind: AgentKind): AgentReader {
  return allReaders.find((reader) => reader.kind === kind)!
}

/** All files of a session and its sub-agents, each once. */
export function filesOf(files: readonly TranscriptFile[]): string[] {
  const paths = files.flatMap((file) => {
    const reader = readerOfAny(file.agentKind ?? 'claude')
    return reader.files?.(file) ?? file.paths ?? [file.path]
  })
  return [...new Set(paths)]
}
