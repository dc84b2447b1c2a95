// Kills the way of a message at random moments until every message is answered, and says what was lost or said twice.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
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

interface StormSize {
  sessions: number
  each: number
  kills: number
}

/** Each life has its share of the messages and is killed at a random answer, so there are as many kills as wanted. */
export async function storm(size: StormSize): Promise<StormReport> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-storm-'))
  mkdirSync(join(folder, 'state'))
  try {
    for (let kills = 0; kills < size.kills; kills++) await liveUntilKilled(folder, size, kills)
    await start(folder, size.sessions, size.each, 'end').ended
    return { kills: size.kills, ...check(folder, size) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function liveUntilKilled(folder: string, size: StormSize, life: number): Promise<void> {
  const upTo = Math.ceil((size.each * (life + 1)) / (size.kills + 1))
  const { child, done, ended } = start(folder, size.sessions, upTo, 'stay')
  const sentFile = join(folder, 'sent.jsonl')
  const share = (size.sessions * size.each) / (size.kills + 1)
  const wanted = readSent(sentFile).length + Math.floor(Math.random() * share)
  const isDone = done.then(() => true)
  const aMoment = (): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false), 5))
  while (readSent(sentFile).length < wanted) if (await Promise.race([isDone, aMoment()])) break
  child.kill('SIGKILL')
  await ended
}

/** `done`: everything is answered. `ended`: the process is gone, killed or by itself; rejects if it failed. */
function start(
  folder: string,
  sessions: number,
  each: number,
  whenDone: 'end' | 'stay',
): { child: ChildProcess; done: Promise<unknown>; ended: Promise<void> } {
  const script = join(import.meta.dirname, 'crash-flow.ts')
  const child = spawn(process.execPath, [script, folder, String(sessions), String(each), whenDone], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', (code, signal) => {
      if (signal === 'SIGKILL' || code === 0) resolve()
      else reject(new Error(`the process ended with ${code}: ${errors}`))
    })
  })
  return { child, done: Promise.race([once(child.stdout, 'data'), ended]), ended }
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
  // The last piece is empty, or half a line that is just being written.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as SentReply)
}
