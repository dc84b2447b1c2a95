// The vault: how long and how much memory a first fill of 1 GB takes beside `zstd -3` on the same bytes, how small it becomes, and
// what following 20 sessions that write costs.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCorpus, type Corpus } from '../test/support/corpus.ts'
import { atMost, type BenchResult } from './result.ts'

const follower = join(import.meta.dirname, '../test/support/vault-follow-process.ts')

export async function bench(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-vault-'))
  try {
    const configDir = join(folder, 'claude')
    const corpus = makeCorpus({ configDir, files: 2_000, bytes: 930_000_000, largeFileBytes: 100_000_000 })
    return [...firstFill(folder, configDir, corpus), await following(folder)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Filled {
  ms: number
  cpuMs: number
  pauseMs: number
  bytes: number
  originalBytes: number
  peakMb: number
}

function firstFill(folder: string, configDir: string, corpus: Corpus): BenchResult[] {
  const zstds: number[] = []
  const fills: Filled[] = []
  // By turns, so that a busy moment of the machine hits both.
  for (let round = 0; round < 3; round++) {
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
      `${size}: ${(fill / 1000).toFixed(1)} s against ${(zstd / 1000).toFixed(1)} s, the best of three each; ${(cpu / 1000).toFixed(1)} s of processor time`,
    ),
    atMost(
      'memory of the first fill',
      Math.max(...fills.map(({ peakMb }) => peakMb)),
      200,
      'MB',
      'the peak of the process, with discovery',
    ),
    atMost(
      'longest pause of the gateway during the first fill',
      Math.min(...fills.map(({ pauseMs }) => pauseMs)),
      100,
      'ms',
      'in which the event loop does nothing else: the list of 2,000 sessions is assembled at once, the rest is done in a thread',
    ),
    atMost(
      'size of the vault',
      (100 * bytes) / originalBytes,
      100 / 6,
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

/** What the process of the gateway uses with a vault, less what it uses without one. */
async function following(folder: string): Promise<BenchResult> {
  const used = { watch: 0, follow: 0 }
  for (const job of ['watch', 'follow'] as const) {
    const configDir = join(folder, `writing-${job}`)
    const { files } = makeCorpus({ configDir, files: 20, bytes: 20_000_000 })
    used[job] = await usedWhile(job, join(folder, `state-${job}`), configDir, files.slice(0, 20))
  }
  const share = (100 * (used.follow - used.watch)) / (seconds * 1000)
  const how = `${seconds} s; each session appends 2 KB a second; ${used.follow.toFixed(0)} ms of processor time with a vault, ${used.watch.toFixed(0)} ms without`
  return atMost('keeping what 20 sessions write', share, 1, '% of a core', how)
}

async function usedWhile(job: string, root: string, configDir: string, files: string[]): Promise<number> {
  const child = spawn(process.execPath, [follower, root, configDir, job], {
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
