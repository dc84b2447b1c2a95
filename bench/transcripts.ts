// Transcripts: the last entries of a very large file, and one append to it, against the same with a small one.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileTranscripts } from '../src/store/transcripts/transcript-file.ts'
import { answered, said } from '../test/support/talk.ts'
import type { BenchResult } from './result.ts'

const megabyte = 1 << 20

export async function bench(): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-bench-'))
  try {
    writeTranscript(join(dir, 'large.jsonl'), 'large', 500 * megabyte)
    writeTranscript(join(dir, 'small.jsonl'), 'small', 20_000)
    return [...tailResults(dir), await appendResult(dir)]
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function tailResults(dir: string): BenchResult[] {
  const started = median(() => child(dir, 'none').ms)
  const runs = Array.from({ length: 7 }, () => child(dir, 'large'))
  const over = medianOf(runs.map((run) => run.ms)) - started
  const peak = Math.max(...runs.map((run) => run.megabytes))
  const how = 'a new process that shows the last 50 of 500 MB; median of 7'
  return [
    {
      name: 'last 50 entries of 500 MB, over start-up',
      measured: `${over.toFixed(0)} ms (start-up ${started.toFixed(0)} ms)`,
      wanted: 'at most 150 ms',
      ok: over <= 150,
      how: `${how}, less the median of one that only loads the code`,
    },
    {
      name: 'last 50 entries of 500 MB, memory',
      measured: `${peak.toFixed(0)} MB`,
      wanted: 'at most 150 MB',
      ok: peak <= 150,
      how: `${how}, highest resident size of the seven`,
    },
  ]
}

async function appendResult(dir: string): Promise<BenchResult> {
  const transcripts = new FileTranscripts({ agentId: 'main', dir })
  const time = async (sessionId: string): Promise<number> => {
    const times: number[] = []
    for (let n = 0; n < 100; n++) {
      const before = performance.now()
      await transcripts.append({ sessionId }, [said('x')], { cwd: '/' })
      times.push(performance.now() - before)
    }
    return medianOf(times)
  }
  const small = await time('small')
  const large = await time('large')
  return {
    name: 'one durable append, 500 MB against 20 kB',
    measured: `${(large / small).toFixed(2)}x (${large.toFixed(2)} ms)`,
    wanted: 'at most 1.5x',
    ok: large / small <= 1.5,
    how: 'median of 100 appends each, one sync to disk each',
  }
}

/** What a process took in all, and its peak memory, which it tells itself at the end. */
function child(dir: string, what: string): { ms: number; megabytes: number } {
  const script = join(import.meta.dirname, '..', 'test', 'support', 'transcript-tail.ts')
  const before = performance.now()
  const { stdout, stderr } = spawnSync(process.execPath, [script, dir, what], { encoding: 'utf8' })
  const ms = performance.now() - before
  if (!stdout) throw new Error(stderr)
  return { ms, megabytes: Number(stdout) / 1024 }
}

function writeTranscript(file: string, id: string, bytes: number): void {
  mkdirSync(join(file, '..'), { recursive: true })
  const fd = openSync(file, 'w', 0o600)
  writeSync(
    fd,
    `${JSON.stringify({ type: 'session', version: 3, id, timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' })}\n`,
  )
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(36)
  let written = 0
  let parentId: string | null = null
  for (let n = 0; written < bytes;) {
    let piece = ''
    for (; piece.length < megabyte && written + piece.length < bytes; n++) {
      const entryId = n.toString(16).padStart(8, '0')
      const place = { id: entryId, parentId, timestamp: '2026-01-01T00:00:00.000Z' }
      piece += `${JSON.stringify({ ...(n % 2 === 0 ? said(text) : answered(text)), ...place })}\n`
      parentId = entryId
    }
    writeSync(fd, piece)
    written += piece.length
  }
  closeSync(fd)
}

function median(measure: () => number): number {
  return medianOf(Array.from({ length: 7 }, measure))
}

function medianOf(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}
