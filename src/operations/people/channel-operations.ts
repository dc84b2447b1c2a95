// Channels: list, add, test and remove the accounts of Rockpool on chat platforms.
import { z } from 'zod'
import { checkToken } from '../../channels/check-token.ts'
import type { ChannelStatus } from '../../domain/channel.ts'
import { accountsOf, withAccounts } from '../../domain/config/read-settings.ts'
import type { PlatformName } from '../../domain/config/channel-settings.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import {
  findChannelToken,
  removeChannelToken,
  storeChannelToken,
  storedAccounts,
} from '../../store/channel-tokens.ts'
import { openSecretStore, removeSecretStore } from '../../store/sqlite/secret-store.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { nextOneOwns } from './pairing.ts'

const accountId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/)
  .default('default')
  .describe('Which of your accounts there, when you have several.')

const channelName = z.enum(['telegram', 'discord', 'whatsapp']).describe('The platform.')

const identity = z.object({ id: z.string(), name: z.string() })

const channelRow = z.object({
  channel: z.string(),
  accountId: z.string(),
  enabled: z.boolean(),
  /** `unknown` when no gateway runs. */
  state: z.string(),
  identity: identity.optional(),
  /** Where its token is stored; never the token. */
  token: z.string().optional(),
  since: z.number().optional(),
  lastError: z.string().optional(),
  needs: z.object({ kind: z.string(), detail: z.string() }).optional(),
})

const listOutput = z.object({ running: z.boolean(), channels: z.array(channelRow) })

export const operations = [
  operation({
    name: 'channels.list',
    description: 'List the configured channels.',
    input: z.strictObject({}),
    output: listOutput,
    scope: 'read',
    operatorOnly: true,
    command: { examples: ['rockpool channels list'] },
    run: async (app) => describeChannels(app),
  }),
  operation({
    name: 'channels.status',
    description: 'Show the state of each channel, and what it needs.',
    input: z.strictObject({}),
    output: listOutput,
    scope: 'read',
    redactOutput: true,
    operatorOnly: true,
    command: { examples: ['rockpool channels status', 'rockpool channels status --json'] },
    run: async (app) => describeChannels(app),
  }),
  operation({
    name: 'channels.add',
    description: 'Check the token of a bot and store it.',
    input: z.strictObject({ channel: channelName, accountId, token: z.string().optional() }),
    output: z.object({
      channel: z.string(),
      accountId: z.string(),
      identity: identity.optional(),
      next: z.array(z.string()),
    }),
    scope: 'admin',
    changesState: true,
    // The command line asks for the token, so that no shell history contains it.
    command: { hidden: true },
    async run(app, input) {
      const { channel } = input
      if (channel === 'whatsapp') return addWhatsapp(app, input.accountId)
      const token = input.token?.trim()
      if (!token)
        throw new RockpoolError('input-invalid', `A token is needed to add ${channel}.`, {
          hint: 'Type it where `rockpool channels add` asks for it, pipe it in, or name its file with --token-file.',
        })
      const identity = await checkToken({ channel, token, apiRoot: apiRootOf(app, channel, input.accountId) })
      storeChannelToken({ channel, accountId: input.accountId }, token, app.paths)
      if (app.gateway) await (await app.conversations()).reopenChannel(channel, input.accountId)
      return {
        channel,
        accountId: input.accountId,
        identity,
        next: await nextSteps(app, channel, identity.name),
      }
    },
  }),
  operation({
    name: 'channels.test',
    description: 'Check our token with a platform.',
    input: z.strictObject({ channel: channelName, accountId }),
    output: z.object({ ok: z.boolean(), identity: identity.optional() }),
    scope: 'write',
    operatorOnly: true,
    command: {
      positional: ['channel'],
      flags: { accountId: 'account' },
      examples: ['rockpool channels test telegram'],
    },
    run: (app, input) => testChannel(app, input.channel, input.accountId),
  }),
  operation({
    name: 'channels.remove',
    description: 'Remove the token or the link of a channel.',
    input: z.strictObject({ channel: channelName, accountId }),
    output: z.object({ removed: z.boolean(), note: z.string().optional() }),
    scope: 'admin',
    changesState: true,
    destructive: true,
    command: {
      positional: ['channel'],
      flags: { accountId: 'account' },
      confirmIfFound: ({ channel, accountId: id = 'default' }) => ({
        name: 'channels.list',
        isFound: ({ channels }) =>
          (channels as Array<z.infer<typeof channelRow>>).some(
            (row) => row.channel === channel && row.accountId === id,
          ),
      }),
      examples: ['rockpool channels remove telegram'],
    },
    async run(app, input) {
      const { channel } = input
      const isThis = (one: { channel: string; accountId: string }): boolean =>
        one.channel === channel && one.accountId === input.accountId
      const had = storedAccounts(app.paths).some(isThis)
      if (!(await describeChannels(app)).channels.some(isThis))
        throw new RockpoolError('not-found', `${channel} (${input.accountId}) is not set up.`, {
          hint: '`rockpool channels list` shows what is.',
        })
      if (app.gateway) await (await app.conversations()).closeChannel(channel, input.accountId)
      removeChannelToken({ channel, accountId: input.accountId }, app.paths)
      removeSecretStore(app.paths.credentials, `${channel}-${input.accountId}`)
      return { removed: had, note: leftOf(app, channel, input.accountId) }
    },
  }),
]

/** Entries that a command cannot remove, because they are in the configuration file. */
function leftOf(app: App, channel: z.infer<typeof channelName>, id: string): string | undefined {
  const origin = tokenOriginOf(app, channel, id)
  if (origin) return `A token is still in the ${origin}; remove it there, too.`
  const isConfigured = accountsOf(app.config.channels, channel).some(({ accountId: one }) => one === id)
  return isConfigured
    ? `The configuration still has it: remove \`channels.${channel}\` from ${app.environment.configFile}, too.`
    : undefined
}

