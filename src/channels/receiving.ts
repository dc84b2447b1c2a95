// What a channel holds while it receives from a platform that keeps nothing for us: its name on this machine, the marks
// of what it has seen, and the secrets of its connection.
import type { ChannelHost, SecretStore } from '../domain/channel.ts'
import { SeenMarks } from './seen-marks.ts'

export interface Receiving {
  store: SecretStore
  marks: SeenMarks
  stopping: AbortController
  release: () => Promise<void>
}

/** Rejects with `locked` while another process receives under this name. */
export async function beginReceiving(host: ChannelHost, name: string, account: string): Promise<Receiving> {
  const release = await host.hold(name)
  const store = host.secrets(account)
  return { store, marks: new SeenMarks(store, host.clock), stopping: new AbortController(), release }
}

/** Takes in what was begun, and gives everything back. The connection is closed before. */
export async function endReceiving(
  { store, marks, release }: Receiving,
  intake: { finish(): Promise<void> },
): Promise<void> {
  await intake.finish()
  await marks.flush()
  await store.close()
  await release()
}
