// Says how far something long is, as the first look at all sessions, on stderr, so that stdout stays clean.
import type { ScanProgress } from '../domain/discovered-session.ts'
import type { IndexProgress } from '../domain/search.ts'
import { bytes } from './print.ts'

/** A scan that is shorter than this needs no words. */
const silentMs = 700
const redrawMs = 120
const nextLineMs = 5_000
const copyLineMs = 2_000

interface Output {
  isTTY?: boolean
  write(text: string): unknown
}

/** On a terminal one line that changes; elsewhere a line now and then. */
export function scanProgress(output: Output, now?: () => number): (progress: ScanProgress) => void {
  return showProgress(output, lineOf, now)
}

/** The same for what is read into the search index. */
export function indexProgress(output: Output, now?: () => number): (progress: IndexProgress) => void {
  return showProgress(
    output,
    ({ files, filesDone, bytesRead }) =>
      `Indexing what was said: ${filesDone} of ${files} files, ${bytes(bytesRead)}`,
    now,
  )
}

/** For a copy of unknown size: prints a line from time to time. */
export function copyProgress(
  output: Output,
  now = (): number => performance.now(),
): (copied: Record<string, unknown>) => void {
  let saidAt = now()
  return (copied) => {
    const counts = Object.entries(copied).filter(([, count]) => typeof count === 'number' && count > 0)
    if (now() - saidAt < copyLineMs || counts.length === 0) return
    saidAt = now()
    output.write(`Copying: ${counts.map(([what, count]) => `${String(count)} ${what}`).join(', ')}\n`)
  }
}

function showProgress<Progress extends { files: number; filesDone: number }>(
  output: Output,
  lineOf: (progress: Progress) => string,
  now = (): number => performance.now(),
): (progress: Progress) => void {
  let began: number | undefined
  let saidAt: number | undefined
  return (progress) => {
    const time = now()
    began ??= time
    const isDone = progress.filesDone === progress.files
    const isTime = saidAt === undefined || time - saidAt > (output.isTTY ? redrawMs : nextLineMs)
    if (time - began > silentMs && !isDone && isTime) {
      saidAt = time
      output.write(output.isTTY ? `\r${lineOf(progress)}\x1b[K` : `${lineOf(progress)}\n`)
    }
    if (!isDone) return
    if (output.isTTY && saidAt !== undefined) output.write('\r\x1b[K')
    began = saidAt = undefined
  }
}

function lineOf({ files, filesDone, bytes: all, bytesDone }: ScanProgress): string {
  const share = all === 0 ? 100 : Math.floor((bytesDone / all) * 100)
  return `Reading sessions: ${filesDone} of ${files} files, ${bytes(bytesDone)} of ${bytes(all)} (${share}%)`
}
