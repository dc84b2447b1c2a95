// Backs up the whole state into a folder, and restores it. Databases are copied as of one moment while other processes write to
// them; transcripts end with a complete line. Indexes and logs are left out.
import { existsSync } from 'node:fs'
import { chmod, copyFile, lstat, open, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError, errorText } from '../domain/errors.ts'
import { isRecord } from '../domain/json.ts'
import { asFileError, digestOf, ensureDirectory, errorCode, syncDirectory } from './disk/atomic-file.ts'
import { Database } from './sqlite/database.ts'
import { linesBackward } from './transcripts/transcript-lines.ts'

interface Manifest {
  rockpool: 1
  createdAt: string
  files: Array<{ path: string; bytes: number; sha256: string }>
}

interface BackupResult {
  folder: string
  files: number
  bytes: number
  /** For people: what was left out, or was not copied in the usual way. */
  warnings: string[]
}

const manifestName = 'backup.json'
const leftOut = new Set(['index', 'logs'])
const temporary = /(-wal|-shm|\.lock|\.lock\.waiting|\.lock\.reclaim|\.tmp|\.sock)$/

/** The folder of a backup with the tables of the shared database; `db restore` restores them. */
export const sharedFolder = 'postgres'

/** Resolves when the backup is complete and on disk; an interrupted one has no `backup.json`. `shared` writes the tables of the
 *  shared database into a folder, and resolves to the names of the files. */
export async function backUpState(
  root: string,
  destination: string,
  clock: Clock,
  shared?: (folder: string) => Promise<string[]>,
): Promise<BackupResult> {
  const createdAt = new Date(clock.now()).toISOString()
  const folder = join(destination, `rockpool-backup-${createdAt.replace(/[:.]/g, '-')}`)
  if (isInside(folder, root))
    throw new RockpoolError('refused', `${folder} is inside ${root}, which is to be backed up.`, {
      hint: 'Choose a folder outside of it: rockpool backup ~/backups',
    })
  if (existsSync(folder)) throw new RockpoolError('conflict', `${folder} exists already.`)
  const warnings: string[] = []
  const files: Manifest['files'] = []
  try {
    await ensureDirectory(folder)
    for (const name of (await shared?.(join(folder, sharedFolder))) ?? []) {
      const path = join(sharedFolder, name)
      await sync(join(folder, path))
      files.push({ path, ...(await digestOf(join(folder, path))) })
    }
    // Databases first: a transcript may then have entries that no row knows yet, never the other way round.
    const paths = await filesIn(root, warnings)
    for (const path of paths.sort((a, b) => rank(a) - rank(b))) {
      const copy = join(folder, path)
      await ensureDirectory(dirname(copy))
      if (!(await copyOne(join(root, path), copy, warnings))) continue
      await chmod(copy, 0o600)
      files.push({ path, ...(await digestOf(copy)) })
    }
    await writeManifest(folder, { rockpool: 1, createdAt, files })
  } catch (error) {
    throw asFileError(error, folder)
  }
  return { folder, files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0), warnings }
}

/** Replaces the state by a backup. The current state is moved aside, never removed. */
export async function restoreState(
  backup: string,
  root: string,
  clock: Clock,
): Promise<{ files: number; movedTo?: string; next?: string }> {
  const all = await verifiedFiles(backup)
  const own = all.filter((path) => !isShared(path))
  if (own.length === 0)
    throw new RockpoolError('refused', `${backup} has no state of a machine. Nothing was restored.`, {
      hint: 'What machines share is restored with `rockpool db restore`.',
    })
  const stamp = new Date(clock.now()).toISOString().replace(/[:.]/g, '-')
  const fresh = `${root}.restoring-${stamp}`
  try {
    for (const path of own) {
      const copy = join(fresh, path)
      await ensureDirectory(dirname(copy))
      await copyFile(join(backup, path), copy)
      await chmod(copy, 0o600)
      await sync(copy)
    }
    const movedTo = existsSync(root) ? `${root}.before-restore-${stamp}` : undefined
    if (movedTo) await rename(root, movedTo)
    await rename(fresh, root)
    await syncDirectory(dirname(root))
    const isRest = own.length < all.length
    const next = isRest ? `rockpool db restore ${backup}, for what the machines share` : undefined
    return { files: own.length, movedTo, next }
  } catch (error) {
    throw asFileError(error, root)
  }
}

