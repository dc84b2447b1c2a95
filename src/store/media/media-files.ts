// Files of messages and replies. A received file gets a name of our own, and is copied into the workspace for the agent. An
// outgoing file must really be in the media folder, with links resolved.
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { mkdir, open, readdir, realpath, rename, rm, stat, chmod, copyFile, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { MediaFiles, OutgoingFile } from '../../domain/channel.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Media } from '../../domain/message.ts'
import { plainLine } from '../../domain/text.ts'
import { unlessMissing } from '../disk/atomic-file.ts'
import { localMediaPath } from './media-names.ts'
import { kindOf, sniffType, typeOfName, typesByExtension } from './media-types.ts'
import type { WaitingInput } from '../work-store.ts'

const defaultLimitBytes = 25 * 1_048_576

export function openMediaFiles(root: string, { limitBytes: limit = defaultLimitBytes } = {}): MediaFiles {
  return {
    keep: (bytes, about) => keepFile(join(root, 'inbound'), bytes, about, limit),
    outgoing: (path) => outgoingFile(root, path, limit),
  }
}

/** A session by its agent and its key. */
export interface SessionName {
  agentId: string
  key: string
}

/** The folder of a session's files; its replies may send only files from here. */
export function sessionMediaFolder(root: string, agentId: string, sessionKey: string): string {
  return join(root, sessionMediaName(agentId, sessionKey))
}

export function sessionMediaName(agentId: string, sessionKey: string): string {
  const name = createHash('sha256').update(`${agentId}\0${sessionKey}`).digest('hex').slice(0, 32)
  return `sessions/${name}`
}

/** Moves the files of a message into the folder of its session, so that a purge finds them. */
export async function moveToSession(
  root: string,
  session: SessionName,
  media: readonly Media[],
): Promise<Media[]> {
  const folder = receivedFolder(root, session)
  if (media.length > 0) await mkdir(folder, { recursive: true, mode: 0o700 })
  return Promise.all(
    media.map(async (file) => {
      const path = join(folder, basename(file.path))
      await rename(file.path, path)
      return { ...file, path }
    }),
  )
}

export async function removeMedia(media: readonly Media[]): Promise<void> {
  for (const { path } of media) await rm(path, { force: true })
}

/** Removes all files of a session, the copies in the agent's workspace, and the files that its replies sent. */
export async function removeSessionMedia(
  root: string,
  session: SessionName & { workspace: string },
  sent: readonly string[],
): Promise<void> {
  const received = receivedFolder(root, session)
  // Another error is thrown: a purge must report files that it cannot remove.
  const names = (await readdir(received).catch(unlessMissing)) ?? []
  const copies = names.flatMap((name) => attachmentCopies(session.workspace, join(received, name)))
  const outgoing = sent
    .map((path) => localMediaPath(root, path))
    .filter((path) => dirname(dirname(path)) === join(root, 'outgoing'))
    .map(dirname)
  const own = sessionMediaFolder(root, session.agentId, session.key)
  const attachments = attachmentFolder(session.workspace, session)
  for (const path of [...copies, attachments, ...outgoing, own])
    await rm(path, { recursive: true, force: true })
}

/** The folder with the agent's copies of files from a session's messages; for turns of guests and groups it is the working
 *  directory. */
export function attachmentFolder(workspace: string, session: SessionName): string {
  return join(workspace, 'attachments', basename(sessionMediaName(session.agentId, session.key)))
}

/** Possible copies of a received file: in its session's folder, or (written by an earlier version) beside the others. */
export function attachmentCopies(workspace: string, mediaName: string): string[] {
  const session = basename(dirname(dirname(mediaName)))
  return [[session], []].map((folder) => join(workspace, 'attachments', ...folder, basename(mediaName)))
}

function receivedFolder(root: string, { agentId, key }: SessionName): string {
  return join(sessionMediaFolder(root, agentId, key), 'received')
}

/** The file at `path` with links resolved, if it is inside `folder`; throws `refused` otherwise. */
export async function outgoingFile(
  folder: string,
  path: string,
  limitBytes = defaultLimitBytes,
): Promise<OutgoingFile> {
  const real = await realPathInside(folder, path)
  const about = await stat(real)
  if (!about.isFile()) throw refusedFile(path, 'it is not a file')
  if (about.size > limitBytes) throw refusedFile(path, `it is larger than ${limitBytes / 1_048_576} MB`)
  const mimeType = typeOfName(real)
  return { path: real, name: basename(real), mimeType, kind: kindOf(mimeType), bytes: about.size }
}

async function realPathInside(folder: string, path: string): Promise<string> {
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(path)])
    const inside = relative(root, real)
    if (inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && join(root, inside) === real)
      return real
  } catch (error) {
    throw refusedFile(path, 'it is not there', error)
  }
  throw refusedFile(path, 'it is outside of the media folder')
}

