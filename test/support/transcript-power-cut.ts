// Cuts the power while a process appends to a transcript, again and again, on a disk of its own.
import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Disk } from './power-cut.ts'
import { audit, startWriter } from './transcript-writers.ts'

export async function transcriptPowerCuts(
  cuts: number,
  variant = 'real',
): Promise<{ lost: string[]; damage: string[] }> {
  const disk = new Disk()
  const dir = join(disk.mountPoint, 'sessions')
  const acknowledged: string[] = []
  try {
    disk.mount()
    for (let cut = 0; cut < cuts; cut++) {
      const writer = startWriter(dir, 's1', `cut${cut}`, Infinity, variant, true)
      await writer.begun
      await sleep(Math.random() * 200)
      const cutAt = disk.cutPower()
      writer.kill()
      await writer.done
      await disk.unmount()
      disk.mount()
      ageLock(join(dir, 's1.jsonl.lock'))
      acknowledged.push(...writer.acknowledgedBefore(cutAt))
    }
    const { lost, damage } = await audit(dir, 's1', acknowledged)
    return { lost, damage }
  } finally {
    await disk.remove()
  }
}

/** After a real cut an empty lock would be older than the boot; here there was none, so it is made to look old. */
function ageLock(lock: string): void {
  if (existsSync(lock)) utimesSync(lock, 0, 0)
}
