import { afterEach, expect, test } from 'vitest'
import type { FlowBench, FlowBenchOptions } from './flow-bench.ts'
import { openFlow, wordsOf } from './flow-bench.ts'

const opened: FlowBench[] = []
async function flow(options: FlowBenchOptions = {}): Promise<FlowBench> {
  const bench = await openFlow(options)
  opened.push(bench)
  return bench
}
afterEach(async () => {
  for (const bench of opened.splice(0)) {
    await bench.stop().catch(() => {})
    bench.remove()
  }
})

const key = 'agent:main:memory:direct:7'

test('a message comes in, its session is found, the agent answers, everything is recorded', async () => {
  const bench = await flow()
  await bench.channel.say('[[offline: say hello there]]')
  await bench.settled()
  expect(bench.channel.texts).toEqual(['hello there'])
  const entry = await bench.sessions.get(key)
  expect(entry).toMatchObject({ chatType: 'direct', lastTo: '7', systemSent: true, model: 'offline' })
  expect(wordsOf(await bench.transcript(key))).toEqual([
    'user: [[offline: say hello there]]',
    'assistant: hello there',
  ])
  expect(await bench.work.lanes.history()).toMatchObject([{ lane: key, end: 'completed' }])
})
