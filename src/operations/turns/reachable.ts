// Checks whether a message to an address can be delivered at all, so that nothing waits for a channel that is not set up.
import { isTerminal } from '../../domain/address.ts'
import type { Address } from '../../domain/address.ts'
import type { Channel } from '../../domain/channel.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { openConfiguredChannel } from '../../flow/channel-host.ts'
import type { App } from '../app.ts'
import { checkChannel } from './turn-target.ts'

/** Where several machines share the work, another one may have the account. */
export async function checkReachable(app: App, address: Address): Promise<void> {
  if (app.storage.cluster || (app.gateway && isTerminal(address))) return
  const channel = app.gateway ? await openChannel(app, address) : await configuredChannel(app, address)
  if (!channel) throw notSetUp(address)
  checkSetUp(channel)
}

/** No waiting gives a channel its token. */
export function checkSetUp(channel: Channel): void {
  const { needs } = channel.status()
  if (needs?.kind === 'token') throw new RockpoolError('not-found', `It was not sent: ${needs.detail}`)
}

export function notSetUp(address: Address): RockpoolError {
  checkChannel(address)
  return new RockpoolError('not-found', `${address.channel} (${address.accountId}) is not set up.`, {
    hint: `Run \`rockpool channels add ${address.channel}\`. \`rockpool channels list\` shows what there is.`,
  })
}

async function openChannel(app: App, address: Address): Promise<Channel | undefined> {
  const { channels } = await app.conversations()
  return channels.find(({ name, accountId }) => name === address.channel && accountId === address.accountId)
}

/** Made, but not started: the gateway delivers later. */
function configuredChannel(app: App, { channel, accountId }: Address): Promise<Channel | undefined> {
  return openConfiguredChannel({ ...app, access: { wouldAllow: () => false } }, channel, accountId)
}
