// Without a gateway, a command keeps changed sessions after it has answered: for a short time, and not after every command.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from '../../store/disk/private-file.ts'
import { keepSome } from '../../vault/follow.ts'
import type { App } from '../app.ts'

const againMs = 60_000
const longestMs = 250

/** Resolves to what the person should know: the vault exists from now on. */
export async function keepBriefly(app: App): Promise<string | undefined> {
  const { paths, config, clock } = app
  const stamp = join(paths.vault, 'last-kept')
  if (!config.vault.enabled || clock.now() - lastChange(stamp) < againMs) return undefined
  const discovery = app.discovery()
  if ((await discovery.list({ limit: 1 })).total === 0) return undefined
  const isNew = !existsSync(paths.vault)
  const began = clock.monotonic()
  try {
    writePrivateFile(stamp, '')
    const vault = await app.vault()
    await keepSome({ vault, discovery }, () => clock.monotonic() - began > longestMs)
    return isNew ? noticeOf(app, (await vault.size()).bytes) : undefined
  } catch {
    // The command itself has succeeded. `rockpool doctor` and the gateway's log report a vault that cannot be written.
    return undefined
  }
}

export function noticeOf({ paths, config }: App, bytes: number): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB now, at most ${config.vault.maxGb} GB`
  return [
    `Rockpool keeps a copy of your Claude Code sessions in ${paths.vault} (${size}), because Claude Code deletes them after 30 days.`,
    'Show it: rockpool vault status. Turn it off: rockpool config set vault.enabled false',
  ].join('\n')
}

function lastChange(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
