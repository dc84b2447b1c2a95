// A thread that scans transcripts (discovery/scan.ts starts it). An entry of its own, because a thread needs a file.
import { parentPort } from 'node:worker_threads'
import { runScanJob, TranscriptScanner } from './discovery/scan.ts'
import type { ScanJob } from './discovery/scan.ts'

const scanner = new TranscriptScanner()

parentPort?.on('message', (jobs: ScanJob[]) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(jobs.map((job) => runScanJob(scanner, job)))
})
