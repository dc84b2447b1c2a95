// Imports the rows and transcripts of an OpenClaw, agent by agent. Newer rows of Rockpool stay, none is overwritten, and
// nothing in the OpenClaw is changed.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { canonicalSessionKey } from '../../domain/session-key-forms.ts'
import { shellWord } from '../../domain/text.ts'
import { readOpenClaw, type OpenClawAgent } from './openclaw-source.ts'
import { importTranscript } from './openclaw-transcripts.ts'
import { keyFault } from '../session-rules.ts'
import type { SessionStore } from '../session-store.ts'

interface OpenClawImportOptions {
  /** Reports what would be imported, and imports nothing. */
  dryRun: boolean
  agentId?: string
  clock: Clock
  sessions(agentId: string): SessionStore
  folder(agentId: string): string
}

interface Counts {
  found: number
  added: number
  changed: number
  /** Rows that exist here in the same or a newer version. */
  kept: number
}

interface ImportedAgent {
  agentId: string
  kind: 'files' | 'sqlite'
  path: string
  sessions: Counts
  transcripts: Counts
  /** For people: what was left out and why. */
  problems: string[]
}

export interface OpenClawImportReport {
  stateDir: string
  dryRun: boolean
  agents: ImportedAgent[]
}

export async function importOpenClaw(
  stateDir: string,
  options: OpenClawImportOptions,
): Promise<OpenClawImportReport> {
  if (!existsSync(join(stateDir, 'agents'))) {
    throw new RockpoolError('not-found', `${stateDir} is not the state directory of an OpenClaw.`, {
      hint: 'Give the directory that has `agents/` in it, usually ~/.openclaw.',
    })
  }
  const agents: ImportedAgent[] = []
  for (const source of readOpenClaw(stateDir)) {
    try {
      if (options.agentId === undefined || options.agentId === source.agentId)
        agents.push(await importAgent(source, options))
    } finally {
      await source.close()
    }
  }
  return { stateDir, dryRun: options.dryRun, agents }
}

async function importAgent(source: OpenClawAgent, options: OpenClawImportOptions): Promise<ImportedAgent> {
  const { agentId, kind, path, problems } = source
  const imported: ImportedAgent = {
    agentId,
    kind,
    path,
    sessions: { found: source.entries.size, added: 0, changed: 0, kept: 0 },
    transcripts: { found: source.transcripts.length, added: 0, changed: 0, kept: 0 },
    problems,
  }
  // Transcripts first: a row must never refer to a transcript that does not exist yet.
  for (const transcript of source.transcripts) {
    try {
      const done = await importTranscript(transcript, options.folder(agentId), options.dryRun)
      if (done === 'differs')
        problems.push(`${transcript.name} is here already and is not the same; ours stays`)
      imported.transcripts[done === 'differs' ? 'kept' : done]++
    } catch (error) {
      // One transcript that cannot be read must not stop the others.
      problems.push(`${transcript.name}: ${asRockpoolError(error).message}`)
    }
  }
  for (const [key, entry] of byOurKeys(source)) {
    const fault = keyFault(agentId, key)
    if (fault) problems.push(`${key} ${fault}`)
    else await importEntry({ key, entry, store: options.sessions(agentId), imported, options })
  }
  return imported
}

/** Converts old forms of keys to the current one, unless a session with that key exists: then both stay. */
function byOurKeys({ entries, agentId, problems }: OpenClawAgent): Map<string, SessionEntry> {
  const ours = new Map<string, SessionEntry>()
  for (const [written, entry] of entries) {
    const isOlder = written.includes(':dm:') || !written.startsWith('agent:')
    const key = isOlder ? canonicalSessionKey(written, { agentId }) : written
    const isTaken = key !== written && (entries.has(key) || ours.has(key))
    if (isTaken)
      problems.push(`${written} is an older form of ${key}, which is another session; both are kept`)
    ours.set(isTaken ? written : key, entry)
  }
  return ours
}

async function importEntry(one: {
  key: string
  entry: SessionEntry
  store: SessionStore
  imported: ImportedAgent
  options: OpenClawImportOptions
}): Promise<void> {
  const { key, store, imported, options } = one
  const folder = options.folder(imported.agentId)
  const now = options.clock.now()
  const entry = withoutWork(withoutFutureTimes(inOurFolder(one.entry, folder), now))
  const hasTrueTime = entry.updatedAt === one.entry.updatedAt
  const decide = (ours: SessionEntry | undefined): 'added' | 'changed' | 'kept' => {
    if (!ours) return 'added'
    if (!hasTrueTime || ours.updatedAt >= entry.updatedAt) return 'kept'
    return isDeepStrictEqual(ours, entry) ? 'kept' : 'changed'
  }
  try {
    const found = await store.get(key)
    if (found && !hasTrueTime)
      imported.problems.push(`${key} has a time in the future and replaces nothing here`)
    const other = hasTrueTime && otherConversation(found, entry, folder)
    if (other) imported.problems.push(`${key} ${other}`)
    if (options.dryRun) {
      imported.sessions[decide(found)]++
      return
    }
    let done: keyof Counts = 'kept'
    const take = (theirs: SessionEntry): Promise<unknown> =>
      store.update(key, (ours) => {
        done = decide(ours)
        return done === 'kept' ? undefined : { ...ours, ...theirs }
      })
    await take(entry).catch((error: unknown) => {
      if (asRockpoolError(error).code !== 'conflict' || entry.label === undefined) throw error
      const { label: _, ...unlabelled } = entry
      imported.problems.push(`${key} is imported without its label: ${asRockpoolError(error).message}`)
      return take(unlabelled)
    })
    imported.sessions[done]++
  } catch (error) {
    // One row that is refused must not stop the others.
    imported.problems.push(`${key}: ${asRockpoolError(error).message}`)
  }
}

/** How much the clocks of two machines may differ. */
const clockDifferenceMs = 24 * 60 * 60 * 1000

/** The newer row wins, so a row with a time in the future would always win: it gets the time of the import. */
function withoutFutureTimes(entry: SessionEntry, now: number): SessionEntry {
  const isFuture = ([name, value]: [string, unknown]): boolean =>
    name.endsWith('At') && typeof value === 'number' && value > now + clockDifferenceMs
  const future = Object.entries(entry).filter(isFuture)
  return { ...entry, ...Object.fromEntries(future.map(([name]) => [name, now])) }
}

/** A running sub-agent of ours is followed after a start, and announced with the rights of the turn that started it. A row from
 *  elsewhere must not start that. */
function withoutWork(row: SessionEntry): SessionEntry {
  const { subagentRun: _, ...entry } = row
  return entry
}

/** For two conversations with one key: one keeps the key, and the report names the place of the other. */
function otherConversation(
  ours: SessionEntry | undefined,
  theirs: SessionEntry,
  folder: string,
): string | undefined {
  if (!ours || ours.sessionId === theirs.sessionId) return undefined
  const [whose, other] = ours.updatedAt >= theirs.updatedAt ? ['ours', theirs] : ['theirs', ours]
  const file = join(folder, `${other.sessionId}.jsonl`)
  return `is another conversation here; the newer one, ${whose}, has the key. Beside it: rockpool sessions import ${shellWord(file)}`
}

/** The transcript has the same name here; the row names it only if the name does not follow from the id. */
function inOurFolder(entry: SessionEntry, folder: string): SessionEntry {
  if (typeof entry.sessionFile !== 'string') return entry
  const { sessionFile, ...rest } = entry
  const name = basename(sessionFile)
  return name === `${entry.sessionId}.jsonl` ? rest : { ...rest, sessionFile: join(folder, name) }
}
