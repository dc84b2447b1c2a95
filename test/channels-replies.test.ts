// A reply to any message of ours goes to the session that the message came from; when that session was reset, to a
// fork of the old conversation. On every channel that has answers, also after a restart.
import { afterEach, expect, test, vi } from 'vitest'
import { connected, linkWhatsapp, openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { DiscordApi } from './support/discord-api.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'
import { WhatsappServer } from './support/whatsapp-server.ts'

const waiting = { timeout: 30_000, interval: 20 }
const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Chat {
  house: ChannelHouse
  write(text: string, replyTo?: string): Promise<void>
  /** Our messages there, oldest first. */
  shown(): Array<{ id: string; text: string }>
}

async function open(channels: Record<string, unknown>): Promise<ChannelHouse> {
  const house = await openChannelHouse({ offline: true, channels })
  closing.push(() => house.close())
  return house
}

async function onTelegram(): Promise<Chat> {
  const telegram = await TelegramApi.listen()
  closing.push(() => telegram.close())
  const settings = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2, allowFrom: [501] }
  const house = await open({ telegram: settings })
  return {
    house,
    async write(text, replyTo) {
      const reply_to_message = replyTo && { message_id: Number(replyTo), from: telegram.bot, text: '…' }
      const more = reply_to_message ? { reply_to_message } : {}
      telegram.emit({ message: personMessage(telegram, { id: 501, name: 'Ada' }, { id: 501 }, text, more) })
    },
    shown: () => telegram.shown.map(({ id, text }) => ({ id: String(id), text })),
  }
}

async function onDiscord(): Promise<Chat> {
  const discord = await DiscordApi.listen()
  closing.push(() => discord.close())
  const ada = { id: '5010', username: 'ada' }
  discord.channels.set('7001', { id: '7001', type: 1, recipients: [ada] })
  const house = await open({ discord: { apiRoot: discord.root, token: discord.token, allowFrom: ['5010'] } })
  return {
    house,
    async write(content, replyTo) {
      const referenced_message = discord.messages.find((one) => one.id === replyTo)
      const reference = replyTo ? { message_reference: { message_id: replyTo }, referenced_message } : {}
      discord.write({ channel_id: '7001', author: ada, content, ...reference })
    },
    shown: () => discord.ours().map(({ id, content }) => ({ id, text: content })),
  }
}

async function onWhatsapp(): Promise<Chat> {
  const server = await WhatsappServer.listen()
  closing.push(() => server.close())
  const house = await open({
    whatsapp: { waWebSocketUrl: server.url, allowFrom: ['+4915550002222'] },
  })
  await linkWhatsapp(house, server)
  return {
    house,
    async write(text, replyTo) {
      const contextInfo = replyTo ? { stanzaId: replyTo, participant: server.account.pn } : {}
      await server.write(server.alice, { extendedTextMessage: { text, contextInfo } })
    },
    shown: () =>
      server.sent.flatMap(({ id, message }) => {
        const text = message.extendedTextMessage?.text
        return text ? [{ id, text }] : []
      }),
  }
}

test.each([
  ['telegram', onTelegram],
  ['discord', onDiscord],
  ['whatsapp', onWhatsapp],
])('%s: a reply continues there, and after a reset in a fork of the old session', async (name, openChat) => {
  const chat = await openChat()
  const said = async (text: RegExp): Promise<string> => {
    await vi.waitFor(() => expect(chat.shown().at(-1)?.text).toMatch(text), waiting)
    await chat.house.conversations.converse.idle()
    return chat.shown().at(-1)!.id
  }
  const keys = async (): Promise<string[]> => {
    const { sessions } = (await chat.house.ask('sessions.list')) as { sessions: Array<{ key: string }> }
    return sessions.map((one) => one.key)
  }
  await connected(chat.house, name)
  await chat.write('remember blue')
  const old = await said(/remember blue/)
  await chat.write('and green', old)
  await said(/and green/)
  expect(await keys()).toHaveLength(1)
  await chat.write('/new')
  await said(/New session/i)
  await chat.house.restart()
  await connected(chat.house, name)
  await chat.write('which colour was it?', old)
  await said(/which colour/)
  const forks = (await keys()).filter((key) => key.startsWith('agent:main:dashboard:'))
  expect(forks).toHaveLength(1)
})
