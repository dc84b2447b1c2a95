// Checks whether a conversation of Claude's can be resumed. Its transcript must exist, its records must form a chain from
// the last to the first, and no other process may write to it: Claude Code does not check, and two writers lose turns.
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Resumable } from '../domain/agent.ts'
import { chainOf, readChain } from '../store/transcripts/claude-chain.ts'
import type { Chain } from '../store/transcripts/claude-chain.ts'
import type { SharedClaudeTranscripts } from '../store/storage.ts'
import { isClaudesProcess } from '../store/disk/process-identity.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

export interface TranscriptLook {
  resumable: Resumable
  /** What the conversation had cost when it was last closed in order. */
  costUsd: number
}

/** Looks at a transcript of Claude's. `configDir` is Claude's own directory. */
export async function lookAtTranscript(configDir: string, sdkSessionId: string): Promise<TranscriptLook> {
  const path = findTranscript(configDir, sdkSessionId)
  if (!path) return { resumable: missing(sdkSessionId), costUsd: 0 }
  // The file may be a link to another disk; the chain is read of plain files only.
  const chain = await readChain(realpathSync(path))
  return { resumable: judge(chain, path), costUsd: chain.costUsd }
}

/** The same for a transcript that other machines share with us. */
function lookAtEntries(entries: Iterable<Record<string, unknown>>, sdkSessionId: string): TranscriptLook {
  const chain = chainOf(entries)
  return { resumable: judge(chain, `The shared transcript of ${sdkSessionId}`), costUsd: chain.costUsd }
}

/** The newest of this name: a project that was moved leaves a copy behind. */
export function findTranscript(configDir: string, sdkSessionId: string): string | undefined {
  // The id becomes part of a path; Claude's ids are UUIDs.
  if (!/^[0-9a-f-]{36}$/i.test(sdkSessionId)) return undefined
  const projects = join(configDir, 'projects')
  const found = namesIn(projects).flatMap((project) => {
    const path = join(projects, project, `${sdkSessionId}.jsonl`)
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat?.isFile() ? [{ path, at: stat.mtimeMs }] : []
  })
  return found.sort((a, b) => b.at - a.at)[0]?.path
}

/** A living process that Claude's own registry names for this session, other than those of `ours`. */
export function otherWriter(
  configDir: string,
  sdkSessionId: string,
  ours: (pid: number) => boolean,
): { pid: number; cwd: string } | undefined {
  const folder = join(configDir, 'sessions')
  for (const name of namesIn(folder).filter((name) => /^\d+\.json$/.test(name))) {
    const entry = readRegistryEntry(join(folder, name))
    if (entry?.sessionId !== sdkSessionId || ours(entry.pid)) continue
    if (isClaudesProcess(entry)) return { pid: entry.pid, cwd: entry.cwd }
  }
  return undefined
}

interface RegistryEntry {
  pid: number
  sessionId: string
  cwd: string
  procStart: string | number
  pidDomain: string
}

function readRegistryEntry(path: string): RegistryEntry | undefined {
  try {
    return JSON.parse(readForeign(path, 65_536).toString('utf8')) as RegistryEntry
  } catch {
    // Removed while we looked, or half written: a process that just ended or just starts under another id.
    return undefined
  }
}

/** What lies before a summary may be lost: a resume does not need it. */
function judge({ leaf, breaks }: Chain, path: string): Resumable {
  if (!leaf) return { ok: false, why: 'empty', reason: `${path} holds no conversation yet.` }
  const broken = breaks.find((each) => !each.isSummarized)
  if (!broken) return { ok: true }
  const how = broken.why === 'circle' ? 'in a circle' : 'missing'
  return {
    ok: false,
    why: 'damaged',
    reason: `${path} does not lead from its last message to its first: ${broken.uuid} is ${how}.`,
  }
}

function missing(sdkSessionId: string): Resumable {
  return { ok: false, why: 'gone', reason: `Claude has no transcript of session ${sdkSessionId}.` }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // Claude was never used here.
    return []
  }
}

/** Remembers what a transcript looked like until it changes: a long one takes a second to read. */
export class LookCache {
  #looks = new Map<string, { stamp: string; look: TranscriptLook }>()
  #shared: SharedClaudeTranscripts | undefined

  /** `shared`: what other machines know counts more than the file that is here. */
  constructor(shared?: SharedClaudeTranscripts) {
    this.#shared = shared
  }

  async look(configDir: string, sdkSessionId: string): Promise<TranscriptLook> {
    const entries = await this.#shared?.entries(sdkSessionId)
    if (entries) return lookAtEntries(entries, sdkSessionId)
    const stamp = stampOf(findTranscript(configDir, sdkSessionId))
    const known = this.#looks.get(sdkSessionId)
    if (known && known.stamp === stamp) return known.look
    const look = await lookAtTranscript(configDir, sdkSessionId)
    this.#looks.delete(sdkSessionId)
    this.#looks.set(sdkSessionId, { stamp, look })
    const [oldest] = this.#looks.keys()
    if (this.#looks.size > 200 && oldest) this.#looks.delete(oldest)
    return look
  }
}

function stampOf(path: string | undefined): string {
  const stat = path ? statSync(path, { throwIfNoEntry: false }) : undefined
  return stat ? `${path} ${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
}
