// Cuts the power of a file system: an ext4 of our own in a file, shut down by an ioctl that drops everything which was
// not synced. Needs root, because it mounts.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { statePaths } from '../../src/store/paths.ts'
import type { StoreKind } from './store-worker.ts'
import { WorkerProcess, storedCount } from './worker-process.ts'

/** Why it cannot be done here, or nothing when it can. */
export async function whyNoPowerCuts(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'power cuts are simulated with an ioctl of Linux'
  if (process.getuid?.() !== 0) return 'mounting a file system needs root'
  for (const tool of ['mkfs.ext4', 'python3', 'mount', 'losetup'])
    if (spawnSync('which', [tool]).status !== 0) return `${tool} is missing`
  const disk = new Disk()
  const why = await disk.tryMount()
  await disk.remove()
  return why
}

// _IOR('X', 125, __u32) with EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal is written. Says when it was done.
const cutScript = `
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
print(time.monotonic_ns(), flush=True)
fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))
`

export class Disk {
  readonly folder = mkdtempSync(join(tmpdir(), 'rockpool-power-'))
  #image = join(this.folder, 'image')
  readonly mountPoint = join(this.folder, 'mounted')
  #isMounted = false

  constructor() {
    writeFileSync(this.#image, '')
    truncateSync(this.#image, 64 * 1024 * 1024)
    mkdirSync(this.mountPoint)
    execFileSync('mkfs.ext4', ['-q', '-F', this.#image])
  }

  /** The kernel writes nothing by itself for minutes: what a store does not sync is lost, however slow the machine is. */
  mount(): void {
    execFileSync('mount', ['-o', 'loop,commit=300', this.#image, this.mountPoint], { stdio: 'pipe' })
    this.#isMounted = true
  }

  /** A process that was killed may hold its files a moment longer. */
  async unmount(): Promise<void> {
    const deadline = performance.now() + 60_000
    while (this.#isMounted) {
      const { status, stderr } = spawnSync('umount', [this.mountPoint], { encoding: 'utf8' })
      if (status === 0) this.#isMounted = false
      else if (performance.now() > deadline) throw new Error(stderr)
      else await sleep(20)
    }
  }

  async tryMount(): Promise<string | undefined> {
    try {
      this.mount()
      await this.unmount()
      return undefined
    } catch (error) {
      return `this machine does not mount: ${error instanceof Error ? error.message.split('\n').at(-2) : String(error)}`
    }
  }

  /**
   * Gives the moment before the cut. The next mount shows a copy of what was on the disk then: a process in another mount
   * namespace may keep the file system that was cut, and `mount` would use its loop device again.
   */
  cutPower(): bigint {
    const cutAt = execFileSync('python3', ['-c', cutScript, this.mountPoint], { encoding: 'utf8' })
    const old = this.#image
    this.#image = `${old}+`
    copyFileSync(old, this.#image)
    rmSync(old)
    return BigInt(cutAt.trim())
  }

  async remove(): Promise<void> {
    await this.unmount()
    // A writer of the copies may still be ending, and leave a file here.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

/** Updates a store and cuts the power, again and again. Gives how many acknowledged updates were lost at each cut. */
export async function lostByPowerCuts(kind: StoreKind, cuts: number): Promise<number[]> {
  const disk = new Disk()
  const lost: number[] = []
  try {
    disk.mount()
    for (let i = 0; i < cuts; i++) lost.push(await lostByOneCut(kind, disk))
    return lost
  } finally {
    await disk.remove()
  }
}

async function lostByOneCut(kind: StoreKind, disk: Disk): Promise<number> {
  const root = join(disk.mountPoint, 'state')
  const before = await storedCount(kind, root)
  const worker = new WorkerProcess(kind, root)
  worker.tell('count 1000000')
  while (worker.acknowledged() < 3) await sleep(1)
  await sleep(Math.random() * 300)
  const cutAt = disk.cutPower()
  await worker.kill()
  await disk.unmount()
  disk.mount()
  ageLock(root)
  const expected = before + worker.acknowledged(cutAt)
  return Math.max(0, expected - (await storedCount(kind, root)))
}

/** A lock that the cut left empty would be from before the boot; here there was none, so it is made to look old. */
function ageLock(root: string): void {
  const lock = `${statePaths(root).sessionsJson('main')}.lock`
  if (existsSync(lock)) utimesSync(lock, 0, 0)
}
