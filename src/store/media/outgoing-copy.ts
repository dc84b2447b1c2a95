// A file that an operator sends by hand: copied into the media folder, because only from there may anything leave.
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { outgoingFile } from './media-files.ts'

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
  const folder = join(mediaRoot, 'outgoing', randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const copy = join(folder, basename(path))
  await copyFile(file.path, copy, constants.COPYFILE_EXCL)
  // The copy has the mode of the original, which may be writable by others.
  await chmod(copy, 0o600)
  return copy
}
