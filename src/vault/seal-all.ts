// Encrypts what was stored before the vault was encrypted: every record is written again, and the old packs are removed.
import { isGap } from './packs.ts'
import { versionOf, type ChunkRef } from './file-versions.ts'
import type { Batch } from './batch.ts'
import type { RecordStore } from './record-store.ts'

/** Does nothing if the vault is not encrypted, or all of it is. */
export async function sealAll(store: RecordStore): Promise<void> {
  if (!store.seal.isSealed || !(await hasPlainRecord(store))) return
  await store.write('encrypt the vault', async (batch) => {
    const old = await store.packs.list()
    await store.packs.startPack()
    await copyAll(store, batch)
    await batch.commit()
    for (const { pack } of old) await store.packs.remove(pack)
  })
  await store.refresh()
}

async function hasPlainRecord(store: RecordStore): Promise<boolean> {
  for (const { pack } of await store.packs.list())
    for await (const place of store.packs.scan(pack, 0))
      if (!isGap(place) && !place.header.isSealed) return true
  return false
}

/** The names of chunks depend on the key, so file versions get new lists of chunks. */
async function copyAll(store: RecordStore, batch: Batch): Promise<void> {
  const files = store.index.files()
  for (const file of files) {
    const version = versionOf(file)
    const chunks: ChunkRef[] = []
    for (const [hash, bytes, masked] of version.chunks)
      chunks.push([await batch.copyChunk(await store.chunk(hash)), bytes, masked])
    batch.addVersion({ ...version, chunks })
  }
  const kept = new Set(files.map(({ session }) => session))
  for (const { session, at, forever } of store.index.removals())
    if (!kept.has(session)) batch.remove({ session, at, forever: forever === 1 })
}
