// Checks the files of a state directory for problems: locks of dead processes, leftovers of killed ones, modes that let other
// users read. Reports problems and possible fixes; changes nothing by itself.
import { chmodSync, lstatSync, readFileSync, readdirSync, rmSync, type Dirent, type Stats } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { asRockpoolError, type ErrorCode } from '../domain/errors.ts'
import { ifThere, isAbandoned, removeAbandonedFiles } from './disk/atomic-file.ts'
import { damagedRecords } from './sqlite/damaged-records.ts'
import { Database, removeDatabase } from './sqlite/database.ts'
import { rebuildStateDatabase, type Salvaged } from './sqlite/salvage.ts'
import { refuseIfOpen, setDatabaseAside } from './sqlite/set-aside.ts'
import { FileLock, ageOf } from './disk/file-lock.ts'
import { isDead } from './disk/lock-payload.ts'
import { parseArchiveName, parseTranscriptName } from './transcripts/transcript-paths.ts'

export interface FileFault {
  path: string
  problem: string
  /** The report of the database itself. */
  details?: string
  remedy: string
  fix?: () => Promise<string | void>
}

const legacyStaleMs = 30_000
const hourMs = 3_600_000

export function findDeadLocks(folder: string, clock: Clock): FileFault[] {
  return namesIn(folder, (name) => name.endsWith('.lock')).flatMap((name) => {
    const path = join(folder, name)
    const content = ifThere(() => readFileSync(path))
    if (!content || !isDead(content, ageOf(path, clock), legacyStaleMs, clock.now())) return []
    const problem = 'is the lock of a dead process'
    // Taking and releasing the lock removes the lock of a dead process, and never that of a live one.
    const lock = new FileLock(path.slice(0, -'.lock'.length), { timeoutMs: 1_000 })
    return [{ path, problem, remedy: 'remove it', fix: () => lock.hold('doctor', async () => {}) }]
  })
}

/** Files of processes that were killed while they wrote or waited. */
export function findLeftovers(folder: string, clock: Clock): FileFault[] {
  const abandoned = namesIn(folder, isAbandoned)
  const waiting = namesIn(folder, (name) => name.endsWith('.lock.waiting')).filter(
    (name) => ageOf(join(folder, name), clock) > hourMs,
  )
  return [
    ...abandoned.map((name) => ({
      path: join(folder, name),
      problem: 'was left by a process that was killed while it wrote',
      remedy: 'remove it',
      fix: async () => void (await removeAbandonedFiles(folder)),
    })),
    ...waiting.map((name) => ({
      path: join(folder, name),
      problem: 'was left by a process that was killed while it waited',
      remedy: 'remove it',
      fix: async () => rmSync(join(folder, name), { force: true }),
    })),
  ]
}

/** Unreadable files that were set aside. A person should check them. */
export function findSetAside(folder: string): FileFault[] {
  return namesIn(folder, (name) => /\.corrupt-[^/]*Z$/.test(name)).map((name) => ({
    path: join(folder, name),
    problem: 'could not be read and was set aside; it may hold data that exists nowhere else',
    remedy:
      'no automatic fix: check that nothing is missing (`rockpool sessions`, `rockpool cc list`), then move it away',
  }))
}

/** Folders whose name says that they are a transcript or an archive of one; no command reads or lists them. */
export function findTranscriptFolders(folder: string): FileFault[] {
  const isTranscript = (name: string): boolean =>
    parseTranscriptName(name) !== undefined || parseArchiveName(name) !== undefined
  return namesIn(folder, isTranscript)
    .map((name) => join(folder, name))
    .filter(isFolder)
    .map((path) => ({
      path,
      problem: 'is a folder in place of a transcript',
      remedy: 'no automatic fix: look into it, then move it away',
    }))
}

/** Folders and files that other users can read, down to the sessions of each agent. */
export function findOpenModes(root: string): FileFault[] {
  const faults: FileFault[] = []
  const visit = (path: string, depth: number): void => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats || stats.isSymbolicLink()) return
    const fault = modeFault(path, stats)
    if (fault) faults.push(fault)
    // Workspaces and media may have very many files; the mode of their folder is enough.
    if (!stats.isDirectory() || depth > 3 || /\/(workspace|media)$/.test(path)) return
    for (const entry of entriesIn(path)) visit(join(path, entry.name), depth + 1)
  }
  visit(root, 0)
  return faults
}

/** A problem of the database, if any. `isDamaged`: the file itself is damaged. */
export async function findDatabaseFault(
  path: string,
  inspectRows: (database: Database) => string[] = () => [],
  { isOnlyCopy = false } = {},
): Promise<(FileFault & { isDamaged: boolean }) | undefined> {
  if (!lstatSync(path, { throwIfNoEntry: false })) return undefined
  try {
    await using database = Database.open(path, [], { readOnly: true, isOnlyCopy, busyMs: 2_000 })
    const faults = [...database.faults(5), ...inspectRows(database)]
    return faults.length === 0 ? undefined : databaseFault(path, faults.join('; '))
  } catch (error) {
    const { code, message, hint } = asRockpoolError(error)
    if (!notDamage.includes(code)) return databaseFault(path, message)
    const problem = `cannot be looked at: ${message}`
    return { path, problem, remedy: `no automatic fix: ${hint}`, isDamaged: false }
  }
}

