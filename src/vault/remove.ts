// Removes sessions from the vault, and the bytes that nothing needs any more: packs with such bytes are written again without
// them. An interrupted rewrite leaves both packs, which does no harm: the removal itself is a record, written first.
import type { Clock } from '../domain/clock.ts'
import type { FileRow, RemovalRow } from '../store/sqlite/vault-index.ts'
import type { Batch } from './batch.ts'
import { isGap } from './packs.ts'
import { recordBytes, type RecordPlace } from './pack-records.ts'
import { versionOf, type ChunkRef } from './file-versions.ts'
import type { RecordStore } from './record-store.ts'

const yearMs = 365 * 86_400_000
/** A pack is written again when this share of it is unused, to free space. */
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
    const usage = recordUsage(store)
    const old: Array<{ pack: string; used: UsedRecord[] }> = []
    for (const { pack, bytes } of await store.packs.list()) {
      const used = await usedRecords(store, pack, usage)
      const usedSize = used.reduce((sum, record) => sum + record.bytes, 0)
      if (bytes - usedSize > bytes * share) old.push({ pack, used })
    }
    if (old.length === 0) return
    await store.packs.startPack()
    for (const { used } of old) for (const record of used) await copyUsed(store, batch, record)
    await batch.commit()
    for (const { pack } of old) await store.packs.remove(pack)
  })
  await store.refresh()
  return before - (await usedBytes(store))
}

/** The records that the index knows: only these are needed. */
interface RecordUsage {
  chunks: Set<string>
  /** By pack and offset. */
  versions: Map<string, FileRow[]>
  removals: Map<string, RemovalRow>
}

interface UsedRecord {
  place: RecordPlace
  /** How many of its bytes are used. */
  bytes: number
  /** Undefined: all of them. */
  chunks?: string[]
  versions?: FileRow[]
  removal?: RemovalRow
}

const keyOf = ({ pack, offset }: { pack: string; offset: number }): string => `${pack} ${offset}`

function recordUsage(store: RecordStore): RecordUsage {
  const files = store.index.files()
  const kept = new Set(files.map(({ session }) => session))
  const removals = store.index.removals().filter(({ session }) => !kept.has(session))
  return {
    chunks: new Set(usageOf(store).users.keys()),
    versions: Map.groupBy(files, keyOf),
    removals: new Map(removals.map((row) => [keyOf(row), row])),
  }
}

async function usedRecords(store: RecordStore, pack: string, usage: RecordUsage): Promise<UsedRecord[]> {
  const used: UsedRecord[] = []
  const chunks = Map.groupBy(
    store.index.chunks(pack).filter(({ hash }) => usage.chunks.has(hash)),
    keyOf,
  )
  for await (const place of store.packs.scan(pack, 0)) {
    if (isGap(place)) continue
    const bytes = recordBytes(place.header)
    const key = keyOf(place)
    const [rows, versions, removal] = [chunks.get(key), usage.versions.get(key), usage.removals.get(key)]
    if (versions || removal) used.push({ place, bytes, versions, removal })
    else if (rows?.length === place.header.chunkCount) used.push({ place, bytes })
    else if (rows) {
      const raw = rows.reduce((sum, row) => sum + row.raw, 0)
      const share = raw / Math.max(place.header.rawBytes, 1)
      used.push({ place, bytes: bytes * share, chunks: rows.map(({ hash }) => hash) })
    }
  }
  return used
}

async function copyUsed(store: RecordStore, batch: Batch, record: UsedRecord): Promise<void> {
  const { place, chunks, versions, removal } = record
  if (versions) for (const row of versions) batch.addVersion(versionOf(row))
  else if (removal) {
    const { session, at, forever } = removal
    batch.remove({ session, at, forever: forever === 1 })
  } else if (chunks) {
    // Of a damaged record nothing can be copied; the files that need it are damaged already.
    const whole = await store.chunksIn(place).catch(() => new Map<string, Buffer>())
    for (const hash of chunks) if (whole.has(hash)) await batch.copyChunk(whole.get(hash)!)
  } else await batch.copyRecord(place)
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
