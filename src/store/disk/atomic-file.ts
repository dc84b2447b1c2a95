// Replaces files as a whole: a reader sees the old or the new content, also after a crash or a power cut. Files have mode 0600
// in directories with mode 0700, independent of the umask. Symbolic links are never followed.
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  fdatasync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
} from 'node:fs'
import type { BigIntStats, Stats } from 'node:fs'
import { chmod, link, lstat, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { identifyProcess } from './process-identity.ts'

/** Changes whenever a file is replaced or written to, even within one tick of its mtime. */
export type FileIdentity = string

interface WriteOptions {
  /** Called when the new content is on disk and the old file still in place. If it throws, the old file stays. */
  beforeCommit?: () => void
  /** Keeps the version that is replaced under this name. */
  backup?: string
}

/** Resolves when the new content survives a power cut. On any error the old file is as it was. */
export async function writeFileAtomically(
  path: string,
  content: string | AsyncIterable<string | Buffer>,
  options: WriteOptions = {},
): Promise<FileIdentity> {
  const temporary = temporaryName(path)
  let file: FileHandle | undefined
  try {
    file = await open(temporary, 'wx', 0o600)
    await file.chmod(0o600)
    await file.writeFile(content)
    await file.sync()
    options.beforeCommit?.()
    if (options.backup) await keepBackup(path, options.backup)
    await rename(temporary, path)
    await syncDirectory(dirname(path))
    return identityOf(await file.stat({ bigint: true }))
  } catch (error) {
    // The temporary file exists after a failed rename, and does not after a failed directory sync.
    await unlink(temporary).catch(unlessMissing)
    throw asFileError(error, path)
  } finally {
    await file?.close()
  }
}

/** Creates a file with its whole content in one step. Resolves to false if the path exists already. */
export async function createFileAtomically(
  path: string,
  content: string | AsyncIterable<string | Buffer>,
): Promise<boolean> {
  const temporary = temporaryName(path)
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.chmod(0o600)
    await file.writeFile(content)
    await file.sync()
    await link(temporary, path)
    await syncDirectory(dirname(path))
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw asFileError(error, path)
  } finally {
    await unlink(temporary).catch(unlessMissing)
  }
}

/** The text of a regular file and its identity; undefined if there is no such file. */
export function readFileSafely(path: string): { text: string; identity: FileIdentity } | undefined {
  let fd: number
  try {
    // Non-blocking, because the path may be a pipe.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw asFileError(error, path)
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isFile()) throw notAFile(path)
    refuseOtherNames(path, stats)
    return { text: readFileSync(fd, 'utf8'), identity: identityOf(stats) }
  } catch (error) {
    throw asFileError(error, path)
  } finally {
    closeSync(fd)
  }
}

/** The identity of the file at this path, without reading the file; undefined if it is missing. */
export function fileIdentity(path: string): FileIdentity | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && identityOf(stats)
}

/** Changes when the file is replaced or written to; unlike `fileIdentity` not when only its mode changes. */
export function fileVersion(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stat ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : ''
}

/** Creates a directory that only this user can enter, and syncs its parent. */
export async function ensureDirectory(path: string): Promise<void> {
  const first = makeFolders(path)
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await chmod(made, 0o700)
    await syncDirectory(dirname(made))
  }
}

/** Creates a folder and its parents; returns the first that was missing. Node's recursive mkdir loops for ever where the system
 *  reports "no such file" although the parent exists, as /proc does. */
export function makeFolders(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined
  const first = dirname(path) === path ? undefined : makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process created it meanwhile.
    if (errorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw asFileError(error, path)
  }
  return first ?? path
}

/** In the thread pool, with one promise; `FileHandle.datasync` needs seven. */
export function syncData(fd: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error))),
  )
}

export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await directory.sync()
}

/** Removes temporary files of processes that were killed while they wrote. */
export async function removeAbandonedFiles(directory: string): Promise<string[]> {
  const names = (await readdir(directory).catch(unlessMissing)) ?? []
  const abandoned = names.filter(isAbandoned)
  for (const name of abandoned) await unlink(join(directory, name)).catch(unlessMissing)
  return abandoned
}

/** The temporary file of a process that has ended, or SQLite's files beside it. */
export function isAbandoned(name: string): boolean {
  const pid = /\.(\d+)\.[0-9a-f-]{36}\.tmp(-wal|-shm)?$/.exec(name)?.[1]
  return pid !== undefined && !identifyProcess(Number(pid))
}

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.${randomUUID()}.tmp`
}

/** Links the current version to `backup`; an existing backup is replaced in one step. */
async function keepBackup(path: string, backup: string): Promise<void> {
  const stats = await lstat(path).catch(unlessMissing)
  if (!stats) return
  if (!stats.isFile()) throw notAFile(path)
  refuseOtherNames(path, stats)
  const temporary = temporaryName(backup)
  try {
    await link(path, temporary)
    await chmod(temporary, 0o600)
    await rename(temporary, backup)
  } finally {
    // Renaming a link onto another link of the same file is a no-op that leaves both.
    await unlink(temporary).catch(unlessMissing)
  }
}

/** Refuses a file with a second hard link outside of its folder: another program may change it, and a change of its mode would
 *  affect that program. Inside the folder, the backup is a second link for a moment. */
function refuseOtherNames(path: string, { ino, nlink }: BigIntStats | Stats): void {
  if (nlink <= 1) return
  const folder = dirname(path)
  const own = readdirSync(folder).filter(
    (name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.ino === Number(ino),
  )
  // The second link may be gone by now.
  const linksNow = lstatSync(path, { throwIfNoEntry: false })?.nlink ?? 1
  if (linksNow <= Math.max(1, own.length)) return
  throw new RockpoolError('refused', `${path} is a hard link: the same file has a name elsewhere.`, {
    hint: 'Replace it by a copy of its own.',
  })
}

function identityOf(stats: BigIntStats): FileIdentity {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':')
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

export function unlessMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error
}

/** The result of `read`; undefined if the file or folder that it reads does not exist. */
export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    return unlessMissing(error)
  }
}

export async function digestOf(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

function notAFile(path: string): RockpoolError {
  return new RockpoolError('refused', `${path} is not a regular file.`, {
    hint: 'Rockpool neither reads nor replaces links, pipes and devices there. Put a regular file in its place.',
  })
}

/** A failed file operation as a `RockpoolError`; its message contains the errno. */
export function asFileError(error: unknown, path: string): unknown {
  const code = errorCode(error)
  if (error instanceof RockpoolError || code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error
  if (code === 'ELOOP') {
    return new RockpoolError('refused', `${path} is a symbolic link.`, {
      hint: 'Rockpool does not follow links there. Put the file itself in its place.',
      cause: error,
    })
  }
  return new RockpoolError('disk-failed', `${path}: ${(error as Error).message}.`, {
    hint: 'Check free space, quota and permissions. What was there before is unchanged.',
    cause: error,
  })
}
