// Scans many files: a few in this thread, with pauses so that others get their turn; many in this thread and a second
// one, because the work is reading and counting and machines have more than one core.
import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { TimeSlice } from '../domain/async.ts'
import { TranscriptScanner } from './scan.ts'
import { runScanJob } from './scan.ts'
import type { ScanJob, ScanOutcome } from './scan.ts'

/** Below this, starting a thread costs more than it saves. */
const worthThread = 24 << 20
const batchBytes = 1 << 20
const batchFiles = 64
/** A file that is larger than this would hold up whatever else this thread has to do. */
const largestHere = 8 << 20
const pauseAfterMs = 8

/** Hands over outcomes as they come, in any order. */
export async function scanAll(
  jobs: ScanJob[],
  workerFile: URL | undefined,
  take: (outcomes: ScanOutcome[]) => void,
): Promise<void> {
  const bytes = jobs.reduce((sum, job) => sum + job.bytes, 0)
  if (workerFile === undefined || bytes < worthThread) return scanHere(jobs, take)
  // The other thread begins with the largest; this one, which has more to do, with the smallest. They meet somewhere.
  const batches = inBatches(jobs.toSorted((a, b) => b.bytes - a.bytes))
  await withSmallHeap(() =>
    Promise.all([scanInThread(workerFile, batches, take), scanBatches(batches, take)]),
  )
  // Only if the thread could not: then it is slower, and done all the same.
  await scanHere(batches.flat(), take)
}

/** Where the thread's program is: beside this module's folder in the sources, at the top of what was built. */
export function scanWorkerFile(): URL | undefined {
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? ['../scan-worker.ts'] : ['./scan-worker.js', '../scan-worker.js']
  return candidates.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url))
}

/**
 * A scan makes much that is dropped at once, and V8 answers that with ever more room for new objects: 30 MB that the
 * rest of the program never needs. So that room does not grow meanwhile.
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

/** None left is larger than anything. */
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

/** Resolves when the thread has nothing more to do. What it was given and did not do is put back. */
function scanInThread(
  file: URL,
  batches: ScanJob[][],
  take: (outcomes: ScanOutcome[]) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    const given: ScanJob[][] = []
    const next = (): void => {
      const batch = batches.shift()
      if (batch) {
        given.push(batch)
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        worker.postMessage(batch)
      } else if (given.length === 0) void worker.terminate()
    }
    worker.on('message', (outcomes: ScanOutcome[]) => {
      given.shift()
      next()
      take(outcomes)
    })
    // An error ends the thread, too.
    worker.on('error', () => {})
    worker.on('exit', () => {
      batches.unshift(...given)
      resolve()
    })
    // It always has the next batch before it asks, because this thread may be busy when it does.
    for (let ahead = 0; ahead < 3; ahead++) next()
  })
}
