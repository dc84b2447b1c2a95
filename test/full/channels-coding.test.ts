// What a coding session says streams into one message also where it is not Telegram that shows it.
import { execFileSync } from 'node:child_process'
import { afterEach, test } from 'vitest'
import { connected, linkWhatsapp, openChannelHouse } from '../support/channel-house.ts'
import type { ChannelHouse } from '../support/channel-house.ts'
import { DiscordApi } from '../support/discord-api.ts'
import { watchInForeground } from '../support/foreground.ts'
import { WhatsappServer } from '../support/whatsapp-server.ts'

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(channels: Record<string, unknown>): Promise<ChannelHouse> {
  const house = await openChannelHouse({ channels })
  closing.push(() => house.close())
  execFileSync('git', ['init', '-q', house.home.project])
  return house
}

test('on Discord the message is edited', async () => {
  const discord = await DiscordApi.listen()
  closing.push(() => discord.close())
  const ada = { id: '5010', username: 'ada' }
  discord.channels.set('7001', { id: '7001', type: 1, recipients: [ada] })
  const settings = { apiRoot: discord.root, token: discord.token }
  const house = await open({ ownerAllowFrom: ['discord:5010'], discord: settings })
  await connected(house, 'discord')
  await watchInForeground(
    house,
    (content) => discord.write({ channel_id: '7001', author: ada, content }),
    () => discord.ours().map(({ content }) => content),
  )
})

test('on WhatsApp, too', async () => {
  const server = await WhatsappServer.listen()
  closing.push(() => server.close())
  const house = await open({
    ownerAllowFrom: ['whatsapp:+4915550002222'],
    whatsapp: { waWebSocketUrl: server.url },
  })
  await linkWhatsapp(house, server)
  await watchInForeground(
    house,
    (conversation) => server.write(server.alice, { conversation }),
    () => server.shownTexts(),
  )
})
