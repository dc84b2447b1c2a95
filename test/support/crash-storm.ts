// Kills the way of a message at random moments until every message is answered, and says what was lost or said twice.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SentReply } from './memory-channel.ts'

export interface StormReport {
  kills: number
  lost: string[]
  unmarkedDuplicates: string[]
  markedDuplicates: number
  wrongSession: string[]
  outOfOrder: string[]
}

export async function storm(size: {
  sessions: number
  each: number
  kills: number
  maxDelayMs: number
}): Promise<StormReport> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-storm-'))
  mkdirSync(join(folder, 'state'))
  try {
    let kills = 0
    for (;;) {
      const mayKill = kills < size.kills
      const ended = await runOnce(folder, size, mayKill ? 150 + Math.random() * size.maxDelayMs : undefined)
      if (ended === 'done') break
      kills++
    }
    return { kills, ...check(folder, size) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function runOnce(
  folder: string,
  size: { sessions: number; each: number },
  killAfterMs: number | undefined,
): Promise<'done' | 'killed'> {
  return new Promise((resolve, reject) => {
    const script = join(import.meta.dirname, 'crash-flow.ts')
    const child = spawn(process.execPath, [script, folder, String(size.sessions), String(size.each)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (chunk) => (errors += chunk))
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      if (signal === 'SIGKILL') resolve('killed')
      else if (code === 0) resolve('done')
      else reject(new Error(`the process ended with ${code}: ${errors}`))
    })
  })
}

function check(folder: string, size: { sessions: number; each: number }): Omit<StormReport, 'kills'> {
  const sent = readSent(join(folder, 'sent.jsonl'))
  const report: Omit<StormReport, 'kills'> = {
    lost: [],
    unmarkedDuplicates: [],
    markedDuplicates: 0,
    wrongSession: [],
    outOfOrder: [],
  }
  for (let session = 0; session < size.sessions; session++) {
    let last = -1
    const seen = new Set<number>()
    const told = new Set<number>()
    for (const reply of sent.filter(({ address }) => address.to === `p${session}`)) {
      const [, owner = '', n = ''] = /answer (\d+)-(\d+)/.exec(reply.reply.text ?? '') ?? []
      const number = Number(n)
      if (isNote(reply)) {
        told.add(number)
        continue
      }
      if (owner !== String(session)) report.wrongSession.push(`${owner}-${n} in ${session}`)
      if (seen.has(number) && !isMarked(reply)) report.unmarkedDuplicates.push(`${session}-${n}`)
      else if (seen.has(number)) report.markedDuplicates++
      if (number < last && !isMarked(reply)) report.outOfOrder.push(`${session}-${n} after ${last}`)
      seen.add(number)
      last = Math.max(last, number)
    }
    for (let n = 0; n < size.each; n++) if (!seen.has(n) && !told.has(n)) report.lost.push(`${session}-${n}`)
  }
  return report
}

/** Says of a reply that it may be missing; it only quotes its beginning. */
function isNote({ idempotencyKey }: SentReply): boolean {
  return idempotencyKey.startsWith('unsure:')
}

function isMarked(sent: SentReply): boolean {
  return sent.resent || /\(Retried: /.test(sent.reply.text ?? '')
}

function readSent(file: string): SentReply[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as SentReply)
}
