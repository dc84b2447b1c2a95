// The real program on a faulty Telegram, killed at random moments: what was lost, said twice, or said to the wrong person?
import type { ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStateDatabase } from '../../src/store/sqlite/state-database.ts'
import { makeClaudeHome } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { startProgram } from './program.ts'
import { anySeed, randomFrom } from './random.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'
import type { ShownMessage, TelegramFault } from './telegram-api.ts'

export interface TelegramStorm {
  chats: number
  /** Messages of each chat. */
  each: number
  kills: number
  /** How long a process lives before it is killed, at most. */
  maxLifeMs: number
  /** Of a hundred calls, how many fail in some way. */
  faultsPerHundred: number
  /** The same seed gives the same choices; the moments still depend on the machine. */
  seed?: number
}

export interface TelegramStormReport {
  seed: number
  kills: number
  faults: number
  answered: number
  /** Neither answered nor reported as given up. */
  lost: string[]
  /** Its chat got the notice that it may be missing. */
  told: number
  /** Not arrived, and its note did not arrive either: only `rockpool status` shows it. */
  givenUp: number
  unmarkedDuplicates: string[]
  /** Replies; one may answer several messages. */
  markedDuplicates: number
  /** Said more than twice. */
  thirdCopies: string[]
  crossChat: string[]
  outOfOrder: string[]
  /** Questions that are in no transcript. */
  unrecorded: string[]
  /** Questions that are in the transcripts twice. */
  recordedTwice: string[]
}

export async function telegramStorm(storm: TelegramStorm): Promise<TelegramStormReport> {
  const telegram = await TelegramApi.listen()
  const home = makeClaudeHome({ apiUrl: 'http://127.0.0.1:9', name: 'storm' })
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(configFor(telegram)))
  const state = { faults: 0 }
  const { seed = anySeed() } = storm
  const random = randomFrom(seed)
  telegram.randomFault = () => pickFault(storm, state, random)
  try {
    const kills = await runUntilAnswered({ ...storm, seed }, telegram, home)
    const outbox = outboxOf(home)
    const { missing: _, ...report } = check(storm, telegram.shown, outbox)
    const recorded = wronglyRecorded(storm, transcriptsOf(home), outbox)
    return { seed, kills, faults: state.faults, ...report, ...recorded }
  } finally {
    await telegram.close()
    home.remove()
  }
}

export function configFor(telegram: TelegramApi) {
  return {
    claude: { credential: 'none' },
    messages: { queue: { mode: 'followup', cap: 10_000 } },
    channels: {
      messagesPerMinute: 1_000_000,
      telegram: {
        botToken: telegram.token,
        apiRoot: telegram.root,
        pollSeconds: 1,
        dmPolicy: 'open',
        allowFrom: ['*'],
      },
    },
  }
}

async function runUntilAnswered(
  storm: TelegramStorm & { seed: number },
  telegram: TelegramApi,
  home: ClaudeHome,
): Promise<number> {
  const progress = new StormProgress(storm, telegram)
  const done = writeAll(storm, telegram, progress).then(() => settled(storm, telegram, home))
  for (;;) {
    const { child, ready } = start(home)
    const mayKill = progress.kills < storm.kills
    const life = ready.then(() => progress.nextMoment())
    const ended = await Promise.race([
      new Promise<'died'>((resolve) => child.once('exit', () => resolve('died'))),
      mayKill ? life.then(() => 'kill' as const) : new Promise<never>(() => {}),
      done.then(() => 'done' as const),
    ])
    await end(child, ended === 'done' ? 'SIGTERM' : 'SIGKILL')
    if (ended === 'done') return progress.kills
    progress.kills += 1
  }
}

type StormSize = Pick<TelegramStorm, 'chats' | 'each' | 'kills' | 'maxLifeMs'> & { seed: number }

/** Couples what people write to the kills: a storm has all of its kills, and kills hit work, however fast the machine is. */
export class StormProgress {
  kills = 0
  /** For choices about kills. */
  readonly random: () => number
  #storm: StormSize
  #telegram: TelegramApi

  constructor(storm: StormSize, telegram: TelegramApi) {
    this.#storm = storm
    this.#telegram = telegram
    this.random = randomFrom(storm.seed)
  }

