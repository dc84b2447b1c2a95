// What one durable update of a session row costs: with few and with many sessions, and beside a store that rewrites
// its sessions.json as seed 001 describes; and the same through the library's functions.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import JSON5 from 'json5'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import type { SessionEntry } from '../src/domain/session.ts'
import { updateSessionStoreEntry } from '../src/index.ts'
import { SqliteSessions } from '../src/store/sqlite/sessions.ts'
import type { BenchResult } from './result.ts'

export async function bench(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-store-'))
  try {
    return [
      await fewAndMany(folder),
      await besideRewriting(folder),
      await libraryFewAndMany(folder),
      await libraryFromFourProcesses(folder),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fewAndMany(folder: string): Promise<BenchResult> {
  await (await storeWith(folder, 10)).close()
  await (await storeWith(folder, 50_000)).close()
  const times: { few: number[]; many: number[] } = { few: [], many: [] }
  // In turns, so that other work of the machine affects both; one open at a time, with all that it does beside.
  for (let round = 0; round < 3; round++) {
    times.few.push(...(await timesIn(folder, 10, 500)))
    times.many.push(...(await timesIn(folder, 50_000, 500)))
  }
  const ratio = median(times.many) / median(times.few)
  return {
    name: 'one durable row update, 50,000 sessions against 10',
    measured: `${ratio.toFixed(2)}x (${ms(median(times.many))} against ${ms(median(times.few))})`,
    wanted: 'at most 1.5x',
    ok: ratio <= 1.5,
    how: 'p50 of 1,500 sequential updates each, in turns, with sessions.json written beside both meanwhile',
  }
}

async function besideRewriting(folder: string): Promise<BenchResult> {
  const count = 10_000
  const store = await storeWith(folder, count)
  const update = median(await updateTimes(store, count, 300))
  await store.close()
  const path = join(folder, 'rewritten.json')
  writeFileSync(
    path,
    JSON.stringify(
      Object.fromEntries(Array.from({ length: count }, (_, i) => [keyOf(i), anEntry(i)])),
      null,
      2,
    ),
  )
  const rewrite = median(Array.from({ length: 5 }, (_, i) => rewriteTime(path, keyOf(i))))
  const ratio = rewrite / update
  return {
    name: 'one durable row update at 10,000 sessions against rewriting sessions.json',
    measured: `${Math.round(ratio)}x faster (${ms(update)} against ${ms(rewrite)})`,
    wanted: 'at least 300x faster',
    ok: ratio >= 300,
    how: 'p50 of 300 against 5; rewriting as OpenClaw 2026.1.30: JSON5 parse, clone, pretty JSON, rename, no sync',
  }
}

/** In the stores that `fewAndMany` made. */
async function libraryFewAndMany(folder: string): Promise<BenchResult> {
  const times: { few: number[]; many: number[] } = { few: [], many: [] }
  for (let round = 0; round < 3; round++) {
    times.few.push(...(await libraryTimes(folder, 10, 500)))
    times.many.push(...(await libraryTimes(folder, 50_000, 500)))
  }
  const ratio = median(times.many) / median(times.few)
  return {
    name: 'updateSessionStoreEntry of the library, 50,000 sessions against 10',
    measured: `${ratio.toFixed(2)}x (${ms(median(times.many))} against ${ms(median(times.few))})`,
    wanted: 'at most 1.5x',
    ok: ratio <= 1.5,
    how: 'p50 of 1,500 sequential updates each, in turns, with sessions.json written beside both meanwhile',
  }
}

async function libraryTimes(folder: string, count: number, updates: number): Promise<number[]> {
  const storePath = join(folder, String(count), 'sessions.json')
  const times: number[] = []
  for (let i = 0; i < updates; i++) {
    const sessionKey = keyOf(Math.floor(Math.random() * count))
    const started = performance.now()
    await updateSessionStoreEntry({ storePath, sessionKey, update: async () => ({ totalTokens: i }) })
    times.push(performance.now() - started)
  }
  return times
}

async function libraryFromFourProcesses(folder: string): Promise<BenchResult> {
  const [processes, updates] = [4, 1_000]
  const storePath = join(folder, '10000', 'sessions.json')
  const library = new URL('../src/index.ts', import.meta.url).href
  const script = `
    import { updateSessionStoreEntry } from ${JSON.stringify(library)}
    const storePath = ${JSON.stringify(storePath)}
    const one = (i) => updateSessionStoreEntry({
      storePath, sessionKey: 'agent:main:telegram:direct:' + (100000 + i), update: async () => ({ totalTokens: i }) })
    await one(0)
    process.stdout.write('ready')
    await new Promise((resolve) => process.stdin.once('data', resolve))
    for (let i = 0; i < ${updates}; i++) await one(Math.floor(Math.random() * 10000))
    process.exit()`
  const workers = Array.from({ length: processes }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  await Promise.all(workers.map((worker) => once(worker.stdout, 'data')))
  const started = performance.now()
  const ended = workers.map((worker) => once(worker, 'exit'))
  for (const worker of workers) worker.stdin.end('go')
  const codes = (await Promise.all(ended)).map(([code]) => Number(code))
  const perSecond = (processes * updates) / ((performance.now() - started) / 1000)
  const failed = codes.filter((code) => code !== 0).length
  return {
    name: 'updateSessionStoreEntry of the library from four processes, 10,000 sessions',
    measured: `${Math.round(perSecond)} updates a second, ${failed} processes with an error`,
    wanted: 'at least 1,000 updates a second, no error',
    ok: perSecond >= 1_000 && failed === 0,
    how: '1,000 durable updates each of random sessions, with sessions.json written beside them meanwhile',
  }
}

async function timesIn(folder: string, count: number, updates: number): Promise<number[]> {
  const store = openStore(folder, count)
  const times = await updateTimes(store, count, updates)
  await store.close()
  return times
}

function openStore(folder: string, count: number): SqliteSessions {
  const root = join(folder, String(count))
  return new SqliteSessions({
    agentId: 'main',
    database: join(root, 'sessions.sqlite'),
    mirror: join(root, 'sessions.json'),
    clock: systemClock,
    log: silentLog,
  })
}

async function storeWith(folder: string, count: number): Promise<SqliteSessions> {
  const store = openStore(folder, count)
  for (let done = 0; done < count; done += 1_000) {
    const keys = Array.from({ length: Math.min(1_000, count - done) }, (_, i) => done + i)
    await Promise.all(keys.map((i) => store.update(keyOf(i), () => anEntry(i))))
  }
  return store
}

async function updateTimes(store: SqliteSessions, count: number, updates: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < updates; i++) {
    const key = keyOf(Math.floor(Math.random() * count))
    const started = performance.now()
    await store.update(key, (entry) => ({ ...entry!, updatedAt: entry!.updatedAt + 1_000 + i }))
    times.push(performance.now() - started)
  }
  return times
}

function rewriteTime(path: string, key: string): number {
  const started = performance.now()
  const store = structuredClone(JSON5.parse<Record<string, SessionEntry>>(readFileSync(path, 'utf8')))
  store[key] = { ...store[key]!, updatedAt: Date.now() }
  writeFileSync(`${path}.tmp`, JSON.stringify(store, null, 2), { mode: 0o600 })
  renameSync(`${path}.tmp`, path)
  return performance.now() - started
}

const keyOf = (i: number): string => `agent:main:telegram:direct:${100_000 + i}`

/** About a kilobyte, as a row with routing and usage has. */
function anEntry(i: number): SessionEntry {
  const peer = String(100_000 + i)
  return {
    sessionId: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    updatedAt: 1_790_000_000_000 + i,
    sessionFile: `/home/dev/.openclaw/agents/main/sessions/00000000-0000-4000-8000-${String(i).padStart(12, '0')}.jsonl`,
    chatType: 'direct',
    channel: 'telegram',
    displayName: `Person number ${i}`,
    origin: {
      label: `Person ${i}`,
      provider: 'telegram',
      surface: 'telegram',
      chatType: 'direct',
      from: `telegram:${peer}`,
      to: 'telegram:bot',
      accountId: 'default',
    },
    deliveryContext: { channel: 'telegram', to: peer, accountId: 'default' },
    lastChannel: 'telegram',
    lastTo: peer,
    lastAccountId: 'default',
    thinkingLevel: 'low',
    systemSent: true,
    inputTokens: 12_345,
    outputTokens: 678,
    totalTokens: 12_345,
    contextTokens: 200_000,
    modelProvider: 'anthropic',
    model: 'claude-opus-4-5',
    compactionCount: 0,
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

const ms = (value: number): string => `${value.toFixed(2)} ms`
