// Reads files that others wrote: Claude Code, git, OpenClaw, an agent in its workspace, a person. The path may be a pipe or a
// device, and opening a pipe would block. So files are opened without blocking, only regular files are accepted, and callers
// limit how much is read.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { open, realpath, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { errorCode, ifThere } from './atomic-file.ts'

const reading = constants.O_RDONLY | constants.O_NONBLOCK

interface ForeignFileOptions {
  /** Refuse a symbolic link in place of the file. */
  noLink?: boolean
}

/** `using _ = closeAtEnd(fd)` closes the file at the end of the block. */
export function closeAtEnd(fd: number): Disposable {
  return { [Symbol.dispose]: () => closeSync(fd) }
}

/** A file descriptor for reading, which the caller closes. Throws the system's error, or `refused` if it is not a regular file. */
export function openForeign(path: string, { noLink = false }: ForeignFileOptions = {}): number {
  const fd = openSync(path, noLink ? reading | constants.O_NOFOLLOW : reading)
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw notRegular(path)
}

/** Like `openForeign`, but resolves to a file handle. */
export async function openForeignHandle(
  path: string,
  { noLink = false }: ForeignFileOptions = {},
): Promise<FileHandle> {
  const handle = await open(path, noLink ? reading | constants.O_NOFOLLOW : reading)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw notRegular(path)
}

/** The beginning of a file, at most `maxBytes` of it. */
export function readForeign(path: string, maxBytes: number, options?: ForeignFileOptions): Buffer {
  const fd = openForeign(path, options)
  using _ = closeAtEnd(fd)
  const bytes = Buffer.allocUnsafe(Math.min(fstatSync(fd).size, maxBytes))
  let filled = 0
  for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
    read = readSync(fd, bytes, filled, bytes.length - filled, filled)
  return bytes.subarray(0, filled)
}

/** The end of a file, at most `maxBytes` of it. */
export async function readForeignEnd(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await openForeignHandle(path)
  const { size } = await file.stat()
  const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes))
  const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length)
  return bytes.subarray(0, bytesRead)
}

function notRegular(path: string): RockpoolError {
  return new RockpoolError('refused', `${path} is not a regular file.`)
}

/** Throws `refused` if something else is in the place of a database, and `disk-failed` if it is in the place of a file beside it:
 *  SQLite opens them, too, and would wait for the writer of a named pipe. */
export function refuseOddDatabase(path: string): void {
  const isOdd = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === false
  if (isOdd(path)) throw notRegular(path)
  const odd = ['-journal', '-wal', '-shm'].map((ending) => path + ending).find(isOdd)
  // The database itself may be sound.
  if (odd !== undefined)
    throw new RockpoolError('disk-failed', `${odd} is not a regular file.`, { hint: 'Move it away.' })
}

export function isFile(path: string): boolean {
  // Fails if it is not there, or the path is no name that a file can have.
  return attempt(() => statSync(path).isFile(), false)
}

export function fileSize(path: string): number {
  return statSync(path).size
}

/** In milliseconds since 1970; 0 if there is no such file. */
export function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RockpoolError('not-found', `${path} cannot be read.`, { cause: error })
  }
}

const mostChars = 20_000

/** A text file at the top of an agent's workspace; undefined if it is missing, or is a link that leads out of the workspace. */
export async function readWorkspaceFile(workspace: string, name: string): Promise<string | undefined> {
  try {
    const path = await realpath(join(workspace, name))
    if (!path.startsWith((await realpath(workspace)) + sep)) return undefined
    return readForeign(path, mostChars * 4)
      .toString('utf8')
      .slice(0, mostChars)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw new RockpoolError('disk-failed', `${join(workspace, name)} cannot be read.`, { cause: error })
  }
}

/** The paths of the symbolic links in a folder; none if it is missing. Throws if it cannot be read. */
export function linksIn(folder: string): string[] {
  const entries = ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? []
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name))
}

/** The names in a folder; none if it is missing or cannot be read. */
export function namesIn(folder: string): string[] {
  // Often called for folders that do not exist, and an exception is slow.
  if (!existsSync(folder)) return []
  // Empty for a file, and for a folder without read permission.
  return attempt(() => readdirSync(folder), [])
}
