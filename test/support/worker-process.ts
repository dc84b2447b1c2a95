// Drives test/support/store-worker.ts from a test.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStoreOfKind } from './store-worker.ts'
import type { StoreKind } from './store-worker.ts'

export class WorkerProcess {
  readonly lines: string[] = []
  readonly exited: Promise<void>
  readonly #child: ChildProcess

  constructor(kind: StoreKind, root: string) {
    this.#child = spawn(process.execPath, ['test/support/store-worker.ts', kind, root], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, UV_THREADPOOL_SIZE: '1', NODE_NO_WARNINGS: '1' },
    })
    const output = createInterface({ input: this.#child.stdout! })
    output.on('line', (line) => this.lines.push(line))
    const exit = new Promise((resolve) => this.#child.once('exit', resolve))
    const end = new Promise((resolve) => output.once('close', resolve))
    this.exited = Promise.all([exit, end]).then(() => {})
  }

  get pid(): number {
    return this.#child.pid!
  }

  tell(command: string): void {
    this.#child.stdin!.write(`${command}\n`)
  }

  /** Waits until this line has been said so many times. */
  async said(line: string, times = 1): Promise<void> {
    while (this.lines.filter((one) => one === line).length < times) {
      if (this.#child.exitCode !== null)
        throw new Error(`the worker ended: ${this.lines.slice(-3).join(' / ')}`)
      await sleep(2)
    }
  }

  /** How many updates were acknowledged, or how many before a moment of the monotonic clock. */
  acknowledged(before?: bigint): number {
    const acks = this.lines.filter((line) => line.startsWith('ack '))
    return before === undefined
      ? acks.length
      : acks.filter((line) => BigInt(line.split(' ')[2]!) < before).length
  }

  failures(): string[] {
    return this.lines.filter((line) => line.startsWith('failed '))
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async stopped(): Promise<void> {
    while (stateOf(this.pid) !== 'T') await sleep(2)
  }

  /** Lets it end by itself. */
  async end(): Promise<void> {
    this.#child.stdin!.end()
    await this.exited
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }
}

function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat[stat.lastIndexOf(')') + 2]
}

/** How many updates are in the store, over all keys. */
export async function storedCount(kind: StoreKind, root: string): Promise<number> {
  const store = openStoreOfKind(kind, root)
  let sum = 0
  for await (const { entry } of store.entries()) sum += Number(entry['n'])
  await store.close()
  return sum
}
