// Scans many files: few in this thread, with pauses for other tasks; many in this thread and a second one.
import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'
import { TimeSlice } from '../domain/async.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { ScannedFile } from '../store/sqlite/discovery-index.ts'
import type { AgentSource, ScannedBefore } from './agents/contract.ts'
import { readerOf } from './agents/readers.ts'
import { EditTable } from './edit-table.ts'
import { unreadableReason } from './list-files.ts'
import { listFactsOf } from './list-facts.ts'
import { costOfFile } from './price-table.ts'
import { withoutSecrets, type TranscriptFacts } from './transcript-facts.ts'
import { TranscriptScanner, type ScannedTranscript } from './transcript-scanner.ts'
import { UsageTable } from './usage-table.ts'

/** A file to scan, in a form that can be sent to another thread. */
export interface ScanJob {
  path: string
  /** About as many bytes have not been read yet. */
  bytes: number
  /** The result of an earlier scan, to continue from. */
  before?: { facts: string; usage: Uint8Array; edits: Uint8Array; mark: string }
  /** Set for a session of another agent, which its own reader scans. */
  file?: AgentSource
}

export type ScanOutcome =
  | { path: string; bytes: number; scanned: ScannedFile }
  /** The reason is undefined when the file was deleted meanwhile. */
  | { path: string; bytes: number; failed: string | undefined }

export function runScanJob(scanner: TranscriptScanner, job: ScanJob): ScanOutcome {
  const { path, bytes, before } = job
  try {
    const known = before && {
      facts: JSON.parse(before.facts) as TranscriptFacts,
      usage: new UsageTable(before.usage),
      edits: new EditTable(before.edits),
      mark: before.mark,
    }
    const { facts, usage, edits, tornTail, size, mtimeMs, inode, mark } = job.file
      ? scanAgent(job.file, known)
      : scanner.scan(path, known)
    const kept = withoutSecrets(facts)
    const listFacts = JSON.stringify(listFactsOf(kept, job.file !== undefined))
    const place = { path, inode, size, mtimeMs, torn: tornTail ? 1 : 0, listFacts }
    const scanned = { ...place, mark, facts: JSON.stringify(kept) }
    const tables = {
      sessionId: facts.sessionId ?? '',
      usage: usage.pack(),
      edits: edits.pack(),
      editedNames: edits.names(),
    }
    return { path, bytes, scanned: { ...scanned, ...tables } }
  } catch (error) {
    return { path, bytes, failed: unreadableReason(error) }
  }
}

/** The size and the time are those of the listing: a session that changes meanwhile is scanned again. */
function scanAgent(file: AgentSource, before: ScannedBefore | undefined): ScannedTranscript {
  const { inode, size, mtimeMs } = file
  const scanned = readerOf(file.agentKind).scan(file, before)
  const { facts, usage } = scanned
  // The program gets the id as an argument, where a dash begins an option, and every list shows it. No program makes such ids.
  if (/^-|\p{Cc}/u.test(facts.sessionId ?? ''))
    throw new RockpoolError('damaged', `${JSON.stringify(facts.sessionId)} cannot be the id of a session.`)
  Object.assign(facts, costOfFile(usage, facts.models))
  return { ...scanned, inode, size, mtimeMs }
}

/** Below this many bytes, starting a thread takes longer than it saves. */
const worthThread = 24 << 20
const batchBytes = 1 << 20
const batchFiles = 64
/** Larger files would block this thread for too long; the other thread scans them. */
const largestHere = 8 << 20
const pauseAfterMs = 8

/** Passes outcomes to `take` as they come, in any order. */
export async function scanAll(
  jobs: ScanJob[],
  workerFile: URL | undefined,
  take: (outcomes: ScanOutcome[]) => void,
): Promise<void> {
  const bytes = jobs.reduce((sum, job) => sum + job.bytes, 0)
  if (workerFile === undefined || bytes < worthThread) return scanHere(jobs, take)
  // The other thread starts with the largest files, this one with the smallest.
  const batches = inBatches(jobs.toSorted((a, b) => b.bytes - a.bytes))
  await withSmallHeap(async () => {
    const worker = await startThread(workerFile)
    await Promise.all([scanInThread(worker, batches, take), scanBatches(batches, take)])
  })
  // What the thread could not do is done here.
  if (batches.length > 0) await scanHere(batches.flat(), take)
}

/** The program of the thread: beside this module's folder in the sources, at the top of the build. */
export function scanWorkerFile(): URL | undefined {
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? ['../scan-worker.ts'] : ['./scan-worker.js', '../scan-worker.js']
  return candidates.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url))
}

/**
 * A scan allocates many short-lived objects, and V8 then enlarges its space for new objects by 30 MB, which the rest of the
 * program never needs. The flag keeps this space from growing during the scan.
 */
async function withSmallHeap(work: () => Promise<unknown>): Promise<void> {
  setFlagsFromString('--semi-space-growth-factor=1')
  try {
    await work()
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2')
  }
}

async function scanHere(jobs: ScanJob[], take: (outcomes: ScanOutcome[]) => void): Promise<void> {
  const scanner = new TranscriptScanner()
  const share = new TimeSlice(pauseAfterMs)
  for (const job of jobs) {
    take([runScanJob(scanner, job)])
    if (share.isUsedUp) await share.yield()
  }
}

async function scanBatches(batches: ScanJob[][], take: (outcomes: ScanOutcome[]) => void): Promise<void> {
  const scanner = new TranscriptScanner()
  while (sizeOf(batches.at(-1)) <= largestHere) {
    const batch = batches.pop()!
    take(batch.map((job) => runScanJob(scanner, job)))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Infinite when no batch is left, which ends the loop. */
function sizeOf(batch: ScanJob[] | undefined): number {
  return batch?.reduce((sum, job) => sum + job.bytes, 0) ?? Number.POSITIVE_INFINITY
}

function inBatches(jobs: ScanJob[]): ScanJob[][] {
  const batches: ScanJob[][] = []
  let batch: ScanJob[] = []
  let bytes = 0
  for (const job of jobs) {
    batch.push(job)
    bytes += job.bytes
    if (bytes < batchBytes && batch.length < batchFiles) continue
    batches.push(batch)
    batch = []
    bytes = 0
  }
  return batch.length > 0 ? [...batches, batch] : batches
}

async function startThread(file: URL): Promise<Worker> {
  // Most commands find few changed files and need no thread.
  const { Worker } = await import('node:worker_threads')
  return new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 } })
}

/** Resolves when the thread has ended. Batches that it did not finish are put back. */
function scanInThread(worker: Worker, batches: ScanJob[][], take: (outcomes: ScanOutcome[]) => void) {
  return new Promise<void>((resolve) => {
    const assigned: ScanJob[][] = []
    const next = (): void => {
      const batch = batches.shift()
      if (batch) {
        assigned.push(batch)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage(batch)
      } else if (assigned.length === 0) void worker.terminate()
    }
    worker.on('message', (outcomes: ScanOutcome[]) => {
      assigned.shift()
      next()
      take(outcomes)
    })
    // An error also ends the thread, which `exit` handles.
    worker.on('error', () => {})
    worker.on('exit', () => {
      batches.unshift(...assigned)
      resolve()
    })
    // The thread gets some batches ahead, because this thread may be busy when it has finished one.
    for (let ahead = 0; ahead < 3; ahead++) next()
  })
}
