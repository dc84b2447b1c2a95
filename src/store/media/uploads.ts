// Files on their way from the page: pieces are gathered here until the message that they belong to is sent.
import { createReadStream, mkdirSync } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

export const maxUploadBytes = 25 * 1_048_576
const pieceBytes = 384 * 1024
const forgottenAfterMs = 86_400_000

/** Puts a piece where it belongs; the same piece twice is the same file. Returns how much is there. */
export async function addToUpload(
  folder: string,
  id: string,
  at: number,
  piece: Uint8Array,
): Promise<number> {
  if (at + piece.length > maxUploadBytes) {
    throw new RockpoolError('refused', `A file may have ${maxUploadBytes / 1_048_576} MB at most.`)
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = await open(join(folder, `${id}.part`), at === 0 ? 'w' : 'r+', 0o600).catch(
    (cause: unknown) => {
      throw new RockpoolError('not-found', 'The beginning of that file is not here.', { cause })
    },
  )
  try {
    const { size } = await file.stat()
    if (at > size) throw new RockpoolError('input-invalid', `A piece is missing: ${size} bytes are here.`)
    await file.write(piece, 0, piece.length, at)
    return at + piece.length
  } finally {
    await file.close()
  }
}

/** What was gathered; the caller reads it to its end and then drops it. */
export async function readUpload(folder: string, id: string): Promise<ReadStream> {
  const path = join(folder, `${id}.part`)
  const there = await stat(path).catch(() => undefined)
  if (!there) throw new RockpoolError('not-found', 'That file did not arrive.', { hint: 'Add it again.' })
  return createReadStream(path)
}

/** A piece of a file that goes to the page, as large as what comes from there. */
export async function readPiece(path: string, at: number): Promise<Uint8Array> {
  const file = await openForeignHandle(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, at)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

export async function dropUpload(folder: string, id: string): Promise<void> {
  await rm(join(folder, `${id}.part`), { force: true })
}

/** What was never sent is removed after a day. */
export async function forgetUploads(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const about = await stat(path).catch(() => undefined)
    if (about && now - about.mtimeMs > forgottenAfterMs) await rm(path, { force: true })
  }
}
