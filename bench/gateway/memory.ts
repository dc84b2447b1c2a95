// How much memory the gateway keeps when it has nothing to do: empty, with many sessions, and after many messages.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atMost } from '../result.ts'
import type { BenchResult } from '../result.ts'
import { openClient, startGateway } from './program.ts'
import type { BenchClient, BenchGateway } from './program.ts'

const people = 200
const firstMessages = 1_000
const moreMessages = 5_000

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
  for (let n = 0; n < 5; n++) await client.call('sessions.list', { limit: 'all' })
  const afterLists = await restedMb(gateway.pid)
  return [
    atMost('memory at rest, 10,000 full sessions', rested, 100, 'MB', 'resident, after the first list'),
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
      'memory at rest, after 6,000 messages of 200 people',
      after,
      120,
      'MB',
      `resident, ${before.toFixed(0)} MB after the first 1,000; offline agent`,
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

/** V8 gives memory back some seconds after the last work: the size counts when it has not fallen for 15 s. */
async function restedMb(pid: number): Promise<number> {
  let lowest = Infinity
  for (let unchanged = 0; unchanged < 3;) {
    await sleep(5_000)
    const now = residentMb(pid)
    unchanged = now < lowest - 1 ? 0 : unchanged + 1
    lowest = Math.min(lowest, now)
  }
  return residentMb(pid)
}

function residentMb(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)![1]) / 1024
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
