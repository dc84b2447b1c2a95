// With real tokens in the environment, the real platforms. Without them these say so and do nothing.
import { expect, test } from 'vitest'
import { checkToken } from '../src/channels/check-token.ts'
import { DiscordChannel } from '../src/channels/discord.ts'
import { TelegramChannel } from '../src/channels/telegram.ts'
import { systemClock } from '../src/domain/clock.ts'
import { testHost } from './support/channel-host.ts'

const { ROCKPOOL_LIVE_TELEGRAM_TOKEN: telegramToken, ROCKPOOL_LIVE_TELEGRAM_CHAT: telegramChat } = process.env
const { ROCKPOOL_LIVE_DISCORD_TOKEN: discordToken, ROCKPOOL_LIVE_DISCORD_CHANNEL: discordChannel } =
  process.env

test('the real Telegram takes a message, an edit and buttons', async (ctx) => {
  if (!telegramToken || !telegramChat) {
    ctx.skip('set ROCKPOOL_LIVE_TELEGRAM_TOKEN and ROCKPOOL_LIVE_TELEGRAM_CHAT to run it')
    return
  }
  expect((await checkToken({ channel: 'telegram', token: telegramToken })).name).toMatch(/^@/)
  const host = testHost(systemClock)
  const channel = new TelegramChannel({ accountId: 'default', token: telegramToken }, host)
  await sendAndEdit(channel, { channel: 'telegram', accountId: 'default', to: telegramChat })
  host.close()
})

test('the real Discord takes a message, an edit and buttons', async (ctx) => {
  if (!discordToken || !discordChannel) {
    ctx.skip('set ROCKPOOL_LIVE_DISCORD_TOKEN and ROCKPOOL_LIVE_DISCORD_CHANNEL to run it')
    return
  }
  const host = testHost(systemClock)
  const channel = new DiscordChannel({ accountId: 'default', token: discordToken }, host)
  await sendAndEdit(channel, { channel: 'discord', accountId: 'default', to: discordChannel })
  host.close()
})

type LiveChannel = Pick<TelegramChannel, 'send' | 'edit'>

async function sendAndEdit(
  channel: LiveChannel,
  to: { channel: string; accountId: string; to: string },
): Promise<void> {
  const buttons = [[{ label: 'Fine', data: 'live:fine' }]]
  const options = { idempotencyKey: `live-${Date.now()}`, resent: false }
  const sent = await channel.send(to, { text: '**Rockpool** is testing.', buttons }, options)
  expect(sent).toMatchObject({ kind: 'sent' })
  const id = sent.kind === 'sent' ? sent.messageIds[0]! : ''
  expect(await channel.edit(to, id, { text: 'Rockpool has tested.' })).toMatchObject({ kind: 'sent' })
}
