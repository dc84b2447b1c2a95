// How a person stands after the configuration changed: who owns this Rockpool, what schedules still send to the chat of the person,
// and what `pairing list` and `pairing remove` say.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const ada = { id: 500, name: 'Ada' }
const bob = { id: 601, name: 'Bob' }
const eve = { id: 602, name: 'Eve' }
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  const account = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 }
  house = await openChannelHouse({
    channels: { ownerAllowFrom: ['telegram:500'], telegram: account },
    offline: true,
  })
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownTo = ({ id }: { id: number }): string[] =>
  telegram.shown.filter(({ chat }) => chat === id).map(({ text }) => text)

/** Writes something and resolves to the first answer. */
async function say(text: string, from: typeof ada): Promise<string> {
  const before = shownTo(from).length
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text) })
  await vi.waitFor(() => expect(shownTo(from).length).toBeGreaterThan(before), waiting)
  return shownTo(from)[before]!
}

/** The person asks for a code, and the operator approves it. */
async function pair(from: typeof ada, options = {}): Promise<Record<string, unknown>> {
  const [, code] = /pairing code is (\w+)/.exec(await say('hello', from)) ?? []
  return house.ask('pairing.approve', { code, ...options })
}

async function configure(settings: Record<string, unknown>): Promise<void> {
  for (const [key, value] of Object.entries(settings))
    await house.ask('config.set', { key: `channels.${key}`, value: JSON.stringify(value) })
  await house.restart()
}

test.each(['with a guest', 'without a guest'])(
  'after the configured owner was taken out, %s, the next person becomes the owner only by name',
  async (how) => {
    if (how === 'with a guest') expect(await pair(bob)).toMatchObject({ person: { owner: false } })
    await configure({ ownerAllowFrom: [] })
    expect(await house.ask('pairing.list')).toMatchObject({ firstOwns: false })
    expect(await pair(eve)).toMatchObject({ person: { owner: false } })
    expect(await pair(ada, { owner: true })).toMatchObject({ person: { owner: true } })
  },
)
