// Reads one record of a transcript again, by the place that an index has.
import { parseRecord } from '../domain/json.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { closeAtEnd, openForeign } from '../store/disk/foreign-file.ts'

/** Undefined if the transcript is gone or was rewritten. */
export function recordAt(path: string, offset: number): Record<string, unknown> | undefined {
  try {
    const fd = openForeign(path)
    using _ = closeAtEnd(fd)
    const [line] = linesOfFile(fd, offset, 16 << 20)
    return line && parseRecord(line.bytes.toString('utf8'))
  } catch {
    // Deleted since the last scan.
    return undefined
  }
}
