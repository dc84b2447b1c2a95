// Programs of others that we must get on with, too large to be dependencies: installed by name from the npm registry
// when a full test first asks for one, and kept for the next run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** The path of the program, or in words why there is none. `overrides`: other versions of packages that it depends on. */
export function peerProgram(
  spec: string,
  command: string,
  overrides?: Record<string, string>,
): { path: string } | { missing: string } {
  const folder = join(tmpdir(), `rockpool-peers-${userInfo().uid}`, spec.replaceAll('/', '+'))
  const programIn = (where: string): string => join(where, 'node_modules', '.bin', command)
  if (existsSync(programIn(folder))) return { path: programIn(folder) }
  // Two test files may install the same program at once: each in a folder of its own, and the first stays.
  const own = `${folder}.${process.pid}`
  mkdirSync(own, { recursive: true, mode: 0o700 })
  if (overrides) writeFileSync(join(own, 'package.json'), JSON.stringify({ private: true, overrides }))
  const install = ['install', '--prefix', own, '--no-audit', '--no-fund', '--ignore-scripts', spec]
  const { status, stderr, error } = spawnSync('npm', install, { encoding: 'utf8', timeout: 480_000 })
  const isInstalled = status === 0 && existsSync(programIn(own))
  // An installation that was interrupted has left the folder without the program.
  if (isInstalled && !existsSync(programIn(folder))) rmSync(folder, { recursive: true, force: true })
  if (isInstalled) keepFirst(own, folder)
  rmSync(own, { recursive: true, force: true })
  if (isInstalled) return { path: programIn(folder) }
  const why = (error?.message ?? stderr).trim().split('\n').at(-1)
  return { missing: `${spec} cannot be installed here: ${why}` }
}

function keepFirst(own: string, folder: string): void {
  try {
    renameSync(own, folder)
  } catch (error) {
    // Another test file was first.
    if (!existsSync(folder)) throw error
  }
}
