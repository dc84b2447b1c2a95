// Makes the channels that the configuration asks for. A platform's library is loaded only when it is used.
import type { Channel, ChannelAbilities, ChannelHost, SendOutcome } from '../domain/channel.ts'
import { accountsOf } from '../domain/config/read-settings.ts'
import type { ChannelsConfig } from '../domain/config/channel-settings.ts'
import { BaseChannel } from './base-channel.ts'
import type { DeviceParts } from './devices.ts'
import type { OpenClawLink } from './openclaw-link.ts'

export interface ChannelParts {
  config: ChannelsConfig
  host: ChannelHost
  /** The connection to the plugin in OpenClaw; absent when the plugin is not set up. */
  openclaw?: OpenClawLink
  devices: DeviceParts
  /** The secret of an account, wherever it is stored. */
  tokenOf: (account: {
    channel: string
    accountId: string
    configured?: string
    file?: string
  }) => string | undefined
}

const openers = {
  telegram: openTelegram,
  discord: openDiscord,
  whatsapp: openWhatsapp,
  web: openWeb,
  openclaw: openOpenClaw,
  device: openDevices,
}

/** Every enabled account. One without a token is included, and its status says that the token is missing. */
export async function openChannels(parts: ChannelParts): Promise<Channel[]> {
  return (await Promise.all(Object.values(openers).map((open) => open(parts)))).flat()
}

/** Only this account, for sending one message without a gateway. */
export async function openChannel(
  parts: ChannelParts,
  channel: string,
  accountId: string,
): Promise<Channel | undefined> {
  const open = Object.entries(openers).find(([name]) => name === channel)?.[1]
  return (await open?.(parts))?.find((one) => one.accountId === accountId)
}

async function openTelegram({ config, host, tokenOf }: ChannelParts): Promise<Channel[]> {
  const accounts = accountsOf(config, 'telegram').filter(isEnabled)
  if (accounts.length === 0) return []
  const { TelegramChannel } = await import('./telegram.ts')
  return accounts.map(({ accountId, settings }) => {
    const { botToken: configured, tokenFile: file, apiRoot, pollSeconds, webhook } = settings
    const token = tokenOf({ channel: 'telegram', accountId, configured, file })
    if (!token) return new ChannelWithoutToken('telegram', accountId, host)
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
    if (!token) return new ChannelWithoutToken('discord', accountId, host)
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

async function openOpenClaw({ openclaw, host }: ChannelParts): Promise<Channel[]> {
  if (!openclaw) return []
  const { OpenClawChannel } = await import('./openclaw.ts')
  return [new OpenClawChannel(host, openclaw)]
}

async function openDevices({ devices, host }: ChannelParts): Promise<Channel[]> {
  const { DeviceChannel } = await import('./devices.ts')
  return [new DeviceChannel(host, devices)]
}

function isEnabled(account: { settings: { enabled?: boolean } }): boolean {
  return account.settings.enabled !== false
}

/** Stands in for an account without a token, so that its status can say what is missing. */
class ChannelWithoutToken extends BaseChannel implements Channel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: 2_000,
    formatting: 'plain',
  }
  #missing: string

  constructor(name: string, accountId: string, host: ChannelHost) {
    super(name, accountId, host)
    this.#missing = `There is no token for ${name}. Run \`rockpool channels add ${name}\`.`
    this.#show('stopped')
  }

  async start(): Promise<void> {
    this.#show('failed')
  }

  async stop(): Promise<void> {
    this.#show('stopped')
  }

  /** The reply stays queued until there is a token; the outbox decides when it expires. */
  async send(): Promise<SendOutcome> {
    return { kind: 'retry', reason: this.#missing, retryAfterMs: 60_000 }
  }

  #show(state: 'stopped' | 'failed'): void {
    this.setStatus(state, { lastError: this.#missing, needs: { kind: 'token', detail: this.#missing } })
  }
}
