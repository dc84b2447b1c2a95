// Finds the token of a channel: in the configuration, in a file that the configuration names, in the environment, or in
// credentials/, in this order. The origin is reported, so that people know where to change it.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { accountsOf, withAccounts } from '../domain/config/read-settings.ts'
import type { ChannelsConfig } from '../domain/config/channel-settings.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Environment } from './config-file.ts'
import type { StatePaths } from './paths.ts'
import { readPrivateFile, writePrivateFile } from './disk/private-file.ts'

type TokenOrigin = 'configuration' | 'file' | 'environment' | 'credentials'

interface FoundToken {
  token: string
  origin: TokenOrigin
}

interface TokenPlace {
  channel: string
  accountId: string
  /** From the configuration: the token itself, or a file with it. */
  configured?: string
  file?: string
}

const variables: Readonly<Record<string, string>> = {
  telegram: 'TELEGRAM_BOT_TOKEN',
  discord: 'DISCORD_BOT_TOKEN',
}

export function findChannelToken(
  place: TokenPlace,
  environment: Environment,
  paths: StatePaths,
): FoundToken | undefined {
  if (place.configured?.trim()) return { token: place.configured.trim(), origin: 'configuration' }
  if (place.file) return { token: readTokenFile(place.file), origin: 'file' }
  // The environment has one token, which is for the default account.
  const variable =
    place.accountId === 'default' ? environment.variables[variables[place.channel] ?? ''] : undefined
  if (variable?.trim()) return { token: variable.trim(), origin: 'environment' }
  const kept = readPrivateFile(tokenPath(place, paths))?.trim()
  return kept ? { token: kept, origin: 'credentials' } : undefined
}

/** Every channel secret that this process may use, for the redaction of logs. */
export function channelSecrets(
  channels: ChannelsConfig,
  environment: Environment,
  paths: StatePaths,
): Array<{ name: string; value: string }> {
  const config = withAccounts(channels, storedAccounts(paths))
  const telegram = accountsOf(config, 'telegram').map(({ accountId, settings }) => ({
    place: { channel: 'telegram', accountId, configured: settings.botToken, file: settings.tokenFile },
    secret: settings.webhook?.secret,
  }))
  const discord = accountsOf(config, 'discord').map(({ accountId, settings }) => ({
    place: { channel: 'discord', accountId, configured: settings.token, file: settings.tokenFile },
    secret: undefined,
  }))
  return [...telegram, ...discord].flatMap(({ place, secret }) => [
    { name: `${place.channel}-token`, value: findChannelToken(place, environment, paths)?.token ?? '' },
    { name: 'webhook-secret', value: secret ?? '' },
  ])
}

/** Accounts that were added by `channels add`: those with a token, or with the keys of a linked phone. */
export function storedAccounts(paths: StatePaths): Array<{ channel: string; accountId: string }> {
  const names = existsSync(paths.credentials) ? readdirSync(paths.credentials) : []
  return names.flatMap((name) => {
    const [, channel, accountId] =
      /^(telegram|discord)-([a-z0-9][a-z0-9_-]{0,63})\.token$/.exec(name) ??
      /^(whatsapp)-([a-z0-9][a-z0-9_-]{0,63})\.sqlite$/.exec(name) ??
      []
    return channel && accountId ? [{ channel, accountId }] : []
  })
}

export function storeChannelToken(place: TokenPlace, token: string, paths: StatePaths): void {
  writePrivateFile(tokenPath(place, paths), `${token.trim()}\n`)
}

export function removeChannelToken(place: TokenPlace, paths: StatePaths): void {
  rmSync(tokenPath(place, paths), { force: true })
}

function tokenPath({ channel, accountId }: TokenPlace, paths: StatePaths): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(accountId))
    return join(paths.credentials, `${channel}-${accountId}.token`)
  throw new RockpoolError('input-invalid', `${JSON.stringify(accountId)} is not an account name.`, {
    hint: 'Use a-z, 0-9, - and _, at most 64 characters.',
  })
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new RockpoolError('config-invalid', `The token file ${file} cannot be read.`, { cause: error })
  }
}
