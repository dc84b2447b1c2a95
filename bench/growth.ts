// What growth costs: the built gateway with few sessions, people and coding sessions, and with very many; with one open page and with
// hundreds; and with few and very many transcripts of Claude Code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodingStore } from '../src/store/sqlite/coding-store.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import { statePaths } from '../src/store/paths.ts'
import { aCodingSession } from '../test/support/coding-store-contract.ts'
import { fillStateDir, keyOf } from './gateway/many-sessions.ts'
import { cpuMsOf, memoryMbOf, openClient, p50, startGateway, untilIdle } from './gateway/program.ts'
import type { BenchClient } from './gateway/program.ts'
import { transcriptGrowth } from './growth/transcripts.ts'
import type { BenchResult } from './result.ts'

const few = { sessions: 1_000, people: 10, coding: 50 }
const many = { sessions: 100_000, people: 10_000, coding: 1_000 }
const pages = 500
const most = 1.5
/** After a change the gateway rests up to 30 s before it writes sessions.json again. */
const restSeconds = 35
/** As long as the time between two pings, so that every page is pinged once meanwhile. */
const idleMs = 45_000

type Size = typeof few
type Figures = Record<'ready' | 'list' | 'get' | 'patch' | 'turn' | 'coding' | 'memory' | 'idle', number>

export async function bench(): Promise<BenchResult[]> {
  const small = await measure(few, 1)
  const large = await measure(many, 1)
  const watched = await measure(few, pages)
  const grown = Object.keys(small) as Array<keyof Figures>
  return [
    ...grown.map((name) => compared(name, small[name], large[name], sizeOf(many))),
    compared('patch', small.patch, watched.patch, `${pages} open pages`),
    compared('turn', small.turn, watched.turn, `${pages} open pages`),
    compared('memory', small.memory, watched.memory, `${pages} open pages`),
    compared('idle', small.idle, watched.idle, `${pages} open pages`),
    ...(await transcriptGrowth()),
  ]
}

const names: Record<keyof Figures, [name: string, unit: string]> = {
  ready: ['start to ready', 'ms'],
  list: ['sessions.list {limit: 50}, p50', 'ms'],
  get: ['sessions.get, p50', 'ms'],
  patch: ['sessions.patch, p50', 'ms'],
  turn: ['a message and its answer, offline agent, p50', 'ms'],
  coding: ['coding.sessions {limit: 50}, p50', 'ms'],
  memory: ['resident memory at rest', 'MB'],
  idle: ['processor at rest, at least 0.1 % each', '%'],
}

function sizeOf({ sessions, people, coding }: Size): string {
  return `${sessions} sessions in one agent, ${people} people and ${coding} coding sessions`
}

function compared(figure: keyof Figures, small: number, large: number, what: string): BenchResult {
  const [name, unit] = names[figure]
  const ratio = large / small
  return {
    name: `${name}, with ${what}`,
    measured: `${ratio.toFixed(2)}x (${small.toFixed(1)} and ${large.toFixed(1)} ${unit})`,
    wanted: `at most ${most}x`,
    ok: ratio <= most,
    how: `against ${sizeOf(few)} and one open page; both in this run; changes of many sessions make the gateway write a larger sessions.json meanwhile`,
  }
}

async function measure(size: Size, openPages: number): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-growth-'))
  try {
    await fill(dir, size)
    const started = performance.now()
    const gateway = await startGateway(dir)
    const ready = performance.now() - started
    const watching = await openAll(openPages, gateway)
    const client = await openClient(gateway.wsUrl, gateway.token)
    await client.call('sessions.list', { limit: 50 })
    await sleep(10_000)
    const figures = { ready, ...(await timesOf(client, size)), ...(await atRest(gateway.pid)) }
    for (const { socket } of [client, ...watching]) socket.close()
    await gateway.stop()
    return figures
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function fill(dir: string, { sessions, people, coding }: Size): Promise<void> {
  await fillStateDir(dir, sessions, 500)
  writeFileSync(join(dir, 'rockpool.json'), JSON.stringify({ claude: { credential: 'none' } }))
  const database = openStateDatabase(statePaths(dir).database)
  await database.write((q) => {
    for (let n = 0; n < people; n++)
      q.run(
        `INSERT INTO paired_person VALUES ('telegram', 'default', ?, 'Person', 0, 1)`,
        String(100_000 + n),
      )
  })
  const store = new CodingStore(database)
  for (let n = 0; n < coding; n++)
    await store.save(
      aCodingSession(`c${n}`, {
        name: `task-${n}`,
        lifecycle: 'ended',
        status: 'completed',
        createdAt: 1_790_000_000_000 + n * 60_000,
      }),
    )
  await database.close()
}

async function openAll(count: number, { wsUrl, token }: { wsUrl: string; token: string }) {
  const clients: BenchClient[] = []
  for (let n = 0; n < count; n++) {
    const client = await openClient(wsUrl, token)
    for (const topic of ['sessions', 'coding']) await client.call(`${topic}.subscribe`, {})
    clients.push(client)
  }
  return clients
}

async function timesOf(
  client: BenchClient,
  { sessions }: Size,
): Promise<Omit<Figures, 'ready' | 'memory' | 'idle'>> {
  const key = (n: number): string => keyOf((n * 251) % sessions)
  return {
    list: await p50(200, () => client.call('sessions.list', { limit: 50 })),
    get: await p50(200, (n) => client.call('sessions.get', { key: key(n) })),
    patch: await p50(100, (n) => client.call('sessions.patch', { key: key(n), thinkingLevel: 'high' })),
    turn: await p50(50, (n) =>
      client.call('turns.run', { sessionKey: `agent:main:direct:p${n}`, message: 'hello' }),
    ),
    coding: await p50(100, () => client.call('coding.sessions', { limit: 50 })),
  }
}

/** V8 returns memory some seconds after the last work. */
async function atRest(pid: number): Promise<{ memory: number; idle: number }> {
  await untilIdle(pid, restSeconds)
  const memory = memoryMbOf(pid)
  const before = cpuMsOf(pid)
  await sleep(idleMs)
  return { memory, idle: Math.max(((cpuMsOf(pid) - before) / idleMs) * 100, 0.1) }
}
