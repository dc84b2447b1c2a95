// Outgoing files: from an agent's workspace, or sent by an operator by hand. They are copied into the media folder, because only
// files there may be sent, and because a later change must not affect what is sent. Copies keep their names, which people see.
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve, basename, isAbsolute } from 'node:path'
import type { OutgoingFile } from '../../domain/channel.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { outgoingFile, sessionMediaFolder, type SessionName } from './media-files.ts'

export interface SendableFiles {
  cwd: string
  places: readonly string[]
}

export async function attachWorkspaceFile(
  mediaRoot: string,
  from: SendableFiles,
  path: string,
  session: SessionName,
): Promise<{ path: string } | { refused: string }> {
  try {
    const file = await fileInOneOf(from.places, resolve(from.cwd, path))
    return { path: await copyInto(sessionMediaFolder(mediaRoot, session.agentId, session.key), file) }
  } catch (error) {
    return { refused: asRockpoolError(error).message }
  }
}

async function fileInOneOf(places: readonly string[], path: string): Promise<OutgoingFile> {
  let refusal: unknown
  for (const place of places) {
    try {
      const isFolder = (await stat(place)).isDirectory()
      const file = await outgoingFile(isFolder ? place : dirname(place), path)
      if (isFolder || file.path === (await realpath(place))) return file
    } catch (error) {
      refusal = error
    }
  }
  throw refusal ?? new RockpoolError('refused', `${path} is none of the files that may be sent from here.`)
}

/** Copies a file that an operator sends by hand into the media folder. The copy keeps its name, because people see it. */
export async function copyForSending(mediaRoot: string, path: string): Promise<string> {
  if (!isAbsolute(path)) {
    throw new RockpoolError('input-invalid', `${JSON.stringify(path.slice(0, 200))} is not a whole path.`, {
      hint: 'Give the path from the root: /home/you/picture.png.',
    })
  }
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFile) throw new RockpoolError('not-found', `There is no file ${JSON.stringify(path.slice(0, 200))}.`)
  const file = await outgoingFile(dirname(path), path)
  return copyInto(join(mediaRoot, 'outgoing'), { path: file.path, name: basename(path) })
}

/** Into a folder of its own, because two files may have the same name. */
async function copyInto(parent: string, { path, name }: { path: string; name: string }): Promise<string> {
  const folder = join(parent, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const copy = join(folder, name)
  await copyFile(path, copy)
  // The copy has the mode of the original, which may be writable by others.
  await chmod(copy, 0o600)
  return copy
}
