// What happens to a session store in bad weather: many processes, paused ones, killed ones. The default run has a
// small case of each, test/full the sizes that were promised.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { statePaths } from '../../src/store/paths.ts'
import type { StoreKind } from './store-worker.ts'
import { WorkerProcess, storedCount } from './worker-process.ts'

export async function inFolder<T>(fn: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-storm-'))
  try {
    return await fn(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Many processes update the same keys. All updates must be in the result. */
export async function manyWriters(kind: StoreKind, processes: number, updates: number): Promise<void> {
  await inFolder(async (root) => {
    const workers = Array.from({ length: processes }, () => new WorkerProcess(kind, root))
    for (const worker of workers) await worker.said('ready')
    for (const worker of workers) worker.tell(`count ${updates}`)
    await Promise.all(workers.map((worker) => worker.said('done')))
    await Promise.all(workers.map((worker) => worker.end()))
    expect(workers.flatMap((worker) => worker.failures())).toEqual([])
    expect(await storedCount(kind, root)).toBe(processes * updates)
    if (kind === 'sqlite') expectMirrorIsUpToDate(root, processes * updates)
  })
}

function expectMirrorIsUpToDate(root: string, count: number): void {
  const mirror = JSON.parse(readFileSync(statePaths(root).sessionsJson('main'), 'utf8')) as Record<
    string,
    { n: number }
  >
  expect(Object.values(mirror).reduce((sum, entry) => sum + entry.n, 0)).toBe(count)
}

/** A holder is paused for longer than the stale limit, between reading and writing. Gives what was lost. */
export async function lostByPausedHolder(kind: StoreKind): Promise<number> {
  return inFolder(async (root) => {
    const [holder, other] = [new WorkerProcess(kind, root), new WorkerProcess(kind, root)]
    await Promise.all([holder.said('ready'), other.said('ready')])
    holder.tell('stop-inside')
    await holder.stopped()
    other.tell('count 1 k')
    // The stale limit of these stores is 300 ms. A process that takes the lock by its age continues; the others wait for the holder.
    if (kind === 'files-age-lock') await other.said('done')
    else await sleep(1_000)
    holder.signal('SIGCONT')
    await Promise.all([holder.said('done'), other.said('done')])
    await Promise.all([holder.end(), other.end()])
    const acknowledged = holder.acknowledged() + other.acknowledged()
    return acknowledged - (await storedCount(kind, root))
  })
}

/** Writers are paused at random moments while they all write. */
export async function pausedWriters(kind: StoreKind, updates: number, pauses: number): Promise<void> {
  await inFolder(async (root) => {
    const workers = Array.from({ length: 4 }, () => new WorkerProcess(kind, root))
    for (const worker of workers) await worker.said('ready')
    for (const worker of workers) worker.tell(`count ${updates}`)
    for (let i = 0; i < pauses; i++) {
      const worker = workers[i % workers.length]!
      await sleep(Math.random() * 60)
      worker.signal('SIGSTOP')
      await sleep(450)
      worker.signal('SIGCONT')
    }
    await Promise.all(workers.map((worker) => worker.said('done')))
    await Promise.all(workers.map((worker) => worker.end()))
    const acknowledged = workers.reduce((sum, worker) => sum + worker.acknowledged(), 0)
    expect(
      workers.flatMap((worker) => worker.failures()).filter((line) => !line.startsWith('failed lock-lost')),
    ).toEqual([])
    expect(await storedCount(kind, root)).toBe(acknowledged)
  })
}

/** Writers are killed in the middle of a storm, again and again. Nothing acknowledged is lost, and no writer is blocked. */
export async function killedWriters(kind: StoreKind, rounds: number): Promise<void> {
  await inFolder(async (root) => {
    const steady = new WorkerProcess(kind, root)
    await steady.said('ready')
    steady.tell('count 1000000')
    let acknowledged = 0
    for (let round = 0; round < rounds; round++) {
      const victim = new WorkerProcess(kind, root)
      victim.tell('count 1000000')
      while (victim.acknowledged() < 2) await sleep(1)
      await sleep(Math.random() * 20)
      await victim.kill()
      acknowledged += victim.acknowledged()
      const before = steady.acknowledged()
      while (steady.acknowledged() === before) await sleep(1)
    }
    await steady.kill()
    acknowledged += steady.acknowledged()
    expect(steady.failures()).toEqual([])
    const stored = await storedCount(kind, root)
    // At most one update of each killed process was on its way and may or may not have arrived.
    expect(stored).toBeGreaterThanOrEqual(acknowledged)
    expect(stored).toBeLessThanOrEqual(acknowledged + rounds + 1)
  })
}