/** Only the gateway has channels that run. */
async function liveStatuses(app: App): Promise<ChannelStatus[]> {
  return app.gateway ? (await app.conversations()).channels.map((channel) => channel.status()) : []
}

/** A connection makes the link, so the gateway opens one; its status then shows the QR code. */
async function addWhatsapp(app: App, accountId: string) {
  if (!app.gateway)
    throw new RockpoolError('unavailable', 'Only a running gateway can link WhatsApp.', {
      hint: 'Start it with `rockpool up` in another terminal, or as a service; then run this again.',
    })
  await openSecretStore(app.paths.credentials, `whatsapp-${accountId}`).close()
  await (await app.conversations()).reopenChannel('whatsapp', accountId)
  return {
    channel: 'whatsapp',
    accountId,
    next: ['Scan the QR code.', ...(await nextSteps(app, 'whatsapp'))],
  }
}

async function describeChannels(app: App): Promise<z.input<typeof listOutput>> {
  const live = await liveStatuses(app)
  const config = withAccounts(app.config.channels, storedAccounts(app.paths))
  const platforms: PlatformName[] = ['telegram', 'discord', 'whatsapp', 'web']
  const rows = platforms.flatMap((channel) => {
    const accounts = accountsOf(config, channel)
    const known =
      channel === 'web' && accounts.length === 0 ? [{ accountId: 'default', settings: {} }] : accounts
    return known.map((account) => rowOf(app, channel, account, live))
  })
  return { running: app.gateway !== undefined, channels: rows }
}

function rowOf(
  app: App,
  channel: PlatformName,
  account: { accountId: string; settings: { enabled?: boolean } },
  live: ChannelStatus[],
): z.input<typeof channelRow> {
  const { accountId: id, settings } = account
  const status = live.find((one) => one.channel === channel && one.accountId === id)
  const origin = channel === 'web' || channel === 'whatsapp' ? undefined : tokenOriginOf(app, channel, id)
  return {
    channel,
    accountId: id,
    enabled: settings.enabled !== false,
    state: status?.state ?? 'unknown',
    token: origin,
    since: status?.since,
    identity: status?.identity,
    lastError: status?.lastError,
    needs: status?.needs,
  }
}

export const channelProbe = z.object({
  channel: z.string(),
  accountId: z.string(),
  ok: z.boolean(),
  as: z.string().optional(),
  error: z.string().optional(),
})
type Probe = z.infer<typeof channelProbe>

/** Checks the token of every configured account with its platform. */
export async function probeChannels(app: App): Promise<Probe[]> {
  const probes: Probe[] = []
  const config = withAccounts(app.config.channels, storedAccounts(app.paths))
  const accounts = channelName.options.flatMap((channel) =>
    accountsOf(config, channel).map((account) => ({ channel, id: account.accountId })),
  )
  for (const { channel, id } of accounts) {
    try {
      const { ok, identity } = await testChannel(app, channel, id)
      probes.push({ channel, accountId: id, ok, as: identity?.name })
    } catch (error) {
      probes.push({ channel, accountId: id, ok: false, error: asRockpoolError(error).message })
    }
  }
  return probes
}

async function testChannel(app: App, channel: z.infer<typeof channelName>, id: string) {
  if (channel === 'whatsapp') {
    const status = (await liveStatuses(app)).find((one) => one.channel === channel && one.accountId === id)
    if (!status)
      throw new RockpoolError('unavailable', 'WhatsApp is connected only while the gateway runs.', {
        hint: 'Start it with `rockpool up`; `rockpool channels add whatsapp` links a phone.',
      })
    return { ok: status.state === 'connected', identity: status.identity }
  }
  const token = tokenOf(app, channel, id)?.token
  if (!token)
    throw new RockpoolError('not-found', `There is no token for ${channel} (${id}).`, {
      hint: `Run \`rockpool channels add ${channel}\`.`,
    })
  return { ok: true, identity: await checkToken({ channel, token, apiRoot: apiRootOf(app, channel, id) }) }
}

function tokenOf(app: App, channel: 'telegram' | 'discord', id: string) {
  const account = accountsOf(app.config.channels, channel).find((one) => one.accountId === id)
  const settings: { botToken?: string; token?: string; tokenFile?: string } = account?.settings ?? {}
  const place = {
    channel,
    accountId: id,
    configured: settings.botToken ?? settings.token,
    file: settings.tokenFile,
  }
  return findChannelToken(place, app.environment, app.paths)
}

function tokenOriginOf(app: App, channel: string, id: string): string | undefined {
  return channel === 'telegram' || channel === 'discord' ? tokenOf(app, channel, id)?.origin : undefined
}

function apiRootOf(app: App, channel: 'telegram' | 'discord', id: string): string | undefined {
  return accountsOf(withAccounts(app.config.channels, [{ channel, accountId: id }]), channel).find(
    (one) => one.accountId === id,
  )?.settings.apiRoot
}

async function nextSteps(app: App, channel: string, name?: string): Promise<string[]> {
  const write = {
    telegram: `Write to ${name} on Telegram. It answers with a pairing code.`,
    discord: `Invite ${name} to a server, or write to it. It answers with a pairing code.`,
    whatsapp: 'Write to the linked number from another phone. It answers with a pairing code.',
  }[channel]!
  const firstOwns = await nextOneOwns(app)
  return [
    ...(app.gateway ? [] : ['Start the gateway: `rockpool up`.']),
    write,
    `Let yourself in: \`rockpool pairing approve <code>\`.${firstOwns ? ' The first person becomes the owner.' : ''}`,
  ]
}
