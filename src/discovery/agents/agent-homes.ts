// The homes of all other agents on this machine, behind one interface for discovery. A reader that fails hides only its own
// sessions, and says so.
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { OtherAgent } from '../../domain/agent.ts'
import { noteUnreadable, type Listing, type TranscriptFile } from '../list-files.ts'
import { readClaudeRecords } from './claude/claude-records.ts'
import type { AgentEnvironment, AgentReader } from './contract.ts'
import { agentReaders, readerOf } from './readers.ts'

export interface AgentHome {
  kind: OtherAgent
  path: string
}

/** Where each agent's sessions are: what its variables name, what the configuration adds, and the usual place. */
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

export class AgentHomes {
  readonly #homes: Array<{ reader: AgentReader; path: string }>

  constructor(homes: readonly AgentHome[]) {
    this.#homes = homes.map(({ kind, path }) => ({ reader: readerOf(kind), path }))
  }

  list(listing: Listing): void {
    for (const { reader, path } of this.#homes) {
      try {
        reader.list(path, listing)
      } catch (error) {
        noteUnreadable(path, error, listing)
      }
    }
  }

  /** Whether a path of the index is below one of the homes; a database is a home itself. */
  has(path: string): boolean {
    return this.#homes.some(({ path: home }) => path.startsWith(`${home}/`) || path.startsWith(`${home}#`))
  }

  /** The processes that have a session open, by session. */
  live(): Map<string, number> {
    const readers = new Set(this.#homes.map(({ reader }) => reader))
    const homesOf = (wanted: AgentReader): string[] =>
      this.#homes.flatMap(({ reader, path }) => (reader === wanted ? [path] : []))
    return new Map([...readers].flatMap((reader) => [...(reader.live?.(homesOf(reader)) ?? [])]))
  }

  async conversation(file: TranscriptFile): Promise<AgentConversation> {
    return file.agentKind ? readerOf(file.agentKind).read(file) : readClaudeRecords(file.path)
  }
}

/** All files of a session and its sub-agents, each once. */
export function filesOf(files: readonly TranscriptFile[]): string[] {
  const paths = files.flatMap((file) => {
    const reader = file.agentKind && readerOf(file.agentKind)
    return reader?.files?.(file) ?? file.paths ?? [file.path]
  })
  return [...new Set(paths)]
}
