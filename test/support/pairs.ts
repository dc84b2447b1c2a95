// Pairs of people who write at the same moment: does every answer go to the one who asked?
import { openChannelHouse } from './channel-house.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'
import type { ShownMessage } from './telegram-api.ts'

export interface PairsReport {
  answered: number
  toTheWrongPerson: string[]
}

/** A busy machine may take long; only a stop is a failure. */
const longestStopMs = 90_000

async function untilAll(wanted: number, answered: () => number): Promise<void> {
  for (let last = { count: 0, at: performance.now() }; ;) {
    const count = answered()
    if (count >= wanted) return
    if (count > last.count) last = { count, at: performance.now() }
    if (performance.now() - last.at > longestStopMs) throw new Error(`${count} of ${wanted} are answered`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const isAnswer = ({ text, chat }: ShownMessage): boolean => text.includes(`secret-of-${chat}.`)

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
    // A slow machine may get the notice that a message perhaps did not arrive, so messages are more than answers.
    const answered = (): number => new Set(telegram.shown.filter(isAnswer).map((one) => one.chat)).size
    await untilAll(2 * pairs, answered)
    const wrong = telegram.shown.filter((one) =>
      [...one.text.matchAll(/secret-of-(\d+)/g)].some(([, id]) => Number(id) !== one.chat),
    )
    return { answered: answered(), toTheWrongPerson: wrong.map((one) => `${one.chat}: ${one.text}`) }
  } finally {
    await house.close()
    await telegram.close()
  }
}
