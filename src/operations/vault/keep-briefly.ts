// Without a gateway, a command keeps changed sessions after it has answered: for a short time, and not after every command. And the
// person learns once, from a command with or without a gateway, that there is a vault.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatBytes } from '../../domain/text.ts'
import { modifiedAt } from '../../store/disk/foreign-file.ts'
import { writePrivateFile } from '../../store/disk/private-file.ts'
import type { App } from '../app.ts'

const againMs = 60_000
const longestMs = 250

/** Resolves to what the person should know, if a person reads it (`isSeen`). */
export async function keepBriefly(app: App, isSeen: boolean): Promise<string | undefined> {
  const { paths, config, clock } = app
  const stamp = join(paths.vault, 'last-kept')
  if (!config.vault.enabled || clock.now() - modifiedAt(stamp) < againMs) return undefined
  try {
    const discovery = app.discovery()
    if ((await discovery.list({ agentKind: 'all', limit: 1 })).total === 0) return undefined
    const began = clock.monotonic()
    writePrivateFile(stamp, '')
    const { keepSome } = await import('../../vault/follow.ts')
    const vault = await app.vault()
    await keepSome({ vault, discovery }, () => clock.monotonic() - began > longestMs)
    if (!isSeen || isTold(paths.vault)) return undefined
    return noticeOnce({ folder: paths.vault, bytes: (await vault.size()).bytes, maxGb: config.vault.maxGb })
  } catch {
    // The command itself has succeeded. `rockpool doctor` reports sessions that cannot be listed, and a vault that cannot be written.
    return undefined
  }
}

/** Whether a person knows that there is a vault. */
export function isTold(folder: string): boolean {
  return existsSync(join(folder, 'told'))
}

/** The text is shown now, and never again. */
export function noticeOnce({
  folder,
  bytes,
  maxGb,
}: {
  folder: string
  bytes: number
  maxGb: number
}): string {
  writePrivateFile(join(folder, 'told'), '')
  const size = `${formatBytes(bytes)} now, at most ${maxGb} GB`
  return [
    `Rockpool keeps a copy of your sessions in ${folder} (${size}), because Claude Code deletes them after 30 days.`,
    'Show it: rockpool vault status. Turn it off: rockpool config set vault.enabled false',
  ].join('\n')
}
