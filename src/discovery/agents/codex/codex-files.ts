// Where Codex keeps its sessions: `<home>/sessions/<year>/<month>/<day>/rollout-….jsonl`, archived ones in `archived_sessions`.
// Names that people gave are in `session_index.jsonl`, and a process holds a file lock on each thread that it has open.
import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseRecord } from '../../../domain/json.ts'
import { namesIn, readForeign } from '../../../store/disk/foreign-file.ts'
import type { Listing } from '../../list-files.ts'
import { redacted } from '../../transcript-facts.ts'
import { attempt } from '../../../domain/errors.ts'
import { addAgentFile, agentHomes, filesBelow } from '../agent-files.ts'
import type { OtherReader } from '../contract.ts'
import { readLines, scanLines } from '../json-lines.ts'
import { CodexTranslator } from './codex-records.ts'

const rollout = /^rollout-.*\.jsonl(?:\.zst)?$/
const threadId = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(?:\.zst)?$/i
const longestIndexBytes = 4 << 20

export const codexReader: OtherReader = {
  kind: 'codex',
  program: 'Codex',
  homes: (environment) => agentHomes(environment, ['CODEX_HOME'], ['.codex']),
  list(home, listing) {
    for (const path of filesBelow(join(home, 'sessions'), rollout, 4, listing))
      addRollout(path, home, listing)
    for (const path of filesBelow(join(home, 'archived_sessions'), rollout, 0, listing)) {
      addRollout(path, home, listing)
      const id = threadId.exec(path)?.[1]
      if (id !== undefined) listing.side.set(id, { archived: true })
    }
    for (const [id, customTitle] of namesOf(home))
      listing.side.set(id, { archived: listing.side.get(id)?.archived ?? false, customTitle })
  },
  scan({ path }, before) {
    const scanned = scanLines(path, (state) => new CodexTranslator(state), before)
    const { facts } = scanned
    // The name decides: a damaged first line, or one copied from another session, does not rename a session.
    if (!facts.isSidechain) facts.sessionId = threadId.exec(path)?.[1] ?? facts.sessionId ?? basename(path)
    return scanned
  },
  read: ({ path }) => readLines(path, new CodexTranslator()),
  live: (homes) =>
    new Map(
      homes
        .flatMap(lockedThreads)
        .map(([sessionId, pid]) => [sessionId, { sessionId, pid, status: 'idle', statusAt: 0 }]),
    ),
  watched: (home, now) => [
    { path: join(home, 'thread-writer-locks'), oneFileEach: false },
    { path: join(home, 'sessions', ...dayFolders(now)), oneFileEach: true },
  ],
  resumeCommand: (sessionId) => ['codex', 'resume', sessionId],
}

/** Codex names the folders of a day in local time. */
function dayFolders(now: Date): string[] {
  const two = (number: number): string => String(number).padStart(2, '0')
  return [String(now.getFullYear()), two(now.getMonth() + 1), two(now.getDate())]
}

/** A file that is being compressed exists twice for a moment. */
function addRollout(path: string, home: string, listing: Listing): void {
  const isPacked = path.endsWith('.zst')
  if (isPacked && statSync(path.slice(0, -'.zst'.length), { throwIfNoEntry: false })) return
  addAgentFile({ path, agentKind: 'codex', configDir: home }, listing)
}

/** The last name of each thread. */
function namesOf(home: string): Map<string, string> {
  const names = new Map<string, string>()
  const path = join(home, 'session_index.jsonl')
  const bytes = attempt(() => readForeign(path, longestIndexBytes), undefined)
  for (const line of bytes?.toString('utf8').split('\n') ?? []) {
    const { id, thread_name: name } = parseRecord(line) ?? {}
    if (typeof id === 'string' && typeof name === 'string') names.set(id, redacted(name.slice(0, 400)))
  }
  return names
}

/** The lock files that a process holds now, each with its process. After a kill the file stays, but nothing locks it. */
function lockedThreads(home: string): Array<[string, number]> {
  const folder = join(home, 'thread-writer-locks')
  const names = namesIn(folder).filter((name) => name.endsWith('.lock'))
  if (names.length === 0) return []
  const holders = lockHolders()
  return names.flatMap((name): Array<[string, number]> => {
    const inode = statSync(join(folder, name), { throwIfNoEntry: false })?.ino
    const pid = inode === undefined ? undefined : holders.get(inode)
    return pid === undefined ? [] : [[basename(name, '.lock'), pid]]
  })
}

/** Processes by the inode that they have locked. Other systems than Linux do not report this. */
function lockHolders(): Map<number, number> {
  const table = attempt(() => readFileSync('/proc/locks', 'utf8'), '')
  const rows = table.matchAll(/^\d+: FLOCK\s+\w+\s+\w+\s+(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /gm)
  return new Map([...rows].map(([, pid, inode]) => [Number(inode), Number(pid)]))
}
