// The real program on a faulty Telegram, killed at random, at size.
import { expect, test } from 'vitest'
import { nothingWrong, telegramStorm } from '../support/telegram-storm.ts'

test('5,000 messages through a faulty Telegram with kill -9 at random: 0 lost, 0 unmarked duplicates, 0 cross-chat', async () => {
  const report = await telegramStorm({
    chats: 100,
    each: 50,
    kills: 12,
    maxLifeMs: 6_000,
    faultsPerHundred: 8,
  })
  console.log(report)
  expect(report).toMatchObject({ ...nothingWrong, givenUp: 0 })
  expect(report.kills).toBe(12)
  expect(report.markedDuplicates).toBeLessThanOrEqual(report.kills * 100 + report.faults)
})
