// Sends many messages through the whole way of a message, in rounds, and prints what the process keeps after each round.
// Usage: node --expose-gc soak-flow.ts <people> <messages of each in a round> <rounds> <minutes for all rounds>
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFlow } from './flow-bench.ts'
import { writingPeople } from './writing-people.ts'

const [people = 1, each = 1, rounds = 1, minutes = 0] = process.argv.slice(2).map(Number)
/** Messages come in bursts that are spread over the minutes, so that timers and idle times are part of the soak. */
const bursts = 20
const burstMs = (minutes * 60_000) / rounds / bursts
const flow = await openFlow({ config: { messages: { queue: { mode: 'followup', cap: 1_000 } } } })
const writers = writingPeople(flow, people)
const kept: Array<{ heapMb: number; files: number }> = []
for (let round = 0; round < rounds; round++) {
  for (let burst = 0; burst < bursts; burst++)
    await Promise.all([writers.rate(each / bursts), sleep(burstMs)])
  await flow.settled()
  // What the platform shows is not the gateway's to keep.
  flow.channel.sent.length = 0
  // Transcripts stay open for a moment after the last append.
  await sleep(1_000)
  globalThis.gc!()
  const heapMb = Math.round(process.memoryUsage().heapUsed / 2 ** 18) / 4
  kept.push({ heapMb, files: readdirSync('/proc/self/fd').length })
}
await flow.stop()
flow.remove()
process.stdout.write(`${JSON.stringify(kept)}\n`)
