// What the program provides to a channel, with real files in a temporary folder, for tests of channels alone.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChannelHost } from '../../src/domain/channel.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { RockpoolError } from '../../src/domain/errors.ts'
import { silentLog } from '../../src/domain/log.ts'
import { openMediaFiles } from '../../src/store/media/media-files.ts'
import { openSecretStore } from '../../src/store/sqlite/secret-store.ts'

export interface TestHost extends ChannelHost {
  folder: string
  mediaFolder: string
  /** Whether files of senders are taken; on unless a test says otherwise. */
  takes: boolean
  close(): void
}

/** A channel waits seconds between tries; tests do not: every wait takes a hundredth of its time. */
export const hurriedClock: Clock = {
  ...systemClock,
  after: (ms, fn) => systemClock.after(ms / 100, fn),
}

export function testHost(clock: Clock = hurriedClock): TestHost {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-channel-'))
  const mediaFolder = join(folder, 'media')
  const held = new Set<string>()
  const host: TestHost = {
    folder,
    mediaFolder,
    takes: true,
    clock,
    log: silentLog,
    commands: [
      { name: 'new', description: 'Begin a new session.', usage: '[model] [message]' },
      { name: 'whoami', description: 'Show your id on this channel.' },
    ],
    media: openMediaFiles(mediaFolder),
    secrets: (name) => openSecretStore(join(folder, 'credentials'), name),
    takesMedia: async () => host.takes,
    async hold(name) {
      if (held.has(name)) throw new RockpoolError('locked', `${name} is in use by another process.`)
      held.add(name)
      return async () => void held.delete(name)
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
  return host
}
