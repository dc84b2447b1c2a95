// What a channel holds while it receives from a platform that keeps nothing for us: the right to receive, and what it
// must find again after a restart.
import { createHash } from 'node:crypto'
import type { ChannelHost, SecretStore } from '../domain/channel.ts'

export interface Receiving {
  store: SecretStore
  stopping: AbortController
  release: () => Promise<void>
}

/** Rejects with `locked` while another process receives there. */
export async function beginReceiving(
  host: ChannelHost,
  hold: { name: string; among: 'machine' | 'state' },
  account: string,
): Promise<Receiving> {
  const release = await host.hold(hold.name, hold.among)
  return { store: host.secrets(account), stopping: new AbortController(), release }
}

/** Takes in what was begun, and gives everything back. The connection is closed before. */
export async function endReceiving(
  { store, release }: Receiving,
  finish: () => Promise<void>,
): Promise<void> {
  await finish()
  await store.close()
  await release()
}

/** Identifies a bot by its token: only one process of a machine may receive with it. */
export function holdOfBot(channel: string, token: string): { name: string; among: 'machine' } {
  const hash = createHash('sha256').update(token).digest('hex')
  return { name: `${channel}-${hash.slice(0, 16)}`, among: 'machine' }
}
