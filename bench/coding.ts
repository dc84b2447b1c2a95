// What a coding session costs Rockpool's own process: while it waits, and while it talks without end.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { makeTestAgent } from '../test/support/claude-agent.ts'
import { testModel } from '../test/support/claude-home.ts'
import { openCodingHouse } from '../test/support/coding-house.ts'
import { directedAgent, init } from '../test/support/directed-agent.ts'
import { inline } from '../test/support/messages-api.ts'
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

/** The whole way of its words: kept, told of, and streamed into a chat that watches. */
async function chattySession(): Promise<BenchResult> {
  const claude = directedAgent()
  const house = openCodingHouse({ runtime: claude.runtime, deliver: async () => {} })
  const { id } = await house.launch('talk')
  while (claude.opened.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await house.pool.foreground(id, 'telegram|7', 1)
  claude.emit(init)
  const text = 'x'.repeat(10_000)
  const before = await settledMemory()
  let peak = 0
  for (let said = 0; said < 100 * megabyte; said += text.length) {
    claude.emit({ type: 'text', text })
    if (said % megabyte < text.length) {
      await new Promise((resolve) => setImmediate(resolve))
      peak = Math.max(peak, memoryNow() - before)
    }
  }
  claude.finish()
  await house.pool.whenQuiet(id)
  const after = ((await settledMemory()) - before) / megabyte
  await house.close()
  return {
    name: 'memory that 100 MB of output leave behind',
    measured: `${after.toFixed(1)} MB (at the most ${(peak / megabyte).toFixed(1)} MB meanwhile)`,
    wanted: 'at most 4 MB, the buffer',
    ok: after <= 4,
    how: 'a session that says blocks of 10 kB as fast as they can be handed over, watched by a chat; real SQLite',
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
