// Files that are replaced as a whole: a reader sees the old one or the new one, also after a crash or a power cut.
// Modes are 0600 in directories 0700 whatever the umask, and a symbolic link is never followed to its target.
import { randomUUID } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readdirSync } from 'node:fs'
import type { BigIntStats, Stats } from 'node:fs'
import { chmod, link, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { identifyProcess } from './process-identity.ts'

/** Differs whenever a file was replaced or written to, also within one tick of its mtime. */
export type FileIdentity = string

export interface WriteOptions {
  /** Called when the new content is on disk and the old one still in place; throwing leaves the old one. */
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
    // After a failed rename it is still there; after a failed directory sync it is not.
    await unlink(temporary).catch(unlessMissing)
    throw asFileError(error, path)
  } finally {
    await file?.close()
  }
}

/** The text of a regular file and its identity, or nothing when there is no such file. */
export function readFileSafely(path: string): { text: string; identity: FileIdentity } | undefined {
  let fd: number
  try {
    // Not blocking: somebody may have put a pipe there.
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

/** What is at the path now, without reading it; nothing when it is missing. */
export function fileIdentity(path: string): FileIdentity | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && identityOf(stats)
}

/** Makes a directory that only we can enter, and makes its place in its parent durable. */
export async function ensureDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw asFileError(error, path)
  })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await chmod(made, 0o700)
    await syncDirectory(dirname(made))
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Removes what processes left that were killed while they wrote. */
export async function removeAbandonedFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    unlessMissing(error)
    return []
  })
  const abandoned = names.filter((name) => {
    const pid = /\.(\d+)\.[0-9a-f-]{36}\.tmp$/.exec(name)?.[1]
    return pid !== undefined && !identifyProcess(Number(pid))
  })
  for (const name of abandoned) await unlink(join(directory, name)).catch(unlessMissing)
  return abandoned
}

export function temporaryName(path: string): string {
  return `${path}.${process.pid}.${randomUUID()}.tmp`
}

/** Links the current version to `backup`, which is never missing in between. */
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
    // Renaming a link onto another link of the same file does nothing and leaves both.
    await unlink(temporary).catch(unlessMissing)
  }
}

/**
 * A file that has another name outside of its folder belongs to somebody else as well: its text may change unseen, and a
 * change of its mode would change theirs. Inside the folder, the backup has the same file for a moment.
 */
function refuseOtherNames(path: string, { ino, nlink }: BigIntStats | Stats): void {
  if (nlink <= 1) return
  const folder = dirname(path)
  const own = readdirSync(folder).filter(
    (name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.ino === Number(ino),
  )
  // The other name may be gone by now; then the file is ours alone.
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

export function unlessMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error
}

function notAFile(path: string): RockpoolError {
  return new RockpoolError('refused', `${path} is not a regular file.`, {
    hint: 'Rockpool neither reads nor replaces links, pipes and devices there. Put a regular file in its place.',
  })
}

/** A failed call on a file in our words, with the errno in them. */
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