/** The files of a backup; throws unless the backup is complete and unchanged. */
export async function verifiedFiles(backup: string): Promise<string[]> {
  const manifest = await readManifest(backup)
  await verify(backup, manifest)
  return manifest.files.map(({ path }) => path)
}

export function isShared(path: string): boolean {
  return path.startsWith(`${sharedFolder}${sep}`)
}

async function copyOne(from: string, to: string, warnings: string[]): Promise<boolean> {
  try {
    if (from.endsWith('.sqlite')) await copyDatabase(from, to, warnings)
    else await copyFile(from, to)
    if (from.endsWith('.jsonl')) await cutTornLine(to)
    await sync(to)
    return true
  } catch (error) {
    // Archived or removed since it was listed.
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

/** Copies a database as of one moment while other processes write to it. A damaged database is copied as a file. */
async function copyDatabase(from: string, to: string, warnings: string[]): Promise<void> {
  try {
    await using database = Database.open(from, [], { readOnly: true })
    database.queries.run('VACUUM INTO ?', to)
  } catch (error) {
    warnings.push(`${from} was copied as it is: ${errorText(error)}`)
    await rm(to, { force: true })
    await copyFile(from, to)
  }
}

/** A transcript that grew during the copy may end with an incomplete line. */
async function cutTornLine(copy: string): Promise<void> {
  await using handle = await open(copy, 'r+')
  for await (const batch of linesBackward(handle, (await handle.stat()).size)) {
    const last = batch[0]!
    if (!last.ended) await handle.truncate(last.offset)
    return
  }
}

async function filesIn(root: string, warnings: string[], below = ''): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = join(below, entry.name)
    if (temporary.test(entry.name) || (below === '' && leftOut.has(entry.name))) continue
    if (entry.isDirectory()) found.push(...(await filesIn(root, warnings, path)))
    else if (entry.isFile()) found.push(path)
    else warnings.push(`${join(root, path)} was left out: it is not a plain file`)
  }
  return found
}

function rank(path: string): number {
  return path.endsWith('.sqlite') ? 0 : 1
}

async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, manifestName)
  await writeFile(path, `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600, flag: 'wx', flush: true })
  await syncDirectory(folder)
}

async function readManifest(backup: string): Promise<Manifest> {
  let manifest: Partial<Manifest>
  try {
    manifest = JSON.parse(await readFile(join(backup, manifestName), 'utf8'))
  } catch (error) {
    const message = `${backup} is not a complete backup: it has no readable ${manifestName}.`
    throw new RockpoolError('not-found', message, {
      hint: 'Give the folder that `rockpool backup` named.',
      cause: error,
    })
  }
  const { rockpool, files } = manifest
  const isKnown = rockpool === 1 && Array.isArray(files)
  if (isKnown && files.every((file) => isRecord(file) && typeof file.path === 'string'))
    return manifest as Manifest
  throw new RockpoolError('schema-newer', `${backup} was made by a newer version of Rockpool.`)
}

async function verify(backup: string, manifest: Manifest): Promise<void> {
  for (const { path, bytes, sha256 } of manifest.files) {
    const file = join(backup, path)
    // A missing file is a changed one.
    const isFile = (await lstat(file).catch(() => undefined))?.isFile() ?? false
    const found = isFile && isPathWithin(path) ? await digestOf(file) : undefined
    if (found?.bytes === bytes && found.sha256 === sha256) continue
    throw new RockpoolError('damaged', `${file} is not what was backed up. Nothing was restored.`, {
      hint: 'Use another backup.',
    })
  }
}

/** Does the path stay inside any folder that it is joined to (the backup, the state directory)? */
function isPathWithin(path: string): boolean {
  if (isAbsolute(path) || path !== normalize(path)) return false
  return path !== '.' && path.split(sep)[0] !== '..'
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r+')
  await handle.sync()
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !way.startsWith(sep)
}
