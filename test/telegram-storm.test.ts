import { expect, test } from 'vitest'
import { telegramStorm } from './telegram-storm.ts'

test('a faulty Telegram and kill -9: nothing lost, nothing said twice unmarked, nothing said to another', async () => {
  const report = await telegramStorm({ chats: 12, each: 10, kills: 3, maxLifeMs: 2_500, faultsPerHundred: 8 })
  expect(report).toMatchObject({
    lost: [],
    unmarkedDuplicates: [],
    crossChat: [],
    outOfOrder: [],
    thirdCopies: [],
    givenUp: 0,
  })
  expect(report.kills).toBeGreaterThan(0)
}, 120_000)
