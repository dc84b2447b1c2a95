// The diagnostics of a command on stderr: errors of the log, and the progress of long tasks.
import { systemClock } from '../domain/clock.ts'
import type { ScanProgress } from '../domain/discovered-session.ts'
import { silentLog } from '../domain/log.ts'
import type { Log } from '../domain/log.ts'
import type { IndexProgress } from '../domain/search.ts'
import { bytes, visible } from './print.ts'

interface Output {
  isTTY?: boolean
  write(text: string): unknown
}

/** The log of a command is not stored: errors are printed, the rest is dropped. */
export function errorLog(output: Output): Log {
  const log: Log = {
    ...silentLog,
    error: (_, message) => void output.write(`rockpool: ${visible(message)}\n`),
    child: () => log,
  }
  return log
}

/** A task shorter than this prints nothing. */
const silentMs = 700
const redrawMs = 120
const nextLineMs = 5_000
const copyLineMs = 2_000

/** One line that changes on a terminal; elsewhere a line every few seconds. */
export function scanProgress(output: Output, now?: () => number): (progress: ScanProgress) => void {
  return showProgress(
    output,
    ({ files, filesDone, bytes: all, bytesDone }) => {
      const share = all === 0 ? 100 : Math.floor((bytesDone / all) * 100)
      return `Reading sessions: ${filesDone} of ${files} files, ${bytes(bytesDone)} of ${bytes(all)} (${share}%)`
    },
    now,
  )
}

/** The same for files that are read into the search index. */
export function indexProgress(output: Output): (progress: IndexProgress) => void {
  return showProgress(
    output,
    ({ files, filesDone, bytesRead }) => `Indexing: ${filesDone} of ${files} files, ${bytes(bytesRead)}`,
  )
}

/** For a copy of unknown size: prints a line every few seconds. */
export function copyProgress(
  output: Output,
  now = (): number => systemClock.monotonic(),
): (copied: Record<string, unknown>) => void {
  let printedAt = now()
  return (copied) => {
    const counts = Object.entries(copied).filter(([, count]) => typeof count === 'number' && count > 0)
    if (now() - printedAt < copyLineMs || counts.length === 0) return
    printedAt = now()
    output.write(`Copying: ${counts.map(([what, count]) => `${String(count)} ${what}`).join(', ')}\n`)
  }
}

function showProgress<Progress extends { files: number; filesDone: number }>(
  output: Output,
  lineOf: (progress: Progress) => string,
  now = (): number => systemClock.monotonic(),
): (progress: Progress) => void {
  let began: number | undefined
  let printedAt: number | undefined
  return (progress) => {
    const time = now()
    began ??= time
    const isDone = progress.filesDone === progress.files
    const isDue = printedAt === undefined || time - printedAt > (output.isTTY ? redrawMs : nextLineMs)
    if (time - began > silentMs && !isDone && isDue) {
      printedAt = time
      output.write(output.isTTY ? `\r${lineOf(progress)}\x1b[K` : `${lineOf(progress)}\n`)
    }
    if (!isDone) return
    if (output.isTTY && printedAt !== undefined) output.write('\r\x1b[K')
    began = printedAt = undefined
  }
}
