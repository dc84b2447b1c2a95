// The edits that sessions made to files of one repository: found by name in the index of discovery, wherever the repository was at
// that time, and each edit once, for the session that made it.
import { basename } from 'node:path'
import { EditTable, type Edit, type ReportedCommit } from '../discovery/edit-table.ts'
import { isInside } from '../discovery/repo-paths.ts'
import type { AgentKind } from '../domain/agent.ts'
import type { DiscoveredSession, Discovery, TranscriptEdits } from '../domain/discovered-session.ts'
import type { AddedLine } from './git-lines.ts'
import type { Repository } from './repository.ts'

export interface FoundEdit extends Edit {
  sessionId: string
  agentKind: AgentKind
  /** The transcript that has it: of the session, or of one of its sub-agents. */
  path: string
  /** The folder of the repository at that time no longer exists, so it is not certain that it was this one. */
  isGone: boolean
}

export interface FoundEdits {
  /** By the path in the repository; the oldest edit first. */
  byFile: Map<string, FoundEdit[]>
  /** Sessions to which git reported a new commit, by its first seven digits. */
  reported: Map<string, Array<ReportedCommit & { sessionId: string; path: string }>>
}

type Index = Pick<Discovery, 'edits' | 'known'>

/** `files`: paths in the repository. `shas`: commits that a session may have made. */
export async function findEdits(
  index: Index,
  repository: Repository,
  files: readonly string[],
  shas: readonly string[],
): Promise<FoundEdits> {
  const names = [...files.map((file) => basename(file)), ...shas.map((sha) => sha.slice(0, 7))]
  const wanted = new Map<string, string[]>()
  for (const file of files) wanted.set(basename(file), [...(wanted.get(basename(file)) ?? []), file])
  const found: FoundEdits = { byFile: new Map(), reported: new Map() }
  for (const transcript of (await index.edits()).find({ names: [...new Set(names)] })) {
    const table = new EditTable(transcript.edits)
    for (const edit of table.edits) {
      const candidates = wanted.get(basename(edit.file)) ?? []
      for (const file of candidates) await addIfSame(found, repository, transcript, edit, file)
    }
    const { sessionId, path } = transcript
    for (const commit of table.commits) push(found.reported, commit.sha, { ...commit, sessionId, path })
  }
  await removeCopies(index, found)
  for (const edits of found.byFile.values())
    edits.sort((a, b) => a.seconds - b.seconds || a.offset - b.offset)
  return found
}

/** Lines by which the edits of a renamed file are found: the longest are the most distinct. */
const mostNeedles = 16
const mostLines = 200

/** Edits of files with other names that added one of these lines: a file that was renamed before it was committed. Only in the
 *  working trees that exist. */
export async function findMoved(
  index: Index,
  { trees }: Repository,
  { file, hash }: AddedLine,
  added: readonly AddedLine[],
): Promise<FoundEdit[]> {
  const hashes = added.slice(0, mostLines).flatMap((one) => one.hash ?? [])
  const longest = added.toSorted((a, b) => b.text.length - a.text.length).slice(0, mostNeedles)
  const needles = [hash, ...longest.map((one) => one.hash)].map((one) =>
    Buffer.from(Uint32Array.of(one!).buffer),
  )
  const found: FoundEdits = { byFile: new Map(), reported: new Map() }
  for (const { edits, sessionId, path, agentKind } of (await index.edits()).find()) {
    const bytes = Buffer.from(edits.buffer, edits.byteOffset, edits.byteLength)
    // Searching the bytes first avoids unpacking nearly all tables.
    if (!needles.some((needle) => bytes.includes(needle))) continue
    for (const edit of new EditTable(edits).edits) {
      const isWanted = hashes.some((one) => edit.lines.includes(one))
      if (isWanted && trees.some((tree) => isInside(edit.file, tree)))
        push(found.byFile, file, { ...edit, sessionId, path, agentKind, isGone: false })
    }
  }
  await removeCopies(index, found)
  return (found.byFile.get(file) ?? []).sort((a, b) => a.seconds - b.seconds || a.offset - b.offset)
}

async function addIfSame(
  { byFile }: FoundEdits,
  repository: Repository,
  { sessionId, path, agentKind }: TranscriptEdits,
  edit: Edit,
  file: string,
): Promise<void> {
  if (!edit.file.endsWith(`/${file}`)) return
  const place = await repository.place(edit.file.slice(0, -file.length - 1))
  if (place !== 'other') push(byFile, file, { ...edit, sessionId, path, agentKind, isGone: place === 'gone' })
}

/** A fork or a resumed copy repeats the edits of the session that made them. */
async function removeCopies(index: Index, { byFile }: FoundEdits): Promise<void> {
  for (const [file, edits] of byFile) {
    const sessionsOf = new Map<number, Set<string>>()
    for (const { id, sessionId } of edits)
      sessionsOf.set(id, (sessionsOf.get(id) ?? new Set()).add(sessionId))
    const copied = [...sessionsOf.values()].filter(({ size }) => size > 1)
    if (copied.length === 0) continue
    const known = await index.known(new Set(copied.flatMap((ids) => [...ids])))
    const makers = new Map([...sessionsOf].map(([id, sessions]) => [id, makerOf(sessions, known)]))
    byFile.set(
      file,
      edits.filter(({ id, sessionId }) => makers.get(id) === sessionId),
    )
  }
}

/** The session from which none of the others was copied; the oldest if that is not known. */
function makerOf(sessionIds: ReadonlySet<string>, known: readonly DiscoveredSession[]): string {
  const sessions = known
    .filter(({ sessionId }) => sessionIds.has(sessionId))
    .sort((a, b) => (a.createdAt?.getTime() ?? 0) - (b.createdAt?.getTime() ?? 0))
  const original = sessions.find(({ forkedFrom }) => forkedFrom === undefined || !sessionIds.has(forkedFrom))
  return (original ?? sessions[0])?.sessionId ?? [...sessionIds][0]!
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
