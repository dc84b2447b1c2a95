// Several processes meet a lock whose holder is dead. If checking and removing the lock were two steps, two processes would get
// it.
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'
import { inFolder } from './store-storms.ts'
import { WorkerProcess } from './worker-process.ts'

export async function contendersMeetDeadLocks(rounds: number): Promise<void> {
  await inFolder(async (root) => {
    const path = join(root, 'sessions.json')
    const workers = Array.from({ length: 6 }, () => new WorkerProcess('files', path))
    for (const worker of workers) await worker.said('ready')
    for (let round = 1; round <= rounds; round++) {
      writeFileSync(`${path}.lock`, deadLocks[round % deadLocks.length]!())
      for (const worker of workers) worker.tell('lock 2')
      await Promise.all(workers.map((worker) => worker.said('done', round)))
    }
    await Promise.all(workers.map((worker) => worker.end()))
    expectNoTwoInside(workers.flatMap((worker) => worker.lines))
  })
}

const self = identifyProcess(process.pid)!
const payload = (changes: object): string =>
  JSON.stringify({
    v: 2,
    pid: self.pid,
    starttime: self.startTime,
    bootId: self.domain,
    host: hostname(),
    nonce: 'x',
    startedAt: 1,
    op: 'x',
    ...changes,
  })

const deadLocks = [
  () => payload({ pid: 2 ** 22 + 1 }),
  () => payload({ starttime: '1' }),
  () => payload({ bootId: 'linux:an-earlier-boot:pid:[1]' }),
  () => JSON.stringify({ pid: 2 ** 22 + 1, startedAt: 1 }),
]

function expectNoTwoInside(lines: string[]): void {
  const moments = lines
    .filter((line) => /^(in|out) /.test(line))
    .map((line) => ({ what: line.split(' ')[0]!, at: BigInt(line.split(' ')[1]!) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1))
  let inside = 0
  for (const { what } of moments) {
    inside += what === 'in' ? 1 : -1
    expect(inside).toBeLessThanOrEqual(1)
  }
}
