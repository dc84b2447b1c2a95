// Programs of others that we must get on with, too large to be dependencies: installed by name from the npm registry
// when a full test first asks for one, and kept for the next run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** The path of the program, or in words why there is none. `overrides`: other versions of packages that it depends on. */
export function peerProgram(
  spec: string,
  command: string,
  overrides?: Record<string, string>,
): { path: string } | { missing: string } {
  const folder = join(tmpdir(), `rockpool-peers-${userInfo().uid}`, spec.replaceAll('/', '+'))
  const path = join(folder, 'node_modules', '.bin', command)
  if (existsSync(path)) return { path }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (overrides) writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, overrides }))
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', spec]
  const { status, stderr, error } = spawnSync('npm', install, { encoding: 'utf8', timeout: 480_000 })
  if (status === 0 && existsSync(path)) return { path }
  const why = (error?.message ?? stderr).trim().split('\n').at(-1)
  return { missing: `${spec} cannot be installed here: ${why}` }
}
