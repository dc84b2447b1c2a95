// The machines that share one PostgreSQL, their repositories, and the choice of a machine for a coding session. A
// repository may have a different path on each machine.
import { z } from 'zod'
import { RockpoolError } from './errors.ts'

const repository = () =>
  z.object({
    path: z.string(),
    /** Its name in `coding.repos` of that machine. */
    name: z.string().optional(),
    /** The address of its remote, normalized: `github.com/ada/webapp`. */
    origin: z.string().optional(),
    /** Its first commit, which identifies repositories without an origin. */
    rootCommit: z.string().optional(),
  })
export type Repository = z.infer<ReturnType<typeof repository>>

/** Built on first use, so that commands do not wait for it. */
export const machine = z.lazy(() =>
  z.object({
    name: z.string(),
    labels: z.array(z.string()),
    repositories: z.array(repository()),
    isHere: z.boolean().describe('Whether this process runs on it.'),
    running: z.number().describe('How many coding sessions run there.'),
    awaySince: z
      .number()
      .optional()
      .describe('Time of the last heartbeat of a dead machine; absent while it is alive.'),
  }),
)
export type Machine = z.infer<typeof machine>

/** The requirements of a launch. */
export interface Wanted {
  /** A path, the name of a repository, or its address. */
  workdir: string
  /** The repository, when known, and the folder within it. */
  repository?: Repository
  within?: string
  /** The name of a machine, or a label that it must carry. */
  machine?: string
}

export interface Place {
  machine: Machine
  /** The path on that machine. */
  workdir: string
}

/** A live machine that has the repository: this one if possible, else the one with the fewest running sessions. */
export function placeFor(machines: readonly Machine[], wanted: Wanted): Place {
  const asked = machinesCalled(machines, wanted.machine)
  const places = asked.flatMap((machine) => {
    const workdir = pathOn(machine, wanted)
    return workdir === undefined ? [] : [{ machine, workdir }]
  })
  if (places.length === 0) throw noRepository(asked, wanted)
  const [best] = places.filter(({ machine }) => machine.awaySince === undefined).sort(byLoad)
  if (best) return best
  throw isAway(places[0]!)
}

/** The machines with this name, else with this label; all when none is given. */
export function machinesCalled(machines: readonly Machine[], nameOrLabel: string | undefined): Machine[] {
  if (nameOrLabel === undefined) return [...machines]
  const named = machines.filter(({ name }) => name === nameOrLabel)
  const found = named.length > 0 ? named : machines.filter(({ labels }) => labels.includes(nameOrLabel))
  if (found.length > 0) return found
  throw new RockpoolError('not-found', `No machine has the name or label ${nameOrLabel}.`, {
    hint: `There are: ${machines.map(describe).join(', ')}.`,
  })
}

export function isSameRepository(one: Repository, other: Repository): boolean {
  if (one.origin !== undefined && other.origin !== undefined) return one.origin === other.origin
  return one.rootCommit !== undefined && one.rootCommit === other.rootCommit
}

/** The innermost repository that contains this path, and the path within it. */
export function repositoryAt(
  repositories: readonly Repository[],
  path: string,
): { repository: Repository; within: string } | undefined {
  const [repository] = repositories
    .filter((each) => path === each.path || path.startsWith(`${each.path}/`))
    .sort((a, b) => b.path.length - a.path.length)
  return repository && { repository, within: path.slice(repository.path.length + 1) }
}

/** The address of a remote, without a password and in one spelling for all clones. Undefined for a path on this disk,
 *  which has no meaning on another machine. */
export function normalizedOrigin(url: string): string | undefined {
  const [, host, path] =
    /^(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(url) ??
    /^(?:[^@/\s]+@)?([^/:\s]{2,}):(?!\/\/)(.+)$/.exec(url) ??
    []
  if (host === undefined || path === undefined) return undefined
  return `${host.toLowerCase()}/${path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')}`
}

function pathOn({ repositories }: Machine, { workdir, repository, within = '' }: Wanted): string | undefined {
  if (repository) {
    const same = repositories.find((each) => isSameRepository(each, repository))
    return same && (within === '' ? same.path : `${same.path}/${within}`)
  }
  if (repositoryAt(repositories, workdir)) return workdir
  const origin = normalizedOrigin(workdir)
  const named = repositories.find((each) => each.name === workdir || (origin && each.origin === origin))
  return named?.path
}

function byLoad(a: Place, b: Place): number {
  return (
    Number(b.machine.isHere) - Number(a.machine.isHere) ||
    a.machine.running - b.machine.running ||
    (a.machine.name < b.machine.name ? -1 : 1)
  )
}

const maxShown = 5

function noRepository(asked: Machine[], { workdir }: Wanted): RockpoolError {
  const what = asked.map((machine) => `${describe(machine)} has ${shown(machine.repositories)}`).join('; ')
  const who = asked.length === 1 ? `${asked[0]!.name} does not have` : 'No machine has'
  return new RockpoolError('not-found', `${who} the repository ${workdir}: ${what}.`, {
    hint: 'Clone it there and launch again; a repository elsewhere than in coding.workspaceRoots is named in coding.repos.',
  })
}

function shown(repositories: Repository[]): string {
  if (repositories.length === 0) return 'none'
  const some = repositories.slice(0, maxShown).map(({ path }) => path)
  const more = repositories.length - some.length
  return more > 0 ? `${some.join(', ')} and ${more} more` : some.join(', ')
}

function isAway({ machine, workdir }: Place): RockpoolError {
  const since = new Date(machine.awaySince ?? 0).toISOString()
  return new RockpoolError('unavailable', `${workdir} is on ${machine.name}, which is away since ${since}.`, {
    hint: 'Start Rockpool there, or name another machine that has the repository: `rockpool machines` shows them.',
  })
}

function describe({ name, labels, awaySince }: Machine): string {
  const about = [...labels, ...(awaySince === undefined ? [] : ['away'])]
  return about.length > 0 ? `${name} (${about.join(', ')})` : name
}
