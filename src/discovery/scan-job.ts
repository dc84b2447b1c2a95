// One file to scan and what came of it, in a form that can go to another thread and into the index.
import type { IndexedFile } from '../store/sqlite/discovery-index.ts'
import { unreadableReason } from './list-files.ts'
import { withoutSecrets } from './indexed-text.ts'
import type { TranscriptFacts } from './transcript-facts.ts'
import type { TranscriptScanner } from './scan.ts'
import { UsageTable } from './usage-table.ts'

export interface ScanJob {
  path: string
  /** Bytes that have not been read yet, about. */
  bytes: number
  before?: { facts: string; usage: Uint8Array; mark: string }
}

export type ScanOutcome =
  | { path: string; bytes: number; scanned: IndexedFile & { usage: Uint8Array } }
  /** Without a reason when the file was deleted meanwhile. */
  | { path: string; bytes: number; failed: string | undefined }

export function runScanJob(scanner: TranscriptScanner, job: ScanJob): ScanOutcome {
  const { path, bytes, before } = job
  try {
    const known = before && {
      facts: JSON.parse(before.facts) as TranscriptFacts,
      usage: new UsageTable(before.usage),
      mark: before.mark,
    }
    const { facts, usage, tornTail, size, mtimeMs, inode, mark } = scanner.scan(path, known)
    const kept = JSON.stringify(withoutSecrets(facts))
    const scanned = { path, inode, size, mtimeMs, torn: tornTail ? 1 : 0, mark, facts: kept }
    return { path, bytes, scanned: { ...scanned, usage: usage.pack() } }
  } catch (error) {
    return { path, bytes, failed: unreadableReason(error) }
  }
}
