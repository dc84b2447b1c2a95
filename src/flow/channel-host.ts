// Constructs what channels need from the program: files, secrets, the clock, locks, and who may send files.
import { join } from 'node:path'
import type { OpenClawLink } from '../channels/openclaw-link.ts'
import type { ChannelParts } from '../channels/registry.ts'
import type { Channel, ChannelHost, CommandInfo } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { withAccounts } from '../domain/config/read-settings.ts'
import type { Config } from '../domain/config.ts'
import type { Log } from '../domain/log.ts'
import { findChannelToken, storedAccounts } from '../store/channel-tokens.ts'
import type { Environment } from '../store/config-file.ts'
import { holdName, openMachineFolder } from '../store/disk/held-name.ts'
import { deviceKeys } from '../store/device-file.ts'
import { readTokenRecords } from '../store/gateway-tokens.ts'
import { openMediaFiles } from '../store/media/media-files.ts'
import type { StatePaths } from '../store/paths.ts'
import { openSecretStore } from '../store/sqlite/secret-store.ts'

export interface ChannelHostParts {
  paths: StatePaths
  environment: Pick<Environment, 'machineDir'>
  clock: Clock
  log: Log
  takesMedia: ChannelHost['takesMedia']
  /** Chat commands, for the menus of platforms. */
  commands?: readonly CommandInfo[]
  /** Locks a name across all machines that share the work. */
  hold?: (name: string) => Promise<() => Promise<void>>
}

export function makeChannelHost(parts: ChannelHostParts): ChannelHost {
  const { paths, clock, log, takesMedia, commands = [] } = parts
  return {
    clock,
    log,
    commands,
    media: openMediaFiles(paths.media),
    secrets: (name) => openSecretStore(paths.credentials, name),
    takesMedia,
    hold: (name, among) => holdFor(parts, name, among),
  }
}

/** Locks the name across machines first, so that machines that stand by do not compete for the local lock. */
async function holdFor(
  { paths, environment, hold }: ChannelHostParts,
  name: string,
  among: 'machine' | 'state',
): Promise<() => Promise<void>> {
  const releaseAll = await hold?.(name)
  try {
    const folder = among === 'machine' ? openMachineFolder(environment.machineDir) : join(paths.root, 'locks')
    const release = await holdName(folder, name)
    return async () => {
      await release()
      await releaseAll?.()
    }
  } catch (error) {
    await releaseAll?.()
    throw error
  }
}

export interface ConfiguredParts extends ChannelHostParts {
  config: Config
  openclaw?: OpenClawLink
  environment: Environment
}

/** Does the plugin in OpenClaw have a token? */
export function isOpenClawSetUp(stateDir: string): boolean {
  return readTokenRecords(stateDir).some(({ agents }) => agents !== undefined)
}

/** All configured channels, not started yet. */
export async function openConfiguredChannels(parts: ConfiguredParts): Promise<Channel[]> {
  const { openChannels } = await import('../channels/registry.ts')
  return openChannels(registryParts(parts))
}

/** One configured channel, if it is enabled. */
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
    openclaw: isOpenClawSetUp(paths.root) ? parts.openclaw : undefined,
    devices: { keys: deviceKeys(paths.root), publicUrl: () => publicUrlOf(parts.config) },
    tokenOf: (account) => findChannelToken(account, environment, paths)?.token,
  }
}

/** A name that is not this machine's own belongs to a proxy with TLS. */
function publicUrlOf({ gateway }: Config): string | undefined {
  const name = gateway.hosts.find((host) => !/^(localhost|127\.|\[)/.test(host))
  return name === undefined ? undefined : `https://${name}`
}
