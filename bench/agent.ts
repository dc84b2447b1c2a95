// Turns of the real Claude binary: what a first turn costs, and what a second one in the same conversation does.
import { setTimeout as pause } from 'node:timers/promises'
import { makeTestAgent, take } from '../test/support/claude-agent.ts'
import { inline } from '../test/support/messages-api.ts'
import type { BenchResult } from './result.ts'

const rounds = 5

export async function bench(): Promise<BenchResult[]> {
  const t = await makeTestAgent()
  const cold: number[] = []
  const warm: number[] = []
  const spare: number[] = []
  const script = inline({ text: 'Hello.' })
  for (let round = 0; round < rounds; round++) {
    const key = `cold-${round}`
    // A tool of its own: a spare does not fit this one.
    const allowedTools = ['Read']
    cold.push(await timed(async () => void (await take(await t.open({ key, allowedTools }), script))))
    const live = t.agent.live(key)!
    const resume = { sdkSessionId: live.sdkSessionId! }
    warm.push(await timed(async () => void (await take(await t.open({ key, allowedTools, resume }), script))))
    await live.close()
    await t.agent.prewarm!(t.options())
    // A spare waits for minutes before it is used; give it a moment to come to rest.
    await pause(500)
    spare.push(await timed(async () => void (await take(await t.open({ key: `spare-${round}` }), script))))
    await t.agent.live(`spare-${round}`)!.close()
  }
  await t.close()
  const [first, second, prewarmed] = [median(cold), median(warm), median(spare)]
  return [
    {
      name: 'a second turn in a warm session, as a part of the first',
      measured: `${(second / first).toFixed(3)} (${ms(second)} after ${ms(first)})`,
      wanted: 'at most 0.25',
      ok: second / first <= 0.25,
      how: `medians of ${rounds}: open and one turn of the real binary against the scripted API`,
    },
    {
      name: 'a first turn in a process that was started ahead of time, as a part of one that was not',
      measured: `${(prewarmed / first).toFixed(3)} (${ms(prewarmed)})`,
      wanted: 'at most 0.6',
      ok: prewarmed / first <= 0.6,
      how: `medians of ${rounds}, in the same run`,
    },
  ]
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function ms(value: number): string {
  return `${Math.round(value)} ms`
}
