// Kills a process that indexes, again and again, while its sources grow; then looks whether anything is missing or twice.
import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

export interface IndexCounts {
  passages: number
  different: number
  words: number
  pieces: number
}

const files = 12
const linesEach = 120

export async function killWhileIndexing(
  rounds: number,
): Promise<{ lines: number; killed: number; halfway: number; counts: IndexCounts }> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-index-crash-'))
  try {
    let lines = 0
    let killed = 0
    let halfway = 0
    // How long indexing takes here is found out: longer after a kill that came too early, shorter after one too late.
    let takesMs = 140
    for (let round = 0; round < rounds; round++) {
      const before = round === 0 ? 0 : countsOf(folder).passages
      lines += grow(folder, round)
      const wasKilled = await runAndKill(folder, Math.random() * takesMs)
      const { passages } = countsOf(folder)
      if (wasKilled) killed++
      if (passages > 0 && passages < lines) halfway++
      if (!wasKilled) takesMs /= 1.3
      else if (passages === before) takesMs *= 1.3
    }
    await runAndKill(folder, undefined)
    return { lines, killed, halfway, counts: countsOf(folder) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function grow(folder: string, round: number): number {
  for (let file = 0; file < files; file++) {
    const lines = Array.from({ length: linesEach }, (_, line) => {
      const content = `round ${round} file ${file} line ${line} ${'some more words to index '.repeat(20)}`
      return `${JSON.stringify({ type: 'user', message: { role: 'user', content }, timestamp: '2026-11-01T10:00:00Z' })}\n`
    })
    appendFileSync(join(folder, `s${file}.jsonl`), lines.join(''))
  }
  return files * linesEach
}

/** Says whether it was killed before it was done. */
function runAndKill(folder: string, afterMs: number | undefined): Promise<boolean> {
  const child = spawn(process.execPath, ['test/support/index-writer.ts', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  })
  let isDone = false
  child.stdout.on('data', (data: Buffer) => {
    if (data.includes('done')) isDone = true
    if (data.includes('begun') && afterMs !== undefined) void sleep(afterMs).then(() => child.kill('SIGKILL'))
  })
  return new Promise((resolve) => child.on('close', () => resolve(!isDone)))
}

function countsOf(folder: string): IndexCounts {
  const db = new DatabaseSync(join(folder, 'search.sqlite'))
  try {
    // Every passage has the letters of "round".
    const sql = `SELECT count(*) AS passages, count(DISTINCT source_id * 10000000 + line) AS different,
      (SELECT count(*) FROM words_docsize) AS words, (SELECT count(*) FROM pieces WHERE pieces MATCH 'rou') AS pieces FROM passage`
    return db.prepare(sql).get() as unknown as IndexCounts
  } finally {
    db.close()
  }
}
