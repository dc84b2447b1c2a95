// How long the gateway takes to answer a question, with 1 GB of transcripts in the index.
import { readFileSync } from 'node:fs'
import { GatewayClient } from '../../src/rpc/client.ts'
import { startProgram } from '../../test/support/program.ts'
import { firstAsked, patterns, prefixes, questions } from './questions.ts'

export interface GatewayRun {
  p50Ms: number
  p95Ms: number
  /** Processor time of the gateway for one question. */
  cpuMs: number
  searches: number
  /** The slowest question whose words were not asked for before, and the median. */
  firstWorstMs: number
  firstP50Ms: number
  /** By the beginning of a word, and by regular expression. */
  prefixP95Ms: number
  regexP95Ms: number
}

const rounds = 25

export async function measureGateway(env: Record<string, string>): Promise<GatewayRun> {
  const gateway = startProgram(['up', '--port', '0', '--json'], env)
  const { wsUrl, tokenFile, pid } = JSON.parse(await gateway.line) as Record<string, string>
  const client = new GatewayClient({ url: wsUrl!, token: readFileSync(tokenFile!, 'utf8').trim() })
  try {
    await whenRead(client)
    // The first ones load the model and the vectors.
    for (const query of questions) await client.call('sessions.search', { query, limit: 20 })
    const timesOf = async (asked: string[], times: number, more = {}): Promise<number[]> => {
      const taken: number[] = []
      for (let round = 0; round < times; round++)
        for (const query of asked) {
          const began = performance.now()
          await client.call('sessions.search', { query, limit: 20, ...more })
          taken.push(performance.now() - began)
        }
      return taken.sort((a, b) => a - b)
    }
    const before = cpuOf(pid!)
    const times = await timesOf(questions, rounds)
    const cpuMs = (cpuOf(pid!) - before) / times.length
    const at = (share: number, of: number[]): number => of[Math.floor(of.length * share)]!
    const first = await timesOf(firstAsked, 1)
    return {
      firstWorstMs: first.at(-1)!,
      firstP50Ms: at(0.5, first),
      p50Ms: at(0.5, times),
      p95Ms: at(0.95, times),
      cpuMs,
      searches: times.length,
      prefixP95Ms: at(0.95, await timesOf(prefixes, rounds)),
      regexP95Ms: at(0.95, await timesOf(patterns, 5, { regex: true })),
    }
  } finally {
    client.close()
    gateway.child.kill('SIGTERM')
    await gateway.ended
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
