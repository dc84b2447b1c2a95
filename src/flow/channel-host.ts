// Gives channels what they need of the rest: files, secrets, the clock, and who may send files.
import { join } from 'node:path'
import type { ChannelParts } from '../channels/registry.ts'
import type { AccessPolicy } from '../domain/access.ts'
import type { Channel, ChannelHost, CommandInfo } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { withAccounts } from '../domain/config/channel-settings.ts'
import type { Config } from '../domain/config.ts'
import type { Log } from '../domain/log.ts'
import { findChannelToken, storedAccounts } from '../store/channel-tokens.ts'
import type { Environment } from '../store/config-file.ts'
import { holdName, openMachineFolder } from '../store/disk/held-name.ts'
import { openMediaFiles } from '../store/media/media-files.ts'
import type { StatePaths } from '../store/paths.ts'
import { openSecretStore } from '../store/sqlite/secret-store.ts'

export interface ChannelHostParts {
  paths: StatePaths
  environment: Pick<Environment, 'machineDir'>
  clock: Clock
  log: Log
  access: Pick<AccessPolicy, 'wouldAllow'>
  /** What people can type; needed by those who receive. */
  commands?: readonly CommandInfo[]
  /** Takes a name over all machines, where several share the work. */
  hold?: (name: string) => Promise<() => Promise<void>>
}

export function makeChannelHost(parts: ChannelHostParts): ChannelHost {
  const { paths, clock, log, access, commands = [] } = parts
  return {
    clock,
    log,
    commands,
    media: openMediaFiles(paths.media),
    secrets: (name) => openSecretStore(paths.credentials, name),
    takesMedia: (message) => access.wouldAllow(message),
    hold: (name, among) => holdFor(parts, name, among),
  }
}

/** Over all machines first, where there are several, so that those who stand by do not ask each other. */
async function holdFor(
  { paths, environment, hold }: ChannelHostParts,
  name: string,
  among: 'machine' | 'state',
): Promise<() => Promise<void>> {
  const giveBack = await hold?.(name)
  try {
    const folder = among === 'machine' ? openMachineFolder(environment.machineDir) : join(paths.root, 'locks')
    const release = await holdName(folder, name)
    return async () => {
      await release()
      await giveBack?.()
    }
  } catch (error) {
    await giveBack?.()
    throw error
  }
}

export interface ConfiguredParts extends ChannelHostParts {
  config: Config
  environment: Environment
}

/** Every channel that is set up, not yet started. */
export async function openConfiguredChannels(parts: ConfiguredParts): Promise<Channel[]> {
  const { openChannels } = await import('../channels/registry.ts')
  return openChannels(registryParts(parts))
}

/** One of them, if it is set up and enabled. */
export async function openConfiguredChannel(
  parts: ConfiguredParts,
  channel: string,
  accountId: string,
): Promise<Channel | undefined> {
  const { openChannel } = await import('../channels/registry.ts')
  return openChannel(registryParts(parts), channel, accountId)
}

function registryParts(parts: ConfiguredParts): ChannelParts {
  const { config, environment, paths } = parts
  return {
    config: withAccounts(config.channels, storedAccounts(paths)),
    host: makeChannelHost(parts),
    tokenOf: (account) => findChannelToken(account, environment, paths)?.token,
  }
}
