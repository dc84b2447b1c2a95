// Pairs of people who write at the same moment: does every answer go to the one who asked?
import { vi } from 'vitest'
import { openChannelHouse } from './channel-house.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'

export interface PairsReport {
  answered: number
  toTheWrongPerson: string[]
}

/** The two of each pair have the same name, and their messages come in one answer of Telegram. */
export async function writeInPairs(pairs: number): Promise<PairsReport> {
  const telegram = await TelegramApi.listen()
  const house = await openChannelHouse({
    offline: true,
    channels: {
      messagesPerMinute: 1_000_000,
      telegram: {
        apiRoot: telegram.root,
        botToken: telegram.token,
        pollSeconds: 1,
        dmPolicy: 'open',
        allowFrom: ['*'],
      },
    },
  })
  try {
    for (let pair = 0; pair < pairs; pair++) {
      for (const id of [20_000 + 2 * pair, 20_001 + 2 * pair]) {
        const message = personMessage(telegram, { id, name: 'Alex' }, { id }, `secret-of-${id}.`)
        telegram.emit({ message: { ...message, date: 1_700_000_000 } })
      }
    }
    await vi.waitFor(
      () => {
        if (telegram.shown.length < 2 * pairs) throw new Error('not yet')
      },
      { timeout: 60_000 + pairs * 400, interval: 50 },
    )
    const wrong = telegram.shown.filter((one) =>
      [...one.text.matchAll(/secret-of-(\d+)/g)].some(([, id]) => Number(id) !== one.chat),
    )
    const right = new Set(
      telegram.shown.filter((one) => one.text.includes(`secret-of-${one.chat}.`)).map((one) => one.chat),
    )
    return { answered: right.size, toTheWrongPerson: wrong.map((one) => `${one.chat}: ${one.text}`) }
  } finally {
    await house.close()
    await telegram.close()
  }
}
