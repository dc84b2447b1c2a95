// Asks git about a repository that may be hostile: its own configuration must not make us run anything, write anything
// or reach the network. Nothing from outside becomes an argument; answers are separated by NUL and bounded.
import { isAbsolute, relative } from 'node:path'
import type { Ran } from './run-bounded.ts'
import { runBounded } from './run-bounded.ts'

export const gitTimeoutMs = 5_000
const maxBytes = 4 * 1024 * 1024

export type Variables = Readonly<Record<string, string | undefined>>

/** Settings of a repository that would run a program, with the value that runs none. */
const harmless: ReadonlyArray<readonly [key: string, value: string]> = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.alternateRefsCommand', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  // Otherwise the log of a signed commit runs gpg.program.
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['protocol.allow', 'never'],
]

export interface Git {
  (args: readonly string[]): Promise<Ran>
}

/** Git in `cwd`, with everything switched off that a repository's configuration could start. */
export function gitIn(cwd: string, variables: Variables, timeoutMs = gitTimeoutMs): Git {
  const env = gitEnvironment(cwd, variables)
  const settings = harmless.flatMap(([key, value]) => ['-c', `${key}=${value}`])
  return (args) =>
    runBounded('git', ['--no-optional-locks', '--no-pager', ...settings, ...args], {
      cwd,
      env,
      timeoutMs,
      maxBytes,
    })
}

/** The same for programs that call git themselves (gh). */
export function gitEnvironment(cwd: string, variables: Variables): Record<string, string> {
  const env: Record<string, string> = {
    PATH: pathOutside(cwd, variables['PATH'] ?? '/usr/bin:/bin'),
    LC_ALL: 'C.UTF-8',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PAGER: 'cat',
    // No remote may be asked, whatever the repository allows: a partial clone would fetch what it lacks.
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_CONFIG_COUNT: String(harmless.length),
  }
  // The user's own settings (safe.directory, ignored files) are theirs; only the repository is not trusted.
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'USER']) {
    if (variables[name] !== undefined) env[name] = variables[name]
  }
  harmless.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  })
  return env
}

/** PATH without relative folders and without folders of the repository: `./git` there would be run as git. */
function pathOutside(cwd: string, path: string): string {
  return path
    .split(':')
    .filter((folder) => isAbsolute(folder) && relative(cwd, folder).startsWith('..'))
    .join(':')
}

/**
 * Arguments that switch off the content filters that the repository defines. Git runs `filter.<name>.clean` to compare
 * a file, and names are free, so they must be read first. Undefined if one has a name that cannot be switched off; none
 * outside a repository.
 */
export async function withoutFilters(git: Git): Promise<string[] | undefined> {
  const listed = await git(['config', '--list', '--name-only', '-z'])
  if (listed.kind === 'timed-out') return undefined
  if (listed.kind !== 'done' || listed.code !== 0) return []
  const keys = listed.stdout.split('\0').filter((key) => /^filter\..*\.(clean|smudge|process)$/is.test(key))
  const drivers = new Set(keys.map((key) => key.slice(0, key.lastIndexOf('.'))))
  if ([...drivers].some((driver) => driver.includes('='))) return undefined
  return [...drivers].flatMap((driver) =>
    ['clean=', 'smudge=', 'process=', 'required=false'].flatMap((setting) => ['-c', `${driver}.${setting}`]),
  )
}
