// Limits processes to a share of one processor with control groups of Linux (version 1 or 2), to see how a bench scales when
// processors are free. Needs the right to make control groups.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const periodUs = 10_000
/** The mount of version 1 for processors, and that of version 2. */
const mounts = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']

export class ProcessorLimit {
  readonly #folder: string

  /** Throws if the system has no control groups, or this process may not make them. */
  constructor(name: string, share: number) {
    const mount = mounts.find(limitsProcessors)
    if (!mount) throw new Error('no control group for processors is mounted')
    this.#folder = join(mount, `rockpool-bench-${process.pid}-${name}`)
    mkdirSync(this.#folder)
    const quotaUs = Math.round(share * periodUs)
    if (existsSync(join(this.#folder, 'cpu.cfs_quota_us'))) {
      this.#write('cpu.cfs_period_us', periodUs)
      this.#write('cpu.cfs_quota_us', quotaUs)
    } else this.#write('cpu.max', `${quotaUs} ${periodUs}`)
  }

  /** With all of its threads. */
  add(pid: number): void {
    this.#write('cgroup.procs', pid)
  }

  /** After its processes have ended. */
  remove(): void {
    rmdirSync(this.#folder)
  }

  #write(file: string, value: string | number): void {
    writeFileSync(join(this.#folder, file), String(value))
  }
}

function limitsProcessors(mount: string): boolean {
  if (existsSync(join(mount, 'cpu.cfs_quota_us'))) return true
  const controllers = join(mount, 'cgroup.subtree_control')
  return existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s+/).includes('cpu')
}
