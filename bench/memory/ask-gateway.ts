// How long a question takes whoever asks the gateway for it, beside all that was ever said.
import { readFileSync } from 'node:fs'
import { GatewayClient } from '../../src/rpc/client.ts'
import { startProgram } from '../../test/support/program.ts'
import { questions } from './questions.ts'

export interface GatewayRun {
  p50Ms: number
  p95Ms: number
  /** Processor time of the gateway for one question. */
  cpuMs: number
  searches: number
}

const rounds = 25

export async function measureGateway(env: Record<string, string>): Promise<GatewayRun> {
  const gateway = startProgram(['up', '--port', '0', '--json'], env)
  const { wsUrl, tokenFile, pid } = JSON.parse(await gateway.line) as Record<string, string>
  const client = new GatewayClient({ url: wsUrl!, token: readFileSync(tokenFile!, 'utf8').trim() })
  try {
    await whenRead(client)
    const ask = (query: string): Promise<unknown> => client.call('sessions.search', { query, limit: 20 })
    // The first ones load the model and the vectors.
    for (const question of questions) await ask(question)
    const times: number[] = []
    const before = cpuOf(pid!)
    for (let round = 0; round < rounds; round++) {
      for (const question of questions) {
        const asked = performance.now()
        await ask(question)
        times.push(performance.now() - asked)
      }
    }
    const cpuMs = (cpuOf(pid!) - before) / times.length
    times.sort((a, b) => a - b)
    const at = (share: number): number => times[Math.floor(times.length * share)]!
    return { p50Ms: at(0.5), p95Ms: at(0.95), cpuMs, searches: times.length }
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
