// A thread that scans transcripts (discovery/scan.ts starts it). An entry of its own, because a thread needs a file.
import { parentPort } from 'node:worker_threads'
import { runScanJob, type ScanJob } from './discovery/scan.ts'
import { TranscriptScanner } from './discovery/transcript-scanner.ts'
import type { ScannedFile } from './store/sqlite/discovery-index.ts'

const scanner = new TranscriptScanner()

parentPort?.on('message', (jobs: ScanJob[]) => {
  const outcomes = jobs.map((job) => runScanJob(scanner, job))
  // Moved, not copied: this thread collects its garbage rarely.
  const tables = outcomes.flatMap((outcome) => ('scanned' in outcome ? tablesOf(outcome.scanned) : []))
  parentPort?.postMessage(outcomes, tables)
})

function tablesOf({ usage, edits, editedNames }: ScannedFile): ArrayBuffer[] {
  // Each table has a buffer of its own, which is not shared.
  return [usage, edits, editedNames].map(({ buffer }) => buffer as ArrayBuffer)
}
