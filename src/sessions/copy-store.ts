// Copies the sessions and transcripts of one agent from one store to another, whatever they keep them in. It can be
// stopped and repeated: rows that exist in the target and are not older are left unchanged.
import { isDeepStrictEqual } from 'node:util'
import { RockpoolError, asRockpoolError } from '../domain/errors.ts'
import type { Session } from '../domain/session.ts'
import type { TranscriptEntry } from '../domain/transcript.ts'
import type { SessionStore, TranscriptRef, TranscriptStore } from '../store/session-store.ts'

export interface CopyReport {
  sessions: number
  unchanged: number
  transcripts: number
  archives: number
  entries: number
  problems: string[]
}

export interface StorePair {
  sessions: SessionStore
  transcripts: TranscriptStore
}

/** Rows that are written together. */
const batchSize = 500
/** Progress is reported after this many transcripts. */
const tellEvery = 20
/** Transcripts that are under way at the same time. */
const atOnce = 8

/** Adds to `report`; calls `onProgress` from time to time. */
export async function copyAgent(
  from: StorePair,
  to: StorePair,
  report: CopyReport,
  onProgress: (report: CopyReport) => void,
): Promise<void> {
  // Archives first: each is created under the name that a current transcript may need afterwards.
  await copyArchives(from.transcripts, to.transcripts, report)
  const there = new Set((await to.transcripts.list()).map(({ file, sessionId }) => nameOf(file) ?? sessionId))
  let done = 0
  await eachOf(await from.transcripts.list(), async (ref) => {
    await orProblem(report, `transcript ${ref.sessionId}`, () =>
      copyTranscript(from.transcripts, to.transcripts, ref, there, report),
    )
    if (++done % tellEvery === 0) onProgress(report)
  })
  for await (const batch of inBatches(from.sessions.entries())) {
    await copySessions(to.sessions, batch, report)
    onProgress(report)
  }
}

/** A session that is there and newer, or the same, stays. */
async function copySessions(to: SessionStore, batch: Session[], report: CopyReport): Promise<void> {
  const isNew = new Set<string>()
  const answers = await to.updateAll(
    batch.map(({ key, entry }) => ({
      key,
      change: (there) => {
        const wins =
          there === undefined || (there.updatedAt <= entry.updatedAt && !isDeepStrictEqual(there, entry))
        if (wins) isNew.add(key)
        else isNew.delete(key)
        return wins ? entry : undefined
      },
    })),
  )
  for (const [n, answer] of answers.entries()) {
    const { key } = batch[n]!
    if (answer.status === 'rejected') notedOrThrown(report, `session ${key}`, answer.reason)
    else if (isNew.has(key)) report.sessions++
    else report.unchanged++
  }
}

async function copyTranscript(
  from: TranscriptStore,
  to: TranscriptStore,
  ref: TranscriptRef,
  there: Set<string>,
  report: CopyReport,
): Promise<void> {
  const { file, ...plain } = ref
  const name = nameOf(file)
  const place = name === undefined ? plain : { ...plain, file: name }
  if (there.has(name ?? ref.sessionId) && !(await madeRoom(from, to, ref, place))) return
  const { timestamp, cwd = '', parentSession } = (await from.header(ref)) ?? {}
  const header = {
    cwd,
    ...(timestamp === undefined ? {} : { timestamp }),
    ...(parentSession === undefined ? {} : { parentSession }),
  }
  await to.create(
    place,
    header,
    counted(
      from.read(ref, (what) => report.problems.push(`transcript ${ref.sessionId}: ${what}`)),
      report,
    ),
  )
  report.transcripts++
}

/** True if the one that is there is older, and was set aside; where each has something of its own, nothing is changed. */
async function madeRoom(
  from: TranscriptStore,
  to: TranscriptStore,
  ref: TranscriptRef,
  place: TranscriptRef,
): Promise<boolean> {
  const [theirs, there] = [await idsOf(from, ref), await idsOf(to, place)]
  if (isWithin(theirs, there)) return false
  if (!isWithin(there, theirs))
    throw new RockpoolError(
      'conflict',
      'both sides have entries that the other one lacks; nothing was changed',
    )
  await to.archive(place, 'bak')
  return true
}

function isWithin(ids: Set<string>, all: Set<string>): boolean {
  return [...ids].every((id) => all.has(id))
}

async function idsOf(store: TranscriptStore, ref: TranscriptRef): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const { id } of store.read(ref)) ids.add(id)
  return ids
}

/** An archive is a transcript that was set aside; it is made as one and set aside again, with its own name. */
async function copyArchives(from: TranscriptStore, to: TranscriptStore, report: CopyReport): Promise<void> {
  const there = new Set((await to.archives()).map(({ name }) => name))
  const missing = (await from.archives()).filter(({ name }) => !there.has(name))
  await eachOf(missing, ({ name }) =>
    orProblem(report, `archive ${name}`, async () => {
      const ref = await from.archiveRef(name)
      await copyTranscript(from, to, { sessionId: ref.sessionId, file: ref.file ?? name }, there, report)
      report.archives++
    }),
  )
}

/** Several at a time, in order of their beginning. */
async function eachOf<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of left) await work(item)
    }),
  )
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* counted(
  entries: AsyncIterable<TranscriptEntry>,
  report: CopyReport,
): AsyncGenerator<TranscriptEntry> {
  for await (const entry of entries) {
    report.entries++
    yield entry
  }
}

function nameOf(file: string | undefined): string | undefined {
  return file?.slice(file.lastIndexOf('/') + 1)
}

/** One that cannot be copied does not keep the others from it. A database that is away ends everything. */
async function orProblem(report: CopyReport, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    notedOrThrown(report, what, error)
  }
}

function notedOrThrown(report: CopyReport, what: string, error: unknown): void {
  const { code, message } = asRockpoolError(error)
  if (code === 'unavailable' || code === 'disk-failed') throw error
  report.problems.push(`${what}: ${message}`)
}
