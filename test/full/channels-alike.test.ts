// Two sessions ask exactly the same: one answer in the chat is enough, by word in every channel and by button where there
// are any.
import { execFileSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { afterEach, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../../src/agent/offline.ts'
import { ConsoleChannel } from '../../src/channels/console.ts'
import { makeChannelHost } from '../../src/flow/channel-host.ts'
import { allSent, connected, linkWhatsapp, openChannelHouse } from '../support/channel-house.ts'
import type { ChannelHouse } from '../support/channel-house.ts'
import { DiscordApi } from '../support/discord-api.ts'
import { personMessage, TelegramApi } from '../support/telegram-api.ts'
import { WhatsappServer } from '../support/whatsapp-server.ts'

const waiting = { timeout: 30_000, interval: 20 }
const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(channels: Record<string, unknown> = {}): Promise<ChannelHouse> {
  const coding = { perRepo: { running: 9, queued: 1 } }
  const house = await openChannelHouse({ channels, offline: true, coding })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  closing.push(() => house.close())
  execFileSync('git', ['init', '-q', house.home.project])
  return house
}

/** Two sessions are launched in the chat and ask the same; `answer` gets the notice of the second. */
async function answeredTogether(
  house: ChannelHouse,
  write: (text: string) => unknown,
  shown: () => string[],
  answer: () => unknown,
): Promise<void> {
  const { approvals } = house.app.coding()
  const { coding: store } = house.app.storage
  for (const [index, name] of ['one', 'two'].entries()) {
    await write(`/claude --name ${name} [[offline: ask Bash {"command":"make"}]]`)
    await vi.waitFor(() => expect(approvals.pending()).toHaveLength(index + 1), waiting)
  }
  const notice = /2 sessions ask exactly this: \[one\], \[two\]\. For all of them: yes all or no all/
  await vi.waitFor(() => expect(shown().join('\n')).toMatch(notice), waiting)
  await allSent(house)
  // Telegram and WhatsApp count in seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  await answer()
  await vi.waitFor(() => expect(shown().join('\n')).toMatch(/allowed \[one\]\s+allowed \[two\]/), waiting)
  const done = (): string[] => store.list({}).map(({ lifecycle }) => lifecycle)
  await vi.waitFor(() => expect(done()).toEqual(['awaiting-input', 'awaiting-input']), waiting)
}

test.each(['word', 'button'])('on Telegram, by %s', async (how) => {
  const telegram = await TelegramApi.listen()
  closing.push(() => telegram.close())
  const settings = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 }
  const house = await open({ ownerAllowFrom: ['telegram:501'], telegram: settings })
  const owner = { id: 501, name: 'Ada' }
  const write = (text: string): unknown =>
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, text) })
  const press = (): void => {
    const notice = telegram.shown.findLast((one) => one.buttons.length > 0)!
    const { data } = notice.buttons.flat().find(({ text }) => text === 'Allow once for all 2')!
    const from = { id: 501, is_bot: false, first_name: 'Ada' }
    const message = { message_id: notice.id, date: 1, chat: { id: 501, type: 'private' } }
    telegram.emit({ callback_query: { id: 'q', from, message, data, chat_instance: 'c' } })
  }
  const shown = (): string[] => [...telegram.shown, ...telegram.acknowledged].map(({ text = '' }) => text)
  await answeredTogether(house, write, shown, how === 'word' ? () => write('yes all') : press)
})

test.each(['word', 'button'])('on Discord, by %s', async (how) => {
  const discord = await DiscordApi.listen()
  closing.push(() => discord.close())
  const ada = { id: '5010', username: 'ada' }
  discord.channels.set('7001', { id: '7001', type: 1, recipients: [ada] })
  const settings = { apiRoot: discord.root, token: discord.token }
  const house = await open({ ownerAllowFrom: ['discord:5010'], discord: settings })
  await connected(house, 'discord')
  const write = (content: string): unknown => discord.write({ channel_id: '7001', author: ada, content })
  const press = (): void => {
    const notice = discord.ours().findLast((one) => one.components.length > 0)!
    const buttons = notice.components.flatMap((row) => row.components)
    const { custom_id } = buttons.find(({ label }) => label === 'Allow once for all 2')!
    discord.dispatch('INTERACTION_CREATE', {
      id: '3001',
      application_id: '4001',
      token: 'token-3001',
      type: 3,
      channel: discord.channels.get('7001'),
      user: ada,
      message: notice,
      data: { custom_id, component_type: 2 },
    })
  }
  const shown = (): string[] => [...discord.ours().map(({ content }) => content), ...discord.followUps]
  await answeredTogether(house, write, shown, how === 'word' ? () => write('yes all') : press)
})

test('on WhatsApp, where there are no buttons', async () => {
  const server = await WhatsappServer.listen()
  closing.push(() => server.close())
  const house = await open({
    ownerAllowFrom: ['whatsapp:+4915550002222'],
    whatsapp: { waWebSocketUrl: server.url },
  })
  await linkWhatsapp(house, server)
  const write = (conversation: string): Promise<unknown> => server.write(server.alice, { conversation })
  await answeredTogether(
    house,
    write,
    () => server.shownTexts(),
    () => write('yes all'),
  )
})

test('on the page', async () => {
  const house = await open()
  const shown: string[] = []
  house.app.events.on(
    (event) =>
      event.type === 'web-output' && event.output.type !== 'typing' && shown.push(event.output.message.text),
  )
  const write = (text: string): Promise<unknown> => house.ask('web.write', { text })
  await answeredTogether(
    house,
    write,
    () => shown,
    () => write('yes all'),
  )
})

test('in the terminal', async () => {
  const house = await open()
  const [input, output] = [new PassThrough(), new PassThrough()]
  let printed = ''
  output.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const host = makeChannelHost({ ...house.app, takesMedia: async () => true })
  await house.conversations.addChannel(new ConsoleChannel({ input, output, user: 'me' }, host))
  const write = (text: string): unknown => input.write(`${text}\n`)
  await answeredTogether(
    house,
    write,
    () => [printed],
    () => write('yes all'),
  )
})
