// A message that cannot be delivered is reported: in its chat, to the owner and in `rockpool status`.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 20_000, interval: 20 }
const guest = { id: 502, name: 'Bob' }
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    offline: true,
    channels: {
      ownerAllowFrom: ['telegram:501'],
      telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2, allowFrom: [502] },
    },
  })
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownIn = (chat: number): string[] =>
  telegram.shown.filter((one) => one.chat === chat).map((one) => one.text)
const write = (text: string): void =>
  void telegram.emit({ message: personMessage(telegram, guest, { id: guest.id }, text) })

test('a chat that blocked us is reported to the owner, once in an hour, and in the status', async () => {
  telegram.fault('sendMessage', { kind: 'error', code: 403, description: 'Forbidden: bot was blocked' })
  write('hello')
  await vi.waitFor(() => expect(shownIn(501).join()).toMatch(/502 on telegram.*bot was blocked/), waiting)
  telegram.fault('sendMessage', { kind: 'error', code: 403, description: 'Forbidden: bot was blocked' })
  write('hello again')
  const undelivered = async () =>
    ((await house.ask('status')) as { undelivered: Array<Record<string, unknown>> }).undelivered
  await vi.waitFor(async () => expect(await undelivered()).toHaveLength(2), waiting)
  expect((await undelivered())[0]).toMatchObject({ channel: 'telegram', to: '502' })
  expect(shownIn(501)).toHaveLength(1)
  expect(shownIn(502)).toEqual([])
})

test('after one marked copy without a confirmation, the chat gets a note instead of a third, and a press sends it again', async () => {
  telegram.fault('sendMessage', { kind: 'cut-after' }, 2)
  write('hello')
  await vi.waitFor(() => expect(shownIn(502)).toHaveLength(3), waiting)
  const [first, copy, note] = shownIn(502)
  expect(copy).toBe(`(resent after an interruption)\n${first}`)
  expect(note).toMatch(/could not learn whether it arrived \(it began: .+\)\. If you do not see it, let me/)
  await vi.waitFor(
    () => expect(shownIn(501).join()).toMatch(/sent twice, and it is unknown whether it arrived/),
    waiting,
  )
  const { id, buttons } = telegram.shown.findLast((one) => one.chat === 502)!
  const press = (chat: number): void => {
    const message = { message_id: id, date: 1, chat: { id: chat, type: 'private' } }
    const from = { id: chat, is_bot: false, first_name: 'Bob' }
    telegram.emit({ callback_query: { id: `q${chat}`, from, message, data: buttons.flat()[0]!.data } })
  }
  press(501)
  press(502)
  await vi.waitFor(() => expect(shownIn(502)).toHaveLength(4), waiting)
  await vi.waitFor(() => expect(telegram.acknowledged).toHaveLength(2), waiting)
  expect(shownIn(502)[3]).toBe(first)
  expect(shownIn(501)).toHaveLength(1)
})