  /** Resolves at a random moment while answers come, or after a while if none come. */
  async nextMoment(): Promise<void> {
    const { chats, each, kills, maxLifeMs } = this.#storm
    const wanted = this.#telegram.shown.length + Math.floor((this.random() * chats * each) / (kills + 1))
    const latest = performance.now() + maxLifeMs * (0.5 + this.random() / 2)
    while (this.#telegram.shown.length < wanted && performance.now() < latest) await pause(5)
  }

  /** Burst number `n` comes when its share of the kills was. */
  async untilTurnOf(n: number): Promise<void> {
    const { each, kills } = this.#storm
    const wanted = each === 1 ? 0 : Math.floor((n * kills) / (each - 1))
    while (this.kills < wanted) await pause(20)
  }
}

/** People write in bursts, all at once; some updates come twice, and some out of order. */
export async function writeAll(
  storm: StormSize,
  telegram: TelegramApi,
  progress: StormProgress,
): Promise<void> {
  const random = randomFrom(storm.seed + 1)
  for (let n = 0; n < storm.each; n++) {
    await progress.untilTurnOf(n)
    for (let chat = 0; chat < storm.chats; chat++) {
      const person = { id: 10_000 + chat, name: `Person ${chat}` }
      const message = personMessage(telegram, person, { id: person.id }, `word-${chat}-${n}.`)
      telegram.emit({ message })
      if (random() < 0.05) telegram.emit({ message })
    }
    if (random() < 0.2) telegram.shuffleAcrossChats(random)
    await pause(storm.maxLifeMs / 50)
  }
}

export function start(home: Pick<ClaudeHome, 'variables'>): { child: ChildProcess; ready: Promise<unknown> } {
  const { child, line } = startProgram(['up', '--port', '0', '--json'], home.variables)
  return { child, ready: line }
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await gone
}

/** A person who reads that a message may be missing or was given up, and does not see it, has it sent or asked again. */
function askAgain(missing: Missing[], telegram: TelegramApi, asked: Set<string>): void {
  for (const { chat, note } of missing) {
    const data = note.buttons.flat()[0]?.data
    const id = `${note.id}-${Math.floor(Date.now() / 3_000)}`
    if (data === undefined || asked.has(id)) continue
    asked.add(id)
    const from = { id: chat, is_bot: false, first_name: 'Person' }
    const message = { message_id: note.id, date: 1, chat: { id: chat, type: 'private' } }
    telegram.emit({ callback_query: { id, from, message, data, chat_instance: 'c' } })
  }
}

/** Everything is answered or given up, and nothing has changed for a moment. */
async function settled(storm: TelegramStorm, telegram: TelegramApi, home: ClaudeHome): Promise<void> {
  const asked = new Set<string>()
  for (;;) {
    const outbox = outboxOf(home)
    const { lost, missing } = check(storm, telegram.shown, outbox)
    const isDone = lost.length === 0 && missing.length === 0 && telegram.pending.length === 0
    if (isDone && outbox.open === 0) return
    askAgain(missing, telegram, asked)
    await pause(200)
  }
}

function pickFault(
  storm: TelegramStorm,
  state: { faults: number },
  random: () => number,
): TelegramFault | undefined {
  if (random() * 100 >= storm.faultsPerHundred) return undefined
  const choices: TelegramFault[] = [
    { kind: 'too-many', retryAfter: 1 },
    { kind: 'cut-before' },
    { kind: 'cut-after' },
    { kind: 'error', code: 500 },
    { kind: 'html', code: 502 },
  ]
  state.faults += 1
  return choices[Math.floor(random() * choices.length)]
}

/** What the program has said and is to say, and what it has given up. */
export interface StormOutbox {
  /** Replies and notes that are still to be sent. */
  open: number
  /** The words of replies that were given up. */
  dead: Set<string>
  /** The words of each reply, by the id that a note about it carries. */
  words: Map<string, string[]>
  /** The words of messages that were given up after the agent was asked twice. Their chat gets one notice. */
  givenUp: Set<string>
}

export interface StormRow {
  id: string
  state: string
  record: string
}

export const givenUpRows = "SELECT id, state, record FROM inbox WHERE state = 'given-up'"

export function readOutbox(rows: StormRow[], givenUp: StormRow[]): StormOutbox {
  const given = new Set(givenUp.flatMap(({ record }) => wordsIn(record)))
  const outbox: StormOutbox = { open: 0, dead: new Set(), words: new Map(), givenUp: given }
  for (const { id, state, record } of rows) {
    const words = wordsIn(record)
    outbox.words.set(id, words)
    if (state === 'dead') for (const word of words) outbox.dead.add(word)
    else if (state !== 'sent') outbox.open += 1
  }
  return outbox
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(/word-\d+-\d+\./g)].map(([word]) => word)
}

function outboxOf(home: ClaudeHome): StormOutbox {
  try {
    const database = openStateDatabase(join(home.stateDir, 'rockpool.sqlite'), { readOnly: true })
    const [rows, givenUp] = database.read((q) => [
      q.all<StormRow>('SELECT id, state, record FROM outbox'),
      q.all<StormRow>(givenUpRows),
    ])
    void database.close()
    return readOutbox(rows, givenUp)
  } catch {
    // Not there yet, or just being written: looked at again in a moment.
    return { ...readOutbox([], []), open: 1 }
  }
}

function transcriptsOf(home: ClaudeHome): string {
  const folder = join(home.stateDir, 'agents', 'main', 'sessions')
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  return names.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
}

