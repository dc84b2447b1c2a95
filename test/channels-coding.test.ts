// Coding sessions from a chat: started, reported and streamed there, and answered by a reply to the notice.
import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { watchInForeground } from './support/foreground.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const owner = { id: 501, name: 'Ada' }
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    channels: {
      ownerAllowFrom: ['telegram:501'],
      telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2, allowFrom: [502] },
    },
  })
  execFileSync('git', ['init', '-q', house.home.project])
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const write = (text: string, more = {}, from = owner): void => {
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text, more) })
}
const texts = (): string[] => telegram.shown.map((one) => one.text)

test('/claude works in the background, reports when it waits, and gets a reply to its notice', async () => {
  house.api.script('paint the shed', [{ text: 'Which colour shall it be?' }])
  house.api.script('in blue please', [{ text: 'It is blue now.' }])
  write('/claude --name shed paint the shed')
  await vi.waitFor(() => expect(texts().join('\n')).toMatch(/Which colour shall it be\?/), waiting)
  const notice = telegram.shown.find((one) => /Which colour/.test(one.text))!
  // Nobody answers faster than Telegram says that it has sent the notice.
  const sent = house.app.storage.replyMap
  const address = { channel: 'telegram', accountId: 'default', to: '501' }
  await vi.waitFor(async () => expect(await sent.find(address, String(notice.id))).toBeDefined(), waiting)
  write('in blue please', {
    reply_to_message: { message_id: notice.id, from: telegram.bot, text: notice.text },
  })
  const output = async () => JSON.stringify(await house.ask('coding.output', { session: 'shed' }))
  await vi.waitFor(async () => expect(await output()).toMatch(/It is blue now\./), waiting)
  const asked = house.api.requests.find((one) => one.prompt.includes('in blue please'))!
  expect(asked.text).toContain('Which colour shall it be?')
  expect(telegram.shown.every((one) => one.chat === 501)).toBe(true)
})

test('a guest cannot start one', async () => {
  write('/claude do something', {}, { id: 502, name: 'Ada' })
  await vi.waitFor(() => expect(telegram.shown.at(-1)).toMatchObject({ chat: 502 }), waiting)
  expect(await house.ask('coding.sessions')).toMatchObject({ sessions: [] })
})

test('in the foreground its output is one message that grows', async () => {
  await watchInForeground(house, write, texts)
  expect(telegram.shown.find((one) => one.text.startsWith('First I look.'))).toMatchObject({ edited: true })
})
