// The content of the vault's records, and the rows of the index that they become.
import { z } from 'zod'
import type { ChunkRow, FileRow } from '../store/sqlite/vault-index.ts'
import type { RecordPlace, TableEntry } from './pack-records.ts'

/** A version of a kept file as it is stored. */
export const fileVersion = z.object({
  session: z.string(),
  root: z.string(),
  path: z.string(),
  agent: z.string(),
  size: z.number(),
  mtime: z.number(),
  inode: z.number(),
  keptAt: z.number(),
  settled: z.number(),
  /** The session for lists; only of its main file. */
  about: z.record(z.string(), z.unknown()).optional(),
  /** Hash, length, and whether the id of the session is masked. */
  chunks: z.array(z.tuple([z.string(), z.number(), z.literal([0, 1])])),
})
export type FileVersion = z.infer<typeof fileVersion>
export type ChunkRef = FileVersion['chunks'][number]

export const removal = z.object({ session: z.string(), at: z.number(), forever: z.boolean() })
export type Removal = z.infer<typeof removal>

/** Where each chunk of a record is. */
export function chunkRows(
  {
    pack,
    offset,
    header,
  }: Pick<RecordPlace, 'pack' | 'offset'> & {
    header: Pick<RecordPlace['header'], 'storedBytes' | 'rawBytes'>
  },
  table: readonly TableEntry[],
): ChunkRow[] {
  let start = 0
  return table.map(({ name, bytes }) => {
    const stored = Math.round((header.storedBytes * bytes) / Math.max(header.rawBytes, 1))
    const row = { hash: name.toString('hex'), pack, offset, start, stored, raw: bytes }
    start += bytes
    return row
  })
}

export function rowOf({ about, chunks, ...version }: FileVersion): Omit<FileRow, 'pack' | 'offset'> {
  return { ...version, about: about ? JSON.stringify(about) : null, chunks: JSON.stringify(chunks) }
}

/** The reverse of `rowOf`. */
export function versionOf({ about, chunks, pack: _pack, offset: _offset, ...row }: FileRow): FileVersion {
  return {
    ...row,
    about: about === null ? undefined : (JSON.parse(about) as FileVersion['about']),
    chunks: JSON.parse(chunks) as ChunkRef[],
  }
}