/** Which questions the text of all transcripts does not have, or has twice although no person asked them again. */
export function wronglyRecorded(
  { chats, each }: { chats: number; each: number },
  text: string,
  { givenUp }: Pick<StormOutbox, 'givenUp'>,
): Pick<TelegramStormReport, 'unrecorded' | 'recordedTwice'> {
  const questions = text.split('\n').filter((line) => line.includes('"role":"user"'))
  const recorded = wordsIn(questions.join('\n'))
  const words = Array.from({ length: chats * each }, (_, i) => `word-${i % chats}-${Math.floor(i / chats)}.`)
  const once = new Set<string>()
  const recordedTwice = recorded.filter((word) => once.size === once.add(word).size && !givenUp.has(word))
  return { unrecorded: words.filter((word) => !once.has(word)), recordedTwice }
}

/** What the report of every storm must say. */
export const nothingWrong = {
  unrecorded: [],
  recordedTwice: [],
  lost: [],
  unmarkedDuplicates: [],
  crossChat: [],
  outOfOrder: [],
  thirdCopies: [],
}

/** Told of, not seen, and not sent again yet. */
interface Missing {
  chat: number
  note: ShownMessage
}

export function check(
  storm: TelegramStorm,
  shown: ShownMessage[],
  { dead, words, givenUp }: Pick<StormOutbox, 'dead' | 'words' | 'givenUp'>,
): Omit<TelegramStormReport, 'seed' | 'kills' | 'faults' | 'unrecorded' | 'recordedTwice'> & {
  missing: Missing[]
} {
  const report = {
    answered: 0,
    lost: [] as string[],
    told: 0,
    givenUp: 0,
    unmarkedDuplicates: [] as string[],
    markedDuplicates: 0,
    thirdCopies: [] as string[],
    crossChat: [] as string[],
    outOfOrder: [] as string[],
    missing: [] as Missing[],
  }
  for (let chat = 0; chat < storm.chats; chat++) {
    const copies = new Map<number, number>()
    const seen = { has: (n: number) => copies.has(n) }
    const told = new Map<number, ShownMessage>()
    let last = -1
    for (const message of shown.filter((one) => one.chat === 10_000 + chat)) {
      const isResent = message.text.includes('(resent')
      const isMarked = isResent || message.text.includes('(Retried: ')
      if (isUnsureNote(message)) {
        // A note may quote another line; which reply it is about is in its button.
        const about = message.buttons.flat()[0]?.data.replace(/^again:/, '') ?? ''
        for (const word of words.get(about) ?? []) told.set(Number(/-(\d+)\.$/.exec(word)![1]), message)
        continue
      }
      if (isGivenUpNotice(message)) {
        // The first one is for all that the chat loses until its next answer.
        for (let n = 0; n < storm.each; n++) {
          const [isGivenUp, before] = [givenUp.has(`word-${chat}-${n}.`), told.get(n)]
          if (isGivenUp && !seen.has(n) && !(before && isGivenUpNotice(before))) told.set(n, message)
        }
        continue
      }
      let isCopy = false
      for (const [, owner, number] of message.text.matchAll(/word-(\d+)-(\d+)\./g)) {
        const n = Number(number)
        if (Number(owner) !== chat) report.crossChat.push(`word-${owner}-${n} in chat ${chat}`)
        else if (seen.has(n) && !isMarked && !told.has(n)) report.unmarkedDuplicates.push(`word-${chat}-${n}`)
        else if (seen.has(n)) isCopy = true
        // A reply that is sent again may come late; a turn that is taken again may not.
        if (n < last && !isResent && !seen.has(n) && !told.has(n))
          report.outOfOrder.push(`word-${chat}-${n} after ${last}`)
        copies.set(n, (copies.get(n) ?? 0) + 1)
        // A message that a person asked for again is not a copy of ours.
        if (copies.get(n) === 3 && !told.has(n)) report.thirdCopies.push(`word-${chat}-${n}`)
        last = Math.max(last, n)
      }
      if (isCopy) report.markedDuplicates += 1
    }
    report.answered += copies.size
    for (let n = 0; n < storm.each; n++) {
      const word = `word-${chat}-${n}.`
      const note = told.get(n)
      if (note) report.told += 1
      if (!seen.has(n) && note) report.missing.push({ chat: 10_000 + chat, note })
      else if (!seen.has(n) && dead.has(word)) report.givenUp += 1
      else if (!seen.has(n)) report.lost.push(word)
    }
  }
  return report
}

function isUnsureNote({ text }: ShownMessage): boolean {
  return text.includes('could not learn whether it arrived')
}

/** A note that such a notice may be missing quotes it. */
function isGivenUpNotice(message: ShownMessage): boolean {
  return message.text.includes('I was interrupted twice while I worked on') && !isUnsureNote(message)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
