// Looks whether the configuration file has changed. A look every second: editors replace files in ways that
// notifications miss.
import { statSync } from 'node:fs'
import type { Clock } from '../domain/clock.ts'

export function watchConfigFile(file: string, clock: Clock, onChange: () => Promise<void>): () => void {
  let known = markOf(file)
  let stopped = false
  let cancel = clock.after(1000, () => void look())
  const look = async (): Promise<void> => {
    const mark = markOf(file)
    if (mark !== known) {
      known = mark
      await onChange()
    }
    if (!stopped) cancel = clock.after(1000, () => void look())
  }
  return () => {
    stopped = true
    cancel()
  }
}

function markOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stat ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : ''
}