async function keepFile(
  folder: string,
  bytes: AsyncIterable<Uint8Array>,
  about: { name?: string; mimeType?: string },
  limit: number,
): Promise<Media> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const id = randomUUID()
  const temporary = join(folder, `${id}.part`)
  const file = await open(temporary, 'wx', 0o600)
  try {
    const { size, head } = await writeAll(file, bytes, limit)
    const mimeType = sniffType(head, about)
    const extension = Object.entries(typesByExtension).find(([, type]) => type === mimeType)?.[0] ?? 'bin'
    const path = join(folder, `${id}.${extension}`)
    await rename(temporary, path)
    const name = about.name === undefined ? undefined : plainLine(basename(about.name), 120)
    return { path, mimeType, bytes: size, kind: kindOf(mimeType), name: name || undefined }
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

async function writeAll(
  file: FileHandle,
  bytes: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<{ size: number; head: Uint8Array }> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > limit) {
      throw new RockpoolError('refused', `A file is larger than ${limit / 1_048_576} MB and was not taken.`)
    }
    if (head.length < 32) head = Buffer.concat([head, chunk.subarray(0, 32)])
    await file.writeFile(chunk)
  }
  await file.sync()
  return { size, head }
}

function refusedFile(path: string, why: string, cause?: unknown): RockpoolError {
  return new RockpoolError('refused', `${JSON.stringify(plainLine(path, 200))} cannot be sent: ${why}.`, {
    hint: "Only files in the session's own media folder can be sent.",
    cause,
  })
}

/** Picture types that the model accepts. */
const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const largestPicture = 5 * 1_048_576
const mostPictures = 8

export async function picturesOf(
  media: readonly Media[],
): Promise<Array<{ data: string; mimeType: string }>> {
  const shown = media.filter(({ mimeType, bytes }) => shownTypes.has(mimeType) && bytes <= largestPicture)
  return Promise.all(
    shown.slice(0, mostPictures).map(async ({ path, mimeType }) => {
      return { data: (await readFile(path)).toString('base64'), mimeType }
    }),
  )
}

/** Copies the files of an input to where the agent can read them; the paths are relative to `cwd`. */
export async function withCopiedFiles(
  input: WaitingInput,
  { workspace, cwd }: { workspace: string; cwd: string },
): Promise<WaitingInput> {
  const { message, agentId, lane } = input
  if (message.media.length === 0) return input
  const folder = await makeAttachmentFolder(workspace, { agentId, key: lane })
  const media = await Promise.all(
    message.media.map(async (file) => {
      const copy = join(folder, basename(file.path))
      await copyFile(file.path, copy)
      await chmod(copy, 0o600)
      return { ...file, path: relative(cwd, copy) }
    }),
  )
  return { ...input, message: { ...message, media } }
}

export async function makeAttachmentFolder(workspace: string, session: SessionName): Promise<string> {
  const folder = attachmentFolder(workspace, session)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}
