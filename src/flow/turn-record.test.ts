import { expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import type { EntryBody, TranscriptUsage } from '../domain/transcript.ts'
import type { TurnResult } from '../domain/turn.ts'
import { TurnRecord } from './turn-record.ts'

test('each message has the cost of its tokens by kind, and the totals of a turn add up to what Claude reports', async () => {
  const written: EntryBody[] = []
  const append = async (bodies: EntryBody[]): Promise<void> => void written.push(...bodies)
  const record = new TurnRecord({
    append,
    clock: systemClock,
    provider: 'anthropic',
    session: { firstEntryId: () => '' },
  })
  const usage = { input: 1_000, output: 2_000, cacheRead: 100_000, cacheWrite: 10_000 }
  const model = 'claude-sonnet-4-5'
  record.see({ type: 'text', text: 'I look.' })
  record.see({ type: 'usage', messageId: 'a', model, usage, subagent: false })
  record.see({ type: 'tool-end', toolUseId: 't', output: 'found', isError: false })
  record.see({ type: 'text', text: 'Done.' })
  record.see({ type: 'usage', messageId: 'b', model, usage, subagent: false })
  await record.end({ end: { kind: 'completed' }, costUsd: 0.5 } as TurnResult)
  const costs = written.flatMap((body) =>
    body.type === 'message' && body.message.role === 'assistant' ? [body.message.usage.cost] : [],
  )
  expect(costs).toHaveLength(2)
  for (const { input, output, cacheRead, cacheWrite } of costs)
    expect([input, output, cacheRead, cacheWrite]).toEqual(
      [0.003, 0.03, 0.03, 0.0375].map((usd) => expect.closeTo(usd, 9)),
    )
  expect(costs[0]!.total).toBeCloseTo(0.1005, 9)
  expect(sumOfTotals(costs)).toBeCloseTo(0.5, 9)
})

function sumOfTotals(costs: Array<TranscriptUsage['cost']>): number {
  return costs.reduce((sum, { total }) => sum + total, 0)
}
