// How long the gateway takes to answer a question, with 1 GB of transcripts in the index.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GatewayClient } from '../../src/rpc/client.ts'
import { startProgram } from '../../test/support/program.ts'
import {
  oldToolWord,
  patterns,
  patternsOfNothing,
  patternsWithoutLetters,
  prefixes,
  questions,
  questionsBySense,
} from './questions.ts'

export interface GatewayRun {
  /** For words that were not asked for before. */
  first: Times
  /** For words that were asked for before. */
  again: Times
  /** By the beginning of a word that was not asked for before. */
  prefixP95Ms: number
  /** By regular expressions with letters that every match has, and by others. */
  regex: Times
  regexWithoutLetters: Times
  /** Before all substrings are indexed; and how long the first regular expression took. */
  earlyRegex: Times
  firstRegexMs: number
  /** For a word that only one old tool text has, which has no room in the index; and for other questions meanwhile. */
  inTools: Times
  whileInTools: Times
  /** The text was found before the time was over. */
  isToolTextFound: boolean
  /** For a question none of whose words was said. */
  bySense: Times
  /** For an expression that no message matches. */
  regexOfNothing: Times
  /** Files whose tool texts are not in the index at the end, and all files. */
  filesWithoutTools: number
  files: number
}

interface Times {
  searches: number
  p50Ms: number
  p95Ms: number
  /** Processor time of the gateway for one question. */
  cpuMs: number
}

const rounds = 25

export async function measureGateway(env: Record<string, string>): Promise<GatewayRun> {
  const gateway = startProgram(['up', '--port', '0', '--json'], env)
  const { wsUrl, tokenFile, pid } = JSON.parse(await gateway.line) as Record<string, string>
  const client = new GatewayClient({ url: wsUrl!, token: readFileSync(tokenFile!, 'utf8').trim() })
  const transcript = join(env['HOME']!, '.claude/projects/-bench-asked', `${sessionId}.jsonl`)
  try {
    await whenRead(client)
    const asking = new Asking(client, pid!)
    // The first ones load the model and the vectors.
    await asking.times([questions])
    const again = await asking.times(Array.from({ length: rounds }, () => questions))
    const forget = (round: number): Promise<void> => changeIndex(client, transcript, round)
    const first = await asking.times(
      Array.from({ length: rounds }, () => questions),
      forget,
    )
    const byPrefix = await asking.times(
      Array.from({ length: rounds }, () => prefixes),
      (round) => forget(rounds + round),
    )
    const byRegex = (asked: string[], times: number): Promise<Times> =>
      asking.times(
        Array.from({ length: times }, () => asked),
        undefined,
        { regex: true },
      )
    const firstRegex = await byRegex(patterns.slice(0, 1), 1)
    const earlyRegex = await byRegex(patterns, 3)
    await whenSubstringsAreRead(client)
    const regex = await byRegex(patterns, 20)
    const withoutLetters = await byRegex(patternsWithoutLetters, 10)
    const tools = await whenToolsAreRead(client)
    return {
      ...tools,
      ...(await measureTools(asking, client)),
      first,
      again,
      prefixP95Ms: byPrefix.p95Ms,
      regex,
      regexWithoutLetters: withoutLetters,
      earlyRegex,
      firstRegexMs: firstRegex.p50Ms,
    }
  } finally {
    client.close()
    gateway.child.kill('SIGTERM')
    await gateway.ended
  }
}

async function measureTools(
  asking: Asking,
  client: GatewayClient,
): Promise<Pick<GatewayRun, 'isToolTextFound' | 'inTools' | 'whileInTools' | 'bySense' | 'regexOfNothing'>> {
  const { hits } = await client.call('sessions.search', { query: oldToolWord })
  const isToolTextFound = hits.some(({ snippet }) => snippet.includes(oldToolWord))
  const inTools = await asking.times(Array.from({ length: 7 }, () => [oldToolWord]))
  let isSearching = true
  const searching = client.call('sessions.search', { query: oldToolWord }).then(() => (isSearching = false))
  const whileInTools = await asking.times(untilDone(() => isSearching))
  await searching
  const thrice = (asked: string[]): string[][] => Array.from({ length: 3 }, () => asked)
  return {
    isToolTextFound,
    inTools,
    whileInTools,
    bySense: await asking.times(thrice(questionsBySense)),
    regexOfNothing: await asking.times(thrice(patternsOfNothing), undefined, { regex: true }),
  }
}

function* untilDone(isSearching: () => boolean): Generator<string[]> {
  while (isSearching()) yield questions
}

class Asking {
  readonly #client: GatewayClient
  readonly #pid: string

  constructor(client: GatewayClient, pid: string) {
    this.#client = client
    this.#pid = pid
  }

  /** Asks some questions in each round, one after the other. */
  async times(
    asked: Iterable<string[]>,
    before?: (round: number) => Promise<void>,
    more = {},
  ): Promise<Times> {
    const taken: number[] = []
    let cpuMs = 0
    let round = 0
    for (const queries of asked) {
      await before?.(round++)
      cpuMs -= cpuOf(this.#pid)
      for (const query of queries) {
        const began = performance.now()
        await this.#client.call('sessions.search', { query, limit: 20, ...more })
        taken.push(performance.now() - began)
      }
      cpuMs += cpuOf(this.#pid)
    }
    taken.sort((a, b) => a - b)
    const at = (share: number): number => taken[Math.floor(taken.length * share)]!
    return { searches: taken.length, p50Ms: at(0.5), p95Ms: at(0.95), cpuMs: cpuMs / taken.length }
  }
}

const sessionId = 'ffffffff-0000-4000-8000-000000000002'

/** Says something in a session, and waits until it is found. The gateway keeps lists of words until the index changes: every word is
 *  asked for the first time again. */
async function changeIndex(client: GatewayClient, transcript: string, round: number): Promise<void> {
  const word = `guillemot${round}`
  const message = { role: 'user', content: `the ${word} has landed` }
  mkdirSync(dirname(transcript), { recursive: true })
  appendFileSync(transcript, `${JSON.stringify({ type: 'user', sessionId, cwd: '/bench-asked', message })}\n`)
  for (;;) {
    const { hits } = await client.call('sessions.search', { query: word, limit: 1 })
    if (hits.some(({ snippet }) => snippet.includes(word))) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Words and vectors are there; substrings and tools may still follow in the thread of their own. */
async function whenRead(client: GatewayClient): Promise<void> {
  for (;;) {
    const { passages, spoken, withVector, reading, meaning } = await client.call('memory.status', {})
    if (passages > 0 && !reading && (!meaning || withVector >= spoken)) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Of messages; the texts of tools may still follow. */
async function whenSubstringsAreRead(client: GatewayClient): Promise<void> {
  for (;;) {
    const { withPieces, spoken } = await client.call('memory.status', {})
    if (withPieces >= spoken) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** All tool texts, or as many as the index has room for. */
async function whenToolsAreRead(
  client: GatewayClient,
): Promise<Pick<GatewayRun, 'filesWithoutTools' | 'files'>> {
  for (;;) {
    const { withoutTools, isFull, sources } = await client.call('memory.status', {})
    if (withoutTools === 0 || isFull) return { filesWithoutTools: withoutTools, files: sources }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Of the thread that answers alone: the one that indexes is another. Zero where there is no /proc. */
function cpuOf(pid: string): number {
  try {
    const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    const ticksPerSecond = 100
    return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1000
  } catch {
    return 0
  }
}
