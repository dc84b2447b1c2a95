// Puts kept files back, byte for byte, with a new modification time: Claude deletes by that time, so an old one would make it
// delete the file again. A file that exists is never replaced.
import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize, sep } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import { createFileAtomically } from '../store/disk/atomic-file.ts'
import { fileSize, isFile } from '../store/disk/foreign-file.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { rowsPlace, writeRows } from '../store/sqlite/session-rows.ts'
import { unmaskId } from './cut.ts'
import type { ChunkRef } from './file-versions.ts'
import type { RecordStore } from './record-store.ts'
import { isSessionPlace } from './session-files.ts'

export interface RestoredFile {
  path: string
  bytes: number
  /** `same`: the file was there already, with the same content. `longer`: it was there and has more. */
  outcome: 'restored' | 'same' | 'longer' | 'different' | 'damaged'
}

/** `path`: as `placeOf` says. */
export async function restoreFile(store: RecordStore, file: FileRow, path: string): Promise<RestoredFile> {
  const { size: bytes } = file
  const rows = rowsPlace(path)
  if (rows)
    return { path, bytes, outcome: await orDamaged(async () => writeRows(rows, await wholeOf(store, file))) }
  if (isFile(path)) return { path, bytes, outcome: await compare(store, file, path) }
  const outcome = await orDamaged(async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const isNew = await createFileAtomically(path, contentOf(store, file))
    return isNew ? 'restored' : compare(store, file, path)
  })
  return { path, bytes, outcome }
}

async function orDamaged(restore: () => Promise<RestoredFile['outcome']>): Promise<RestoredFile['outcome']> {
  try {
    return await restore()
  } catch (error) {
    if (error instanceof RockpoolError && error.code === 'damaged') return 'damaged'
    throw error
  }
}

async function wholeOf(store: RecordStore, file: FileRow): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of contentOf(store, file)) parts.push(part)
  return Buffer.concat(parts)
}

/** The bytes of a kept file, a chunk at a time. */
export async function* contentOf(store: RecordStore, file: FileRow): AsyncGenerator<Buffer> {
  for (const [hash, bytes, masked] of JSON.parse(file.chunks) as ChunkRef[]) {
    const content = await store.chunk(hash)
    if (content.length !== bytes)
      throw new RockpoolError('damaged', `A chunk of ${file.path} has another length.`)
    yield masked ? unmaskId(content, file.session) : content
  }
}

/** Where a file is put. `root`: another directory than the one that it was in. Another machine may have forged the stored path,
 *  so it may lead neither out of the directory nor to a file that is not a session's. */
export function placeOf({ path, agent, root: own }: FileRow, root = own): string {
  const inside = normalize(path)
  if (isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`))
    throw new RockpoolError('damaged', `${JSON.stringify(path)} in the vault leads out of its directory.`)
  if (isSessionPlace(agent, inside)) return join(root, inside)
  throw new RockpoolError('damaged', `${JSON.stringify(path)} in the vault is not a file of a session.`)
}

async function compare(store: RecordStore, file: FileRow, path: string): Promise<RestoredFile['outcome']> {
  const there = fileSize(path)
  if (there < file.size) return 'different'
  let at = 0
  for await (const kept of contentOf(store, file)) {
    if (!(await readPart(path, at, kept.length)).equals(kept)) return 'different'
    at += kept.length
  }
  return there === file.size ? 'same' : 'longer'
}

async function readPart(path: string, start: number, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of createReadStream(path, { start, end: start + bytes - 1 }) as AsyncIterable<Buffer>)
    parts.push(part)
  return Buffer.concat(parts)
}
