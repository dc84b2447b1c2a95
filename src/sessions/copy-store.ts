// Copies the sessions and transcripts of one agent from one store to another, whatever they keep them in. It can be
// stopped and repeated: what is there already, and not older, stays as it is.
import { isDeepStrictEqual } from 'node:util'
import { RockpoolError, asRockpoolError } from '../domain/errors.ts'
import type { SessionEntry } from '../domain/session.ts'
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

const tellEvery = 500

/** Adds to `report`; `onProgress` is told how far it is from time to time. */
export async function copyAgent(
  from: StorePair,
  to: StorePair,
  report: CopyReport,
  onProgress: (report: CopyReport) => void,
): Promise<void> {
  // Archives first: each is created under the name that a current transcript may need afterwards.
  await copyArchives(from.transcripts, to.transcripts, report)
  let done = 0
  for (const ref of await from.transcripts.list()) {
    await orProblem(report, `transcript ${ref.sessionId}`, () =>
      copyTranscript(from.transcripts, to.transcripts, ref, report),
    )
    if (++done % tellEvery === 0) onProgress(report)
  }
  for await (const { key, entry } of from.sessions.entries()) {
    await orProblem(report, `session ${key}`, () => copySession(to.sessions, key, entry, report))
    if (++done % tellEvery === 0) onProgress(report)
  }
}

async function copySession(
  to: SessionStore,
  key: string,
  entry: SessionEntry,
  report: CopyReport,
): Promise<void> {
  let isNew = false
  await to.update(key, (there) => {
    isNew = there === undefined || (there.updatedAt <= entry.updatedAt && !isDeepStrictEqual(there, entry))
    return isNew ? entry : undefined
  })
  if (isNew) report.sessions++
  else report.unchanged++
}

async function copyTranscript(
  from: TranscriptStore,
  to: TranscriptStore,
  ref: TranscriptRef,
  report: CopyReport,
): Promise<void> {
  const { file, ...plain } = ref
  const name = nameOf(file)
  const place = name === undefined ? plain : { ...plain, file: name }
  if ((await to.exists(place)) && !(await madeRoom(from, to, ref, place))) return
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
  for (const { name } of await from.archives()) {
    if (there.has(name)) continue
    await orProblem(report, `archive ${name}`, async () => {
      const ref = await from.archiveRef(name)
      await copyTranscript(from, to, { sessionId: ref.sessionId, file: ref.file ?? name }, report)
      report.archives++
    })
  }
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
    const { code, message } = asRockpoolError(error)
    if (code === 'unavailable' || code === 'disk-failed') throw error
    report.problems.push(`${what}: ${message}`)
  }
}
