// Copies the sessions and transcripts of one agent between two stores of any kind. The copy can be stopped and repeated:
// rows in the target that are not older stay unchanged.
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

/** Rows in one write. */
const batchSize = 500
/** Transcripts between two progress reports. */
const reportEvery = 20
const transcriptsAtOnce = 8

/** Adds to `report`. */
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
    if (++done % reportEvery === 0) onProgress(report)
  })
  for await (const batch of inBatches(from.sessions.entries())) {
    await copySessions(to.sessions, batch, report)
    onProgress(report)
  }
}

/** A session in the target that is newer or equal stays. */
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
    if (answer.status === 'rejected') reportOrThrow(report, `session ${key}`, answer.reason)
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
  if (there.has(name ?? ref.sessionId) && !(await archivedOlder(from, to, ref, place))) return
  const { timestamp, cwd = '', parentSession } = (await from.header(ref)) ?? {}
  const entries = from.read(ref, (what) => report.problems.push(`transcript ${ref.sessionId}: ${what}`))
  await to.create(place, { cwd, timestamp, parentSession }, counted(entries, report))
  report.transcripts++
}

/** Archives an older transcript in the target and returns true. False if the target has all entries already. */
async function archivedOlder(
  from: TranscriptStore,
  to: TranscriptStore,
  ref: TranscriptRef,
  place: TranscriptRef,
): Promise<boolean> {
  const [theirs, there] = [await idsOf(from, ref), await idsOf(to, place)]
  if (isWithin(theirs, there)) return false
  if (!isWithin(there, theirs))
    throw new RockpoolError('conflict', 'both sides have entries that the other lacks; nothing was changed')
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

/** An archive is copied like a transcript, under its own name. */
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

/** Runs several at a time, started in order. */
async function eachOf<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  await Promise.all(
    Array.from({ length: transcriptsAtOnce }, async () => {
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

async function* counted(entries: AsyncIterable<TranscriptEntry>, report: CopyReport) {
  for await (const entry of entries) {
    report.entries++
    yield entry
  }
}

function nameOf(file: string | undefined): string | undefined {
  return file?.slice(file.lastIndexOf('/') + 1)
}

/** A failed item is reported, and the copy continues; without a database or disk space it ends. */
async function orProblem(report: CopyReport, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    reportOrThrow(report, what, error)
  }
}

function reportOrThrow(report: CopyReport, what: string, error: unknown): void {
  const { code, message } = asRockpoolError(error)
  if (code === 'unavailable' || code === 'disk-failed') throw error
  report.problems.push(`${what}: ${message}`)
}
