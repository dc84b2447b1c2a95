// The vault: how long and how much memory a first fill of 1 GB takes beside `zstd -3` on the same bytes, how small it becomes, and
// what following 20 sessions that write costs.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { copyFileSync, appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { rolldown } from 'rolldown'
import { makeCorpus, type Corpus } from '../test/support/corpus.ts'
import { atMost, type BenchResult } from './result.ts'

export async function bench(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-vault-'))
  try {
    const follower = await bundleFollower(join(folder, 'program'))
    const configDir = join(folder, 'claude')
    const corpus = makeCorpus({ configDir, files: 2_000, bytes: 930_000_000, largeFileBytes: 100_000_000 })
    return [...firstFill(follower, folder, configDir, corpus), await following(follower, folder)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As the program is built: a process that reads TypeScript takes 40 MB more, in each thread. */
async function bundleFollower(dir: string): Promise<string> {
  const root = join(import.meta.dirname, '..')
  const input = {
    follower: join(root, 'test/support/vault-follow-process.ts'),
    'vault-worker': join(root, 'src/vault-worker.ts'),
    'scan-worker': join(root, 'src/scan-worker.ts'),
  }
  const bundle = await rolldown({ input, platform: 'node', onLog: () => {} })
  await bundle.write({ dir, format: 'esm', chunkFileNames: '[name]-[hash].js' })
  copyFileSync(join(import.meta.dirname, '../src/discovery/scan.wasm'), join(dir, 'scan.wasm'))
  cpSync(join(root, 'src/store/sqlite/sql'), join(dir, 'sql/sqlite'), { recursive: true })
  return join(dir, 'follower.js')
}

interface Filled {
  ms: number
  cpuMs: number
  pauseMs: number
  bytes: number
  originalBytes: number
  peakMb: number
}

function firstFill(follower: string, folder: string, configDir: string, corpus: Corpus): BenchResult[] {
  const zstds: number[] = []
  const fills: Filled[] = []
  // By turns, so that a busy moment of the machine hits both.
  for (let round = 0; round < 2; round++) {
    zstds.push(compressAll(configDir))
    const root = join(folder, `state-${round}`)
    const output = execFileSync(process.execPath, [follower, root, configDir, 'fill'], { encoding: 'utf8' })
    fills.push(JSON.parse(output) as Filled)
  }
  const [zstd, fill] = [Math.min(...zstds), Math.min(...fills.map(({ ms }) => ms))]
  const cpu = Math.min(...fills.map(({ cpuMs }) => cpuMs))
  const { bytes, originalBytes } = fills[0]!
  const size = `${(corpus.bytes / 1e9).toFixed(2)} GB in ${corpus.files.length} files`
  return [
    atMost(
      'first fill of 1 GB beside zstd -3',
      fill / zstd,
      3,
      'x',
      `${size}: ${(fill / 1000).toFixed(1)} s against ${(zstd / 1000).toFixed(1)} s, the best of two each; ${(cpu / 1000).toFixed(1)} s of processor time`,
    ),
    atMost(
      'memory of the first fill',
      Math.max(...fills.map(({ peakMb }) => peakMb)),
      200,
      'MB',
      'the peak of the process, which has scanned all sessions before',
    ),
    atMost(
      'longest pause of the gateway during the first fill',
      Math.min(...fills.map(({ pauseMs }) => pauseMs)),
      25,
      'ms',
      'in which the event loop does nothing else, as processor time of its thread; the best of two',
    ),
    atMost(
      'size of the vault',
      (100 * bytes) / originalBytes,
      16.67,
      '%',
      `${size}, with their copies and sub-agents`,
    ),
  ]
}

function compressAll(configDir: string): number {
  const began = performance.now()
  execFileSync('sh', ['-c', `find '${configDir}' -type f -print0 | xargs -0 cat | zstd -3 -q -c > /dev/null`])
  return performance.now() - began
}

const seconds = 30

/** The processor time of a gateway with a vault, minus that of one without. */
async function following(follower: string, folder: string): Promise<BenchResult> {
  // At the same time: what is measured is processor time.
  const [without = 0, withVault = 0] = await Promise.all(
    ['watch', 'follow'].map((job) => {
      const configDir = join(folder, `writing-${job}`)
      const { files } = makeCorpus({ configDir, files: 20, bytes: 20_000_000 })
      const args = [follower, join(folder, `state-${job}`), configDir, job]
      return usedWhile(args, files.slice(0, 20))
    }),
  )
  const share = (100 * (withVault - without)) / (seconds * 1000)
  const how = `${seconds} s; each session appends 2 KB a second; ${withVault.toFixed(0)} ms of processor time with a vault, ${without.toFixed(0)} ms without`
  return atMost('keeping what 20 sessions write', share, 1, '% of a core', how)
}

async function usedWhile(args: string[], files: string[]): Promise<number> {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = linesOf(child)
  await lines.next()
  child.stdin.write('begin\n')
  await lines.next()
  const text = 'the helper renamed file paths without checking tests or logs '.repeat(32)
  for (let second = 0; second < seconds; second++) {
    for (const file of files)
      appendFileSync(file, `${JSON.stringify({ type: 'system', content: text + second })}\n`)
    await sleep(1_000)
  }
  child.stdin.write('end\n')
  const { value } = await lines.next()
  child.stdin.end()
  return (JSON.parse(String(value)) as { cpuMs: number }).cpuMs
}

function linesOf(child: ChildProcess): AsyncIterator<string> {
  return createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
}
