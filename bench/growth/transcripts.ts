// What many transcripts of Claude Code cost: 2,000 files with 0.2 GB against 50,000 files with 5 GB, each in a home of its own. Commands
// are measured by their processor time, the gateway by what its clients wait for.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCorpus } from '../../test/support/corpus.ts'
import { cpuMsOf, memoryMbOf, openClient, p50, startGateway, untilIdle } from '../gateway/program.ts'
import type { BenchClient } from '../gateway/program.ts'
import type { BenchResult } from '../result.ts'

const few = { files: 2_000, bytes: 200_000_000 }
const many = { files: 50_000, bytes: 5_000_000_000 }
const program = join(import.meta.dirname, '../../bin/rockpool.js')

type Size = typeof few

interface Figures {
  firstScanMs: number
  listMs: number
  listMb: number
  readyMs: number
  gatewayListMs: number
  searchMs: number
  restMb: number
  restartedMb: number
  idlePercent: number
  /** With the transcripts of sub-agents. */
  files: number
}

export async function transcriptGrowth(): Promise<BenchResult[]> {
  const small = await measure(few)
  const large = await measure(many)
  const files = large.files - small.files
  const what = `with ${many.files} sessions in ${large.files} files and ${many.bytes / 1e9} GB`
  const how = `against ${few.files} sessions and ${few.bytes / 1e9} GB, both in this run`
  const ratio = (name: string, figure: keyof Figures, unit: string, most = 1.5, why = ''): BenchResult => {
    const value = large[figure] / small[figure]
    const measured = `${value.toFixed(2)}x (${small[figure].toFixed(1)} and ${large[figure].toFixed(1)} ${unit})`
    const wanted = `at most ${most}x`
    return { name: `${name}, ${what}`, measured, wanted, ok: value <= most, how: `${how}${why}` }
  }
  const perFile = (name: string, figure: keyof Figures, [unit, factor]: [string, number], most: number) => {
    const value = ((large[figure] - small[figure]) * factor) / files
    const measured = `${value.toFixed(2)} ${unit} for each further file (${small[figure].toFixed(0)} and ${large[figure].toFixed(0)})`
    const wanted = `at most ${most} ${unit}`
    const why = 'every file must be looked at; decision 0290'
    return { name: `${name}, ${what}`, measured, wanted, ok: value <= most, how: `${how}; ${why}` }
  }
  const moreText = '; 25 times the text has 25 times the passages with the same words, which are ranked'
  return [
    ratio('start to ready', 'readyMs', 'ms', 1.5, '; best of 3 starts'),
    ratio(
      'cc.list {limit: 50} of the gateway, p50',
      'gatewayListMs',
      'ms',
      1.5,
      '; best of 5 times 100 calls',
    ),
    ratio('sessions.search of the gateway, p50', 'searchMs', 'ms', 25, moreText),
    ratio(
      'processor of the gateway at rest',
      'idlePercent',
      '%',
      1.5,
      '; at least 0.1 % each; over a minute: with many files all of them are checked once in ten minutes, for about a second (decision 0290)',
    ),
    perFile('memory of the gateway at rest, after it has built the search index', 'restMb', ['KB', 1_000], 2),
    perFile('memory of the gateway at rest, started again', 'restartedMb', ['KB', 1_000], 2),
    perFile('second `cc list`', 'listMs', ['µs of processor', 1_000], 60),
    perFile('peak memory of the second `cc list`', 'listMb', ['KB', 1_000], 2),
    {
      name: `first scan, ${what}`,
      measured: `${((large.firstScanMs * 1e6) / many.bytes).toFixed(2)} ms of processor for each MB (${((small.firstScanMs * 1e6) / few.bytes).toFixed(2)} with few)`,
      wanted: 'at most 1.5x of the few',
      ok: large.firstScanMs / many.bytes <= (1.5 * small.firstScanMs) / few.bytes,
      how: `${how}; threads included`,
    },
  ]
}

async function measure(size: Size): Promise<Figures> {
  const home = mkdtempSync(join(tmpdir(), 'rockpool-growth-'))
  try {
    const { files } = makeCorpus({ configDir: join(home, '.claude'), ...size })
    const config = { vault: { enabled: false }, claude: { credential: 'none' } }
    writeFileSync(join(home, 'rockpool.json'), JSON.stringify(config))
    const first = await list(home)
    const lists = [await list(home), await list(home), await list(home)]
    const second = lists.reduce((best, one) => (one.cpuMs < best.cpuMs ? one : best))
    const gateway = await measureGateway(home)
    const command = { firstScanMs: first.cpuMs, listMs: second.cpuMs, listMb: second.peakMb }
    const restartedMb = await memoryAfterStart(home)
    return { ...command, ...gateway, restartedMb, files: files.length }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** `cc list` as a person types it. */
function list(home: string): Promise<{ cpuMs: number; peakMb: number }> {
  const env = { PATH: process.env['PATH'], HOME: home, ROCKPOOL_STATE_DIR: home }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, 'cc', 'list'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let last = { cpuMs: 0, peakMb: 0 }
    const look = setInterval(() => (last = usedBy(child.pid!) ?? last), 2)
    child.stdout.resume()
    child.on('error', reject)
    child.on('close', () => {
      clearInterval(look)
      resolve(last)
    })
  })
}

/** Undefined when the process has ended. */
function usedBy(pid: number): { cpuMs: number; peakMb: number } | undefined {
  try {
    const peakMb = memoryMbOf(pid, 'VmHWM')
    return peakMb > 0 ? { cpuMs: cpuMsOf(pid), peakMb } : undefined
  } catch {
    return undefined
  }
}

async function measureGateway(home: string) {
  const readyMs = Math.min(await timeOfStart(home), await timeOfStart(home), await timeOfStart(home))
  const gateway = await startGateway(home)
  try {
    await untilIdle(gateway.pid)
    const client = await openClient(gateway.wsUrl, gateway.token)
    const gatewayListMs = await listTime(client)
    const questions = ['parser token', 'branch names cached', 'renamed file paths', 'tests or logs']
    const searchMs = await p50(40, (n) => client.call('sessions.search', { query: questions[n % 4]! }))
    client.socket.close()
    await untilIdle(gateway.pid)
    const restMb = memoryMbOf(gateway.pid)
    const before = cpuMsOf(gateway.pid)
    await sleep(60_000)
    const idlePercent = Math.max((cpuMsOf(gateway.pid) - before) / 600, 0.1)
    return { readyMs, gatewayListMs, searchMs, restMb, idlePercent }
  } finally {
    await gateway.stop()
  }
}

async function memoryAfterStart(home: string): Promise<number> {
  const gateway = await startGateway(home)
  try {
    await untilIdle(gateway.pid)
    return memoryMbOf(gateway.pid)
  } finally {
    await gateway.stop()
  }
}

/** One start alone says more about the other work of the machine than about the gateway. */
async function timeOfStart(home: string): Promise<number> {
  const started = performance.now()
  const gateway = await startGateway(home)
  const readyMs = performance.now() - started
  await gateway.stop()
  return readyMs
}

/** The best median of five: the first hundred calls run before V8 has compiled the code well. */
async function listTime(client: BenchClient): Promise<number> {
  const medians: number[] = []
  for (let n = 0; n < 5; n++) medians.push(await p50(100, () => client.call('cc.list', { limit: 50 })))
  return Math.min(...medians)
}
