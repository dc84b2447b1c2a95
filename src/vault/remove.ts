// Removes sessions from the vault, and the bytes that nothing needs any more: packs with such bytes are written again without
// them. An interrupted rewrite leaves both packs, which does no harm: the removal itself is a record, written first.
import type { Clock } from '../domain/clock.ts'
import { isGap } from './packs.ts'
import type { Batch, ChunkRef, RecordStore } from './record-store.ts'
import { headerBytes, type RecordPlace } from './pack-records.ts'

const yearMs = 365 * 86_400_000
/** A pack is written again when so much of it is unused, to free space. */
const unusedShare = 0.25

export interface PrunePlan {
  /** Oldest first. */
  sessions: Array<{ sessionId: string; title?: string; lastModified: number; bytes: number }>
  bytes: number
  bytesAfter: number
  /** Still over the limit: all other sessions are younger than a year. */
  isShort: boolean
}

/** Chooses sessions to remove until the vault has at most `maxBytes`: the oldest without a label first. */
export async function planPrune(
  store: RecordStore,
  { maxBytes, evenYoung, clock }: { maxBytes: number; evenYoung: boolean; clock: Clock },
): Promise<PrunePlan> {
  const { users, needs } = usageOf(store)
  const bytes = await usedBytes(store)
  const plan: PrunePlan = { sessions: [], bytes, bytesAfter: bytes, isShort: false }
  for (const session of candidates(store)) {
    if (plan.bytesAfter <= maxBytes) break
    if (!evenYoung && clock.now() - session.lastModified < yearMs) continue
    const freed = [...(needs.get(session.sessionId) ?? [])].reduce((sum, hash) => {
      const left = users.get(hash)! - 1
      users.set(hash, left)
      return left === 0 ? sum + (store.index.chunk(hash)?.stored ?? 0) : sum
    }, 0)
    const { isLabelled: _, ...shown } = session
    plan.sessions.push({ ...shown, bytes: freed })
    plan.bytesAfter -= freed
  }
  return { ...plan, isShort: plan.bytesAfter > maxBytes }
}

/** `isSecret`: no byte of what was removed stays in any pack. */
export async function removeSessions(
  store: RecordStore,
  sessionIds: readonly string[],
  { at, forever, isSecret }: { at: number; forever: boolean; isSecret: boolean },
): Promise<void> {
  await store.write('remove sessions', async (batch) => {
    for (const session of sessionIds) batch.remove({ session, at, forever })
  })
  await rewritePacks(store, isSecret ? 0 : unusedShare)
  if (isSecret) await store.index.rewrite()
}

/** Writes packs of which more than `share` is unused again, and removes the old ones; resolves to the bytes that were freed. */
export async function rewritePacks(store: RecordStore, share = unusedShare): Promise<number> {
  const before = await usedBytes(store)
  await store.write('rewrite packs', async (batch) => {
    const needed = new Set(usageOf(store).users.keys())
    const old: Array<{ pack: string; used: RecordPlace[] }> = []
    for (const { pack, bytes } of await store.packs.list()) {
      const used = await usedRecords(store, pack, needed)
      const usedSize = used.reduce((sum, { header }) => sum + header.storedBytes + headerBytes, 0)
      if (bytes - usedSize > bytes * share) old.push({ pack, used })
    }
    if (old.length === 0) return
    await store.packs.startPack()
    await copyRecords(
      batch,
      old.flatMap(({ used }) => used),
      store,
    )
    for (const { pack } of old) await store.packs.remove(pack)
  })
  await store.refresh()
  return before - (await usedBytes(store))
}

/** Chunks are on disk before what names them. */
async function copyRecords(batch: Batch, used: RecordPlace[], store: RecordStore): Promise<void> {
  for (const isChunk of [true, false]) {
    for (const place of used) if ((place.header.kind === 'chunk') === isChunk) await batch.copy(place)
    await store.packs.sync()
  }
}

/** Of each content, only the record that the index knows is needed. */
async function usedRecords(store: RecordStore, pack: string, needed: Set<string>): Promise<RecordPlace[]> {
  const inUse = new Set<number>()
  for (const file of store.index.files()) if (file.pack === pack) inUse.add(file.offset)
  for (const removal of store.index.removals())
    if (removal.pack === pack && store.index.files(removal.session).length === 0) inUse.add(removal.offset)
  const used: RecordPlace[] = []
  for await (const found of store.packs.scan(pack, 0)) {
    if (isGap(found)) continue
    const hash = found.header.hash.toString('hex')
    const chunk = found.header.kind === 'chunk' && needed.has(hash) ? store.index.chunk(hash) : undefined
    if (inUse.has(found.offset) || (chunk?.pack === pack && chunk.offset === found.offset)) used.push(found)
  }
  return used
}

/** By session the chunks that it needs, and by chunk how many sessions need it. */
function usageOf(store: RecordStore): { users: Map<string, number>; needs: Map<string, Set<string>> } {
  const needs = new Map<string, Set<string>>()
  for (const { session, chunks } of store.index.files()) {
    const hashes = needs.get(session) ?? new Set<string>()
    for (const [hash] of JSON.parse(chunks) as ChunkRef[]) hashes.add(hash)
    needs.set(session, hashes)
  }
  const users = new Map<string, number>()
  for (const hashes of needs.values()) for (const hash of hashes) users.set(hash, (users.get(hash) ?? 0) + 1)
  return { users, needs }
}

interface Candidate {
  sessionId: string
  title?: string
  lastModified: number
  isLabelled: boolean
}

function candidates(store: RecordStore): Candidate[] {
  const all = store.index.sessions().map(({ session, about }) => {
    const { title, label, lastModified } = JSON.parse(about) as Record<string, string | undefined>
    return {
      sessionId: session,
      title,
      lastModified: Date.parse(lastModified ?? '') || 0,
      isLabelled: label !== undefined,
    }
  })
  return all.sort((a, b) => Number(a.isLabelled) - Number(b.isLabelled) || a.lastModified - b.lastModified)
}

export async function usedBytes(store: RecordStore): Promise<number> {
  return (await store.packs.list()).reduce((sum, { bytes }) => sum + bytes, 0)
}
