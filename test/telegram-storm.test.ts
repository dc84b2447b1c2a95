// The real program on a faulty Telegram, small; test/full/telegram-storm.test.ts has it at size.
import { expect, test } from 'vitest'
import { nothingWrong, telegramStorm } from './support/telegram-storm.ts'

test('a faulty Telegram and kill -9: nothing lost, nothing said twice unmarked, nothing said to another', async () => {
  const report = await telegramStorm({ chats: 12, each: 10, kills: 3, maxLifeMs: 2_500, faultsPerHundred: 8 })
  expect(report).toMatchObject({ ...nothingWrong, givenUp: 0 })
  expect(report.kills).toBe(3)
}, 120_000)
