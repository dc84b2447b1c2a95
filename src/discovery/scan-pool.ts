// Scans many files: a small amount in this thread, with pauses for other tasks; a large amount in this thread and a second one.
import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { TimeSlice } from '../domain/async.ts'
import { runScanJob, TranscriptScanner, type ScanJob, type ScanOutcome } from './scan.ts'

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
  await withSmallHeap(() =>
    Promise.all([scanInThread(workerFile, batches, take), scanBatches(batches, take)]),
  )
  // What the thread could not do is done here.
  await scanHere(batches.flat(), take)
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

/** Resolves when the thread has ended. Batches that it did not finish are put back. */
function scanInThread(
  file: URL,
  batches: ScanJob[][],
  take: (outcomes: ScanOutcome[]) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
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