/** Texts in columns with JSON that are not JSON: SQLite's own check does not look inside texts. */
function invalidJson(database: Database): string[] {
  const found: string[] = []
  for (const { table, column } of database.read((q) =>
    q.all<{ table: string; column: string }>(jsonColumns),
  )) {
    const sql = `SELECT count(*) AS n FROM "${table}" WHERE "${column}" IS NOT NULL AND NOT json_valid("${column}")`
    const { n } = database.read((q) => q.get<{ n: number }>(sql))!
    if (n > 0) found.push(`${n} damaged ${n === 1 ? 'text' : 'texts'} in ${table}`)
  }
  return found
}

const jsonColumns = `SELECT m.name AS "table", c.name AS "column" FROM sqlite_schema m, pragma_table_info(m.name) c
  WHERE m.type = 'table' AND c.name IN ('record', 'message_ids', 'about', 'chunks', 'facts')`

export async function findStateFault(path: string): Promise<FileFault | undefined> {
  const inspect = (database: Database): string[] => [...invalidJson(database), ...damagedRecords(database)]
  const fault = await findDatabaseFault(path, inspect, { isOnlyCopy: true })
  if (!fault?.isDamaged) return fault
  return {
    ...fault,
    remedy: 'set it aside and rebuild it from its readable rows, without permission rules and paired people',
    fix: async () => salvageReport(await rebuildStateDatabase(path)),
  }
}

/** What the tables of the state database hold, in words. Tables without a word hold nothing that a person would miss. */
const contents: Readonly<Record<string, string>> = {
  coding_session: 'coding sessions',
  coding_output: 'what coding sessions said',
  schedule: 'schedules',
  schedule_run: 'runs of schedules',
  mail: 'mail',
  spend: 'costs of coding sessions and chats',
  inbox: 'messages that were not answered yet',
  outbox: 'replies that were not delivered yet',
  approval: 'permission requests',
  decision: 'decisions about which session takes a task',
}

function salvageReport({ rows, dropped, incomplete, aside }: Salvaged): string {
  const words = incomplete.flatMap((table) => contents[table] ?? []).join(', ')
  const lost = rows === 0 ? `Lost: ${words}.` : `Lost, as a whole or in part: ${words}.`
  return [
    'The state database was rebuilt.',
    rows === 0 ? 'Nothing of the old one could be read.' : `${rows} rows of the old one could be read.`,
    ...(words === '' ? [] : [lost]),
    ...(dropped > 0 ? [`Damaged rows that were left out: ${dropped}.`] : []),
    `The damaged file is ${aside}. For safety permission rules and paired people were left out: people have to be paired again, and the first who is approved is the owner.`,
  ].join(' ')
}

/** An index that can be built again from other files. */
export async function findIndexFault(path: string): Promise<FileFault | undefined> {
  const fault = await findDatabaseFault(path, invalidJson)
  if (!fault?.isDamaged) return fault
  const remove = async (): Promise<void> => {
    refuseIfOpen(path)
    // Rockpool does not remove a file that a person has put there.
    if (isFolder(path)) await setDatabaseAside(path)
    else removeDatabase(path)
  }
  return { ...fault, remedy: 'remove it; it is built again from the files that it describes', fix: remove }
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** With these errors an intact database cannot be read either, so it must not be moved away. */
const notDamage: readonly ErrorCode[] = ['disk-failed', 'locked', 'schema-newer']

function databaseFault(path: string, why: string): FileFault & { isDamaged: boolean } {
  const remedy = 'no automatic fix: restore a backup (`rockpool restore-backup`), or move the file away'
  return { path, problem: 'is damaged and cannot be relied on', details: why, remedy, isDamaged: true }
}

function modeFault(path: string, stats: Stats): FileFault | undefined {
  const uid = process.getuid?.()
  if (uid !== undefined && stats.uid !== uid) {
    const remedy = `no automatic fix: give it to user ${uid}`
    return { path, problem: `belongs to user ${stats.uid}`, remedy }
  }
  if ((stats.mode & 0o077) === 0 || !(stats.isFile() || stats.isDirectory())) return undefined
  const wanted = stats.isDirectory() ? 0o700 : 0o600
  const mode = (stats.mode & 0o777).toString(8)
  const problem = `can be read or changed by others (mode ${mode})`
  const remedy = `set mode ${wanted.toString(8)}`
  return { path, problem, remedy, fix: async () => chmodSync(path, wanted) }
}

function namesIn(folder: string, isWanted: (name: string) => boolean): string[] {
  return entriesIn(folder)
    .map((entry) => entry.name)
    .filter(isWanted)
}

function entriesIn(folder: string): Dirent[] {
  return ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? []
}
