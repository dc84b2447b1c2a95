// Reads every byte of the vault: each record against its checksums and its name, and each kept file against its chunks.
import { join } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { isGap } from './packs.ts'
import { recordBytes, type RecordPlace } from './pack-records.ts'
import type { ChunkRef } from './file-versions.ts'
import type { RecordStore } from './record-store.ts'

interface Damage {
  pack: string
  offset: number
  problem: string
}

export interface VerifyReport {
  records: number
  bytes: number
  damage: Damage[]
  /** Kept files that need a damaged or missing chunk. */
  files: FileRow[]
  /** The names of these chunks. */
  lost: Set<string>
  /** Ends of interrupted writes; nothing refers to them. */
  unfinished: number
}

export async function verifyRecords(
  store: RecordStore,
  onProgress?: (done: { bytes: number; of: number }) => void,
): Promise<VerifyReport> {
  const report: VerifyReport = { records: 0, bytes: 0, damage: [], files: [], lost: new Set(), unfinished: 0 }
  const packs = await store.packs.list()
  const of = packs.reduce((sum, { bytes }) => sum + bytes, 0)
  const whole = new Set<string>()
  for (const { pack } of packs)
    await verifyPack(store, pack, report, whole, () => onProgress?.({ bytes: report.bytes, of }))
  for (const file of store.index.files()) {
    const chunks = JSON.parse(file.chunks) as ChunkRef[]
    const lost = chunks.filter(([hash]) => !whole.has(hash))
    if (lost.length > 0) report.files.push(file)
    for (const [hash] of lost) report.lost.add(hash)
  }
  return report
}

/** How many records of each pack are checked; their headers alone tell whether a file was overwritten or cut. */
const glanceRecords = 1_000

/** Paths of the packs that have something else in the place of a record. Reads only headers; `verifyRecords` reads everything. */
export async function damagedPacks({ packs }: RecordStore): Promise<string[]> {
  const damaged: string[] = []
  for (const { pack } of await packs.list()) {
    let seen = 0
    for await (const found of packs.scan(pack, 0)) {
      const isDamage = isGap(found) && !found.isUnfinished
      if (isDamage) damaged.push(join(packs.folder, pack))
      if (isDamage || ++seen === glanceRecords) break
    }
  }
  return damaged
}

async function verifyPack(
  store: RecordStore,
  pack: string,
  report: VerifyReport,
  whole: Set<string>,
  onRecord: () => void,
): Promise<void> {
  for await (const found of store.packs.scan(pack, 0)) {
    if (isGap(found)) {
      report.bytes += found.bytes
      if (found.isUnfinished) report.unfinished++
      else
        report.damage.push({
          pack,
          offset: found.offset,
          problem: `${found.bytes} bytes belong to no record`,
        })
      continue
    }
    report.records++
    report.bytes += recordBytes(found.header)
    if (!(await isWhole(store, found, whole)))
      report.damage.push({
        pack,
        offset: found.offset,
        problem: `a record of ${found.header.kind} is damaged`,
      })
    onRecord()
  }
}

/** Adds the names of its chunks to `whole`. */
async function isWhole(store: RecordStore, place: RecordPlace, whole: Set<string>): Promise<boolean> {
  try {
    if (place.header.kind !== 'chunks') {
      await store.content(place)
      return true
    }
    const chunks = await store.chunksIn(place)
    for (const hash of chunks.keys()) whole.add(hash)
    return chunks.size === place.header.chunkCount
  } catch (error) {
    if (!(error instanceof RockpoolError) || error.code !== 'damaged') throw error
    return false
  }
}
