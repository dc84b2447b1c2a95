// Sets a damaged database aside: it is renamed, never deleted, and only while no other process has it open.
import { existsSync, readdirSync, readlinkSync, realpathSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../domain/clock.ts'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { syncDirectory } from '../disk/atomic-file.ts'
import { timestamp } from '../files/recover-sessions.ts'

/** The files that belong to one database. */
export const databaseSuffixes = ['', '-wal', '-shm'] as const

/** Resolves to the new name. */
export async function setDatabaseAside(database: string): Promise<string> {
  const aside = `${database}.corrupt-${timestamp(systemClock.now())}`
  for (const suffix of databaseSuffixes)
    if (existsSync(database + suffix)) renameSync(database + suffix, aside + suffix)
  await syncDirectory(dirname(database))
  return aside
}

/** A process that has the database open would keep writing into the renamed file. */
export function refuseIfOpen(path: string): void {
  const real = existsSync(path) ? realpathSync(path) : path
  const pids = attempt(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))
  const isHolder = (pid: string): boolean => Number(pid) !== process.pid && openFilesOf(pid).includes(real)
  const holder = pids.find(isHolder)
  if (holder === undefined) return
  throw new RockpoolError('busy', `${path} is open in process ${holder}.`, {
    hint: `End that process (\`kill ${holder}\`) and try again.`,
  })
}

function openFilesOf(pid: string): string[] {
  const names = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []
  return names.flatMap((name) => attempt(() => readlinkSync(`/proc/${pid}/fd/${name}`)) ?? [])
}
