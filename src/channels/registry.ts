// Makes the channels that the configuration asks for. A platform's library is loaded only when it is used.
import type { Channel, ChannelHost } from '../domain/channel.ts'
import { accountsOf } from '../domain/config/channel-settings.ts'
import type { ChannelsConfig } from '../domain/config/channel-settings.ts'
import { IdleChannel } from './idle-channel.ts'

export interface ChannelParts {
  config: ChannelsConfig
  host: ChannelHost
  /** The secret of an account, wherever it is kept. */
  tokenOf: (account: {
    channel: string
    accountId: string
    configured?: string
    file?: string
  }) => string | undefined
}

/** Every enabled account; one without a token is there too, and says what it needs. */
export async function openChannels(parts: ChannelParts): Promise<Channel[]> {
  const opened = await Promise.all([
    openTelegram(parts),
    openDiscord(parts),
    openWhatsapp(parts),
    openWeb(parts),
  ])
  return opened.flat()
}

/** Only this account, for sending one message without a gateway. */
export async function openChannel(
  parts: ChannelParts,
  channel: string,
  accountId: string,
): Promise<Channel | undefined> {
  const open = { telegram: openTelegram, discord: openDiscord, whatsapp: openWhatsapp, web: openWeb }
  const found = Object.entries(open).find(([name]) => name === channel)?.[1]
  return (await found?.(parts))?.find((one) => one.accountId === accountId)
}

async function openTelegram({ config, host, tokenOf }: ChannelParts): Promise<Channel[]> {
  const accounts = accountsOf(config, 'telegram').filter(isEnabled)
  if (accounts.length === 0) return []
  const { TelegramChannel } = await import('./telegram.ts')
  return accounts.map(({ accountId, settings }) => {
    const { botToken: configured, tokenFile: file, apiRoot, pollSeconds, webhook } = settings
    const token = tokenOf({ channel: 'telegram', accountId, configured, file })
    if (!token) return new IdleChannel('telegram', accountId, needsToken('telegram'), host)
    return new TelegramChannel({ accountId, token, apiRoot, pollSeconds, webhook }, host)
  })
}

async function openDiscord({ config, host, tokenOf }: ChannelParts): Promise<Channel[]> {
  const accounts = accountsOf(config, 'discord').filter(isEnabled)
  if (accounts.length === 0) return []
  const { DiscordChannel } = await import('./discord.ts')
  return accounts.map(({ accountId, settings }) => {
    const { token: configured, tokenFile: file, apiRoot } = settings
    const token = tokenOf({ channel: 'discord', accountId, configured, file })
    if (!token) return new IdleChannel('discord', accountId, needsToken('discord'), host)
    return new DiscordChannel({ accountId, token, apiRoot }, host)
  })
}

async function openWhatsapp({ config, host }: ChannelParts): Promise<Channel[]> {
  const accounts = accountsOf(config, 'whatsapp').filter(isEnabled)
  if (accounts.length === 0) return []
  const { WhatsappChannel } = await import('./whatsapp.ts')
  return accounts.map(({ accountId, settings }) => {
    const { waWebSocketUrl, maxAgeMinutes } = settings
    return new WhatsappChannel({ accountId, waWebSocketUrl, maxAgeMinutes }, host)
  })
}

async function openWeb({ config, host }: ChannelParts): Promise<Channel[]> {
  if (config.web?.enabled === false) return []
  const { WebChannel } = await import('./web.ts')
  return [new WebChannel(host)]
}

function isEnabled(account: { settings: { enabled?: boolean } }): boolean {
  return account.settings.enabled !== false
}

function needsToken(channel: string): string {
  return `There is no token for ${channel}. Run \`rockpool channels add ${channel}\`.`
}
