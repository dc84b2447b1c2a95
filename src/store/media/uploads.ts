// Uploads from the dashboard: pieces are collected here until the message is sent.
import { createReadStream, mkdirSync, type ReadStream } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

export const maxUploadBytes = 25 * 1_048_576
const pieceBytes = 384 * 1024
const forgottenAfterMs = 86_400_000

/** Writes a piece at its offset; a repeated piece changes nothing. Resolves to the number of bytes so far. */
export async function addToUpload(dir: string, id: string, at: number, piece: Uint8Array): Promise<number> {
  if (at + piece.length > maxUploadBytes)
    throw new RockpoolError('refused', `A file may have ${maxUploadBytes / 1_048_576} MB at most.`)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const opening = open(join(dir, `${id}.part`), at === 0 ? 'w' : 'r+', 0o600)
  await using file = await opening.catch((cause: unknown) => {
    throw new RockpoolError('not-found', 'The beginning of that file was not uploaded.', { cause })
  })
  const { size } = await file.stat()
  if (at > size) throw new RockpoolError('input-invalid', `A piece is missing: ${size} bytes are here.`)
  await file.write(piece, 0, piece.length, at)
  return at + piece.length
}

/** The uploaded bytes; the caller reads them and then calls `dropUpload`. */
export async function readUpload(folder: string, id: string): Promise<ReadStream> {
  const path = join(folder, `${id}.part`)
  const there = await stat(path).catch(() => undefined)
  if (!there) throw new RockpoolError('not-found', 'That file did not arrive.', { hint: 'Add it again.' })
  return createReadStream(path)
}

/** A piece of a file for the dashboard, as large as an upload's pieces. */
export async function readPiece(path: string, at: number): Promise<Uint8Array> {
  await using file = await openForeignHandle(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, at)
  return buffer.subarray(0, bytesRead)
}

export async function dropUpload(folder: string, id: string): Promise<void> {
  await rm(join(folder, `${id}.part`), { force: true })
}

/** Removes uploads that were not sent within a day. */
export async function removeOldUploads(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const about = await stat(path).catch(() => undefined)
    if (about && now - about.mtimeMs > forgottenAfterMs) await rm(path, { force: true })
  }
}
