// Finds the files of other agents: their homes from the environment, and the files below them. The home, and the folder in it that has
// all sessions, may be links that the user made, to another disk for example. Links below that folder are not followed. What cannot be
// read is reported and hides nothing else.
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { attempt } from '../../domain/errors.ts'
import { modifiedAt } from '../../store/disk/foreign-file.ts'
import { entriesOf, noteUnreadable, type Listing } from '../list-files.ts'
import { realPath } from '../repo-paths.ts'
import type { AgentEnvironment, AgentSource } from './contract.ts'

/** The folders that variables name (several are separated by commas) and the usual ones below the user's folder, each once. */
export function agentHomes(
  { home, variables }: AgentEnvironment,
  names: readonly string[],
  usual: readonly string[],
  inside = '',
): string[] {
  const named = names.flatMap((name) => variables[name]?.split(',') ?? [])
  const paths = named.map((path) => path.trim()).filter((path) => path !== '')
  const absolute = paths.map((path) => (path.startsWith('~/') ? join(home, path.slice(2)) : resolve(path)))
  const all = [...absolute.map((path) => join(path, inside)), ...usual.map((path) => join(home, path))]
  return [...new Set(all.map(realPath))]
}

/** Regular files whose name matches, in folders up to this depth. */
export function filesBelow(folder: string, name: RegExp, depth: number, listing: Listing): string[] {
  return entriesOf(folder, listing).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isFile()) return name.test(entry.name) ? [path] : []
    return entry.isDirectory() && depth > 0 ? filesBelow(path, name, depth - 1, listing) : []
  })
}

/** The folders in a folder, the latest changed first; none if it cannot be read. Links are left out. */
export function foldersIn(folder: string): string[] {
  const found = attempt(() => readdirSync(folder, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
  return found
    .map((path) => ({ path, at: modifiedAt(path) }))
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => path)
}

/** Not a link, as far as it exists. */
export function isNoLink(path: string): boolean {
  return attempt(() => !lstatSync(path).isSymbolicLink(), true)
}

type Place = Pick<AgentSource, 'path' | 'paths' | 'agentKind' | 'configDir'>

/** Adds a session that consists of one file, or of several: then any change of one of them is a change of the session. */
export function addAgentFile(place: Place, listing: Listing): void {
  try {
    const stats = (place.paths ?? [place.path]).map((path) => statSync(path))
    listing.files.push({
      ...place,
      sessionId: undefined,
      kind: 'session',
      inode: stats[0]!.ino,
      size: stats.reduce((sum, { size }) => sum + size, 0),
      mtimeMs: Math.max(...stats.map(({ mtimeMs }) => mtimeMs)),
    })
  } catch (error) {
    noteUnreadable(place.path, error, listing)
  }
}
