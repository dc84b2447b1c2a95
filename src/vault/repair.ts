// Stores damaged chunks again, from files that are still there. What only the vault had stays damaged.
import { join } from 'node:path'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import type { ChunkRef } from './file-versions.ts'
import type { SessionToKeep } from './keep.ts'
import { existenceCheck } from './kept-source.ts'
import type { RecordStore } from './record-store.ts'
import { rewritePacks } from './remove.ts'

/** `damaged`: the files that need a damaged chunk. `keep` keeps the given sessions. Resolves to how many files were repaired. */
export async function repairFiles(
  store: RecordStore,
  damaged: readonly FileRow[],
  lost: ReadonlySet<string>,
  keep: (sessions: SessionToKeep[]) => Promise<unknown>,
): Promise<number> {
  const isThere = existenceCheck()
  const present = damaged.filter(({ root, path }) => isThere(join(root, path)))
  if (present.length === 0) return 0
  await store.index.write((rows) => {
    for (const file of present) {
      rows.distrust(file)
      for (const [hash] of JSON.parse(file.chunks) as ChunkRef[]) if (lost.has(hash)) rows.forgetChunk(hash)
    }
  })
  await keep(present.map(aloneOf))
  // The damaged records are left out of the new packs.
  await rewritePacks(store, 0)
  return present.length
}

function aloneOf({ session, agent, root, path, about }: FileRow): SessionToKeep {
  const shown = about === null ? undefined : (JSON.parse(about) as SessionToKeep['about'])
  return { sessionId: session, agent, root, files: [join(root, path)], about: shown }
}
