// Makes one system call of an update fail, and looks at what is left: the state before or the state after, readable,
// and good for the next update. strace does it, attached to a process that is about to make the update.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { statePaths } from '../../src/store/paths.ts'
import { inFolder } from './store-storms.ts'
import { addOne, openStoreOfKind } from './store-worker.ts'
import type { StoreKind } from './store-worker.ts'
import { WorkerProcess, storedCount } from './worker-process.ts'

export interface Fault {
  syscall: string
  error: 'EIO' | 'ENOSPC'
  /** Which of the calls fails, counted from 1. */
  when: number
}

/** Why it cannot be done here, or nothing when it can. */
export function whyNoSweep(): string | undefined {
  const { status, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true'], { encoding: 'utf8' })
  if (status === 0) return undefined
  return stderr ? `strace may not trace here: ${stderr.trim().split('\n')[0]}` : 'strace is missing'
}

/** True when the call was made and failed, false when there were not so many. */
export async function updateWithFault(kind: StoreKind, fault: Fault): Promise<boolean> {
  return inFolder(async (root) => {
    await updateOnce(kind, root)
    const { syscall, error, when } = fault
    const { worker, strace, log } = await attached(kind, root, `${syscall}:error=${error}:when=${when}`)
    worker.tell('count 1 k')
    await Promise.race([worker.said('done').catch(() => {}), worker.exited])
    const acknowledged = worker.acknowledged()
    await worker.end()
    await strace
    await expectBeforeOrAfter(kind, root, acknowledged, fault)
    return readFileSync(log, 'utf8').includes('(INJECTED)')
  })
}

/** Kills a process at each such call of giving a row another key, one process for each. Resolves to how many there are. */
export async function moveKilledAtEvery(kind: StoreKind, syscall: string): Promise<number> {
  let calls = 0
  while (calls < 60 && (await moveKilledAt(kind, syscall, calls + 1))) calls++
  return calls
}

/** True when it was killed there, false when there were not so many calls. */
async function moveKilledAt(kind: StoreKind, syscall: string, when: number): Promise<boolean> {
  return inFolder(async (root) => {
    await updateOnce(kind, root)
    const { worker, strace } = await attached(kind, root, `${syscall}:signal=KILL:when=${when}`)
    worker.tell('move k agent:main:k')
    await Promise.race([worker.said('done').catch(() => {}), worker.exited])
    const isDone = worker.acknowledged() === 1
    await worker.end()
    await strace
    const store = openStoreOfKind(kind, root)
    const keys = (await store.list()).sessions.map(({ key }) => key)
    expect(isDone ? [['agent:main:k']] : [['k'], ['agent:main:k']], `${syscall} ${when}`).toContainEqual(keys)
    expect((await store.move('k', 'agent:main:k'))?.sessionId).toBe('id')
    await store.close()
    return !isDone
  })
}

/** A worker with strace at it; `strace` resolves when that has ended. */
async function attached(
  kind: StoreKind,
  root: string,
  inject: string,
): Promise<{ worker: WorkerProcess; strace: Promise<void>; log: string }> {
  const worker = new WorkerProcess(kind, root)
  await worker.said('ready')
  const log = join(root, 'strace.log')
  const trace = ['-e', `trace=${inject.split(':')[0]}`, '-e', `inject=${inject}`]
  const strace = spawn('strace', ['-f', '-p', String(worker.pid), '-o', log, ...trace])
  const ended = new Promise<void>((resolve) => void strace.on('close', () => resolve()))
  await new Promise<void>((resolve) =>
    strace.stderr.on('data', (text: Buffer) => void (/attached/.test(text.toString()) && resolve())),
  )
  return { worker, strace: ended, log }
}

async function expectBeforeOrAfter(
  kind: StoreKind,
  root: string,
  acknowledged: number,
  fault: Fault,
): Promise<void> {
  const what = JSON.stringify({ kind, ...fault, acknowledged })
  const stored = await storedCount(kind, root)
  expect(acknowledged === 1 ? [2] : [1, 2], what).toContain(stored)
  await updateOnce(kind, root)
  expect(await storedCount(kind, root), what).toBe(stored + 1)
  const left = readdirSync(statePaths(root).sessions('main')).filter((name) => name.endsWith('.tmp'))
  expect(left, what).toEqual([])
}

async function updateOnce(kind: StoreKind, root: string): Promise<void> {
  const store = openStoreOfKind(kind, root)
  await store.update('k', addOne)
  await store.close()
}
