// What a coding session costs Rockpool's own process: while it waits, and while it talks without end.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CodingStore } from '../src/store/coding-store.ts'
import { OutputLog } from '../src/coding/output-log.ts'
import { systemClock } from '../src/domain/clock.ts'
import { openStateDatabase } from '../src/store/state-database.ts'
import { makeTestAgent } from '../test/claude-agent.ts'
import { testModel } from '../test/claude-home.ts'
import { newFolder, openCodingHouse } from '../test/coding-house.ts'
import { inline } from '../test/messages-api.ts'
import type { BenchResult } from './result.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const idleSessions = 4
const megabyte = 1024 * 1024

export async function bench(): Promise<BenchResult[]> {
  return [await idleSession(), await chattySession()]
}

/** The first session also brings in what all of them share, so the later ones are measured. */
async function idleSession(): Promise<BenchResult> {
  const real = await makeTestAgent()
  const house = openCodingHouse({ runtime: real.agent, config: { maxSessions: idleSessions + 1 } })
  const begin = async (n: number): Promise<void> => {
    const { id } = await house.launch(inline({ text: `ready ${n}` }), { model: testModel })
    await house.pool.whenQuiet(id)
  }
  await begin(0)
  const before = await settledMemory()
  for (let n = 1; n <= idleSessions; n++) await begin(n)
  const each = ((await settledMemory()) - before) / idleSessions / megabyte
  await house.close()
  await real.close()
  return {
    name: 'memory of our own process for an idle coding session',
    measured: `${each.toFixed(2)} MB`,
    wanted: 'at most 3 MB',
    ok: each <= 3,
    how: `heap, external and array buffers after a collection, ${idleSessions} idle sessions of the real binary after a first one`,
  }
}

async function chattySession(): Promise<BenchResult> {
  const database = openStateDatabase(`${newFolder()}/rockpool.sqlite`)
  const store = new CodingStore(database)
  const log = new OutputLog({ store, clock: systemClock }, 'chatty', async () => {})
  const block = 'x'.repeat(10_000)
  const before = await settledMemory()
  let peak = 0
  for (let said = 0; said < 100 * megabyte; said += block.length) {
    void log.add('text', block)
    if (said % megabyte < block.length) {
      await new Promise((resolve) => setImmediate(resolve))
      peak = Math.max(peak, memoryNow() - before)
    }
  }
  await log.settled()
  const after = ((await settledMemory()) - before) / megabyte
  await database.close()
  return {
    name: 'memory that 100 MB of output leave behind',
    measured: `${after.toFixed(1)} MB (at the most ${(peak / megabyte).toFixed(1)} MB meanwhile)`,
    wanted: 'at most 4 MB, the buffer',
    ok: after <= 4,
    how: 'blocks of 10 kB as fast as they can be handed over, real SQLite',
  }
}

function memoryNow(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

async function settledMemory(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return memoryNow()
}
