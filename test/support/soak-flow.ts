// Sends many messages through the whole way of a message, in rounds, and prints what the process keeps after each round.
// Usage: node --expose-gc soak-flow.ts <people> <messages of each in a round> <rounds>
import { readdirSync } from 'node:fs'
import { openFlow } from './flow-bench.ts'
import { writingPeople } from './writing-people.ts'

const [people = 1, each = 1, rounds = 1] = process.argv.slice(2).map(Number)
const flow = await openFlow({ config: { messages: { queue: { mode: 'followup', cap: 1_000 } } } })
const writers = writingPeople(flow, people)
const kept: Array<{ heapMb: number; files: number }> = []
for (let round = 0; round < rounds; round++) {
  await writers.rate(each)
  await flow.settled()
  // What the platform shows is not the gateway's to keep.
  flow.channel.sent.length = 0
  // Transcripts stay open for a moment after the last append.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  globalThis.gc!()
  const heapMb = Math.round(process.memoryUsage().heapUsed / 2 ** 18) / 4
  kept.push({ heapMb, files: readdirSync('/proc/self/fd').length })
}
await flow.stop()
flow.remove()
process.stdout.write(`${JSON.stringify(kept)}\n`)
