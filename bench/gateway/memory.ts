// What the gateway keeps and takes when it has nothing to do: empty, with many sessions, and after many messages.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atMost } from '../result.ts'
import type { BenchResult } from '../result.ts'
import { cpuMsOf, memoryMbOf, openClient, startGateway } from './program.ts'
import type { BenchClient, BenchGateway } from './program.ts'

const people = 200
const firstMessages = 500
const moreMessages = 2_500
/** The size counts when it has not fallen for so long. */
const restSeconds = 12

/** `full` has 10,000 sessions, and no gateway runs on it yet. */
export async function measureMemory(full: string): Promise<BenchResult[]> {
  const empty = mkdtempSync(join(tmpdir(), 'rockpool-bench-'))
  try {
    const rows = await Promise.all([withGateway(full, manySessions), withGateway(empty, manyMessages)])
    return rows.flat()
  } finally {
    rmSync(empty, { recursive: true, force: true })
  }
}

async function manySessions(gateway: BenchGateway, client: BenchClient): Promise<BenchResult[]> {
  await client.call('sessions.list', { limit: 50 })
  const rested = await restedMb(gateway.pid)
  const percent = await idlePercent(gateway.pid)
  for (let n = 0; n < 5; n++) await client.call('sessions.list', { limit: 'all' })
  const afterLists = await restedMb(gateway.pid)
  return [
    atMost('memory at rest, 10,000 full sessions', rested, 100, 'MB', 'resident, after the first list'),
    atMost('processor at rest, 10,000 full sessions', percent, 0.5, '%', 'of one core, for 10 s'),
    atMost(
      'memory at rest, after lists of all 10,000',
      afterLists,
      120,
      'MB',
      'resident, after five lists on one WebSocket',
    ),
  ]
}

async function manyMessages(gateway: BenchGateway, client: BenchClient): Promise<BenchResult[]> {
  await client.call('sessions.list', { limit: 50 })
  const empty = await restedMb(gateway.pid)
  await talk(client, firstMessages)
  const before = await restedMb(gateway.pid)
  await talk(client, moreMessages)
  const after = await restedMb(gateway.pid)
  return [
    atMost(
      'memory at rest, empty',
      empty,
      90,
      'MB',
      'resident; about 55 MB of it is the program file of Node',
    ),
    atMost(
      'memory at rest, after 3,000 messages of 200 people',
      after,
      120,
      'MB',
      `resident, ${before.toFixed(0)} MB after the first 500; offline agent`,
    ),
  ]
}

async function talk(client: BenchClient, messages: number): Promise<void> {
  let sent = 0
  const lane = async (): Promise<void> => {
    while (sent < messages) {
      const sessionKey = `agent:main:direct:p${sent++ % people}`
      await client.call('turns.run', { sessionKey, message: 'A message of ordinary length. '.repeat(10) })
    }
  }
  await Promise.all(Array.from({ length: 32 }, lane))
}

/** V8 returns memory some seconds after the last work. */
async function restedMb(pid: number): Promise<number> {
  let lowest = Infinity
  for (let unchanged = 0; unchanged < restSeconds; unchanged++) {
    await sleep(1_000)
    const now = memoryMbOf(pid)
    if (now < lowest - 1) unchanged = 0
    lowest = Math.min(lowest, now)
  }
  return memoryMbOf(pid)
}

async function idlePercent(pid: number): Promise<number> {
  const began = { at: performance.now(), cpuMs: cpuMsOf(pid) }
  await sleep(10_000)
  return (100 * (cpuMsOf(pid) - began.cpuMs)) / (performance.now() - began.at)
}

async function withGateway(
  dir: string,
  measure: (gateway: BenchGateway, client: BenchClient) => Promise<BenchResult[]>,
): Promise<BenchResult[]> {
  const gateway = await startGateway(dir)
  try {
    const client = await openClient(gateway.wsUrl, gateway.token)
    const rows = await measure(gateway, client)
    client.socket.close()
    return rows
  } finally {
    await gateway.stop()
  }
}
