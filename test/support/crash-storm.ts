// Kills the way of a message at random moments until every message is answered, and says what was lost or said twice.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { statePaths } from '../../src/store/paths.ts'
import type { SentReply } from './memory-channel.ts'

export interface StormReport {
  kills: number
  /** Neither answered nor given up with a notice. */
  lost: string[]
  /** How many were given up: the agent had begun to work on them twice. */
  givenUp: number
  givenUpTooSoon: string[]
  unmarkedDuplicates: string[]
  markedDuplicates: number
  wrongSession: string[]
  outOfOrder: string[]
  /** Questions that stand in no transcript. */
  unrecorded: string[]
  /** Questions that stand in the transcripts twice. */
  recordedTwice: string[]
}

export const nothingWrong = {
  lost: [],
  givenUpTooSoon: [],
  unmarkedDuplicates: [],
  wrongSession: [],
  outOfOrder: [],
  unrecorded: [],
  recordedTwice: [],
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
    const sent = new GrowingFile(join(folder, 'sent.jsonl'))
    for (let kills = 0; kills < size.kills; kills++) await liveUntilKilled(folder, sent, size, kills)
    await start(folder, size.sessions, size.each, 'end').ended
    return { kills: size.kills, ...check(folder, size) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function liveUntilKilled(
  folder: string,
  sent: GrowingFile,
  size: StormSize,
  life: number,
): Promise<void> {
  const upTo = Math.ceil((size.each * (life + 1)) / (size.kills + 1))
  const { child, done, ended } = start(folder, size.sessions, upTo, 'stay')
  const share = (size.sessions * size.each) / (size.kills + 1)
  const wanted = sent.lines() + Math.floor(Math.random() * share)
  const isDone = done.then(() => true)
  const aMoment = (): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false), 5))
  while (sent.lines() < wanted) if (await Promise.race([isDone, aMoment()])) break
  child.kill('SIGKILL')
  await ended
}

/** Counts the lines of a file that others append to. It reads each byte once, because the count is asked for all the time. */
class GrowingFile {
  readonly #path: string
  #position = 0
  #lines = 0

  constructor(path: string) {
    this.#path = path
  }

  lines(): number {
    if (!existsSync(this.#path)) return 0
    const file = openSync(this.#path, 'r')
    const piece = Buffer.alloc(65_536)
    for (let size = 1; size > 0; this.#position += size) {
      size = readSync(file, piece, 0, piece.length, this.#position)
      for (const byte of piece.subarray(0, size)) if (byte === 0x0a) this.#lines += 1
    }
    closeSync(file)
    return this.#lines
  }
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
    ...givenUpIn(join(folder, 'state')),
    unmarkedDuplicates: [],
    markedDuplicates: 0,
    wrongSession: [],
    outOfOrder: [],
    ...wronglyRecorded(recordedIn(join(folder, 'state')), size),
  }
  for (let session = 0; session < size.sessions; session++) {
    let last = -1
    const seen = new Set<number>()
    const told = new Set<number>()
    for (const reply of sent.filter(({ address }) => address.to === `p${session}`)) {
      const [, owner = '', n = ''] = /answer (\d+)-(\d+)/.exec(reply.reply.text ?? '') ?? []
      const number = Number(n)
      if (isNote(reply) || isInterruption(reply)) {
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
    // The notice of an interruption covers later messages without an answer, too.
    const isTold = (n: number): boolean => [...told].some((noticed) => noticed <= n)
    for (let n = 0; n < size.each; n++) if (!seen.has(n) && !isTold(n)) report.lost.push(`${session}-${n}`)
  }
  return report
}

/** The names of the questions in all transcripts. */
function recordedIn(state: string): string[] {
  const transcripts = globSync('**/*.jsonl', { cwd: state }).map((file) =>
    readFileSync(join(state, file), 'utf8'),
  )
  return transcripts.flatMap((text) =>
    [...text.matchAll(/say answer (\d+-\d+)\]\]/g)].map(([, name]) => name!),
  )
}

function wronglyRecorded(
  recorded: readonly string[],
  { sessions, each }: { sessions: number; each: number },
): Pick<StormReport, 'unrecorded' | 'recordedTwice'> {
  const wanted = Array.from({ length: sessions }, (_, session) =>
    Array.from({ length: each }, (_, n) => `${session}-${n}`),
  )
  const once = new Set<string>()
  const recordedTwice = recorded.filter((name) => once.size === once.add(name).size)
  return { unrecorded: wanted.flat().filter((name) => !once.has(name)), recordedTwice }
}

/** Says of a reply that it may be missing; it only quotes its beginning. */
function isNote({ idempotencyKey }: SentReply): boolean {
  return idempotencyKey.startsWith('unsure:')
}

function isInterruption({ idempotencyKey }: SentReply): boolean {
  return idempotencyKey.startsWith('interrupted:')
}

function givenUpIn(state: string): Pick<StormReport, 'givenUp' | 'givenUpTooSoon'> {
  const database = new DatabaseSync(statePaths(state).database, { readOnly: true })
  const rows = database.prepare("SELECT key, asked FROM inbox WHERE state = 'given-up'").all()
  database.close()
  const tooSoon = rows.filter(({ asked }) => Number(asked) < 2)
  return { givenUp: rows.length, givenUpTooSoon: tooSoon.map(({ key }) => String(key)) }
}

function isMarked(sent: SentReply): boolean {
  return sent.resent || /\(Retried: /.test(sent.reply.text ?? '')
}

function readSent(file: string): SentReply[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8').split('\n').flatMap(wholeReply)
}

/** A kill in the middle of a write leaves half a line: that reply was not sent, and has to come again. */
function wholeReply(line: string): SentReply[] {
  try {
    return [JSON.parse(line) as SentReply]
  } catch {
    return []
  }
}
