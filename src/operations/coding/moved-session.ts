// What is different for a coding session after it has changed its machine: for the person who moves it, and for Claude.
import type { CheckedOut } from '../../coding/queue/repositories.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { lookAt } from './which-machine.ts'

export interface Side {
  machine: string
  workdir: string
  /** Nothing is known of a machine that is away. */
  checkedOut?: CheckedOut
}

export interface Sides {
  from: Side
  to: Side
}

/** What is checked out where it was and where it goes. The place where it goes must answer. */
export async function sidesOf(
  app: App,
  { machine = 'unknown', request }: CodingSession,
  to: Pick<Side, 'machine' | 'workdir'>,
): Promise<Sides> {
  const from = { machine, workdir: request.workdir }
  const [before, after] = await Promise.all([
    lookAt(app, from.machine, from.workdir).catch((error: unknown) => {
      app.log.warn(
        { event: 'moved-state-unknown', ...from, error: asRockpoolError(error).message },
        'Could not read the git state on the previous machine; continuing without it.',
      )
      return undefined
    }),
    lookAt(app, to.machine, to.workdir),
  ])
  return { from: { ...from, checkedOut: before }, to: { ...to, checkedOut: after } }
}

export function asideOf({ from, to }: Sides): string {
  return (
    `[This conversation was moved from ${describe(from)} to ${describe(to)}. ` +
    `Paths named before are those of ${from.machine}, and what was not committed there is not here. ` +
    'Look at the working tree before you continue.]'
  )
}

export function warningsOf({ from, to }: Sides): string[] {
  const [before, after] = [from.checkedOut, to.checkedOut]
  const warnings: string[] = []
  if (!before) warnings.push(`${from.machine} did not say what is checked out there.`)
  else if (before.commit !== after?.commit || before.branch !== after.branch)
    warnings.push(`Not the same is checked out: ${describe(from)}; ${describe(to)}.`)
  if (before && before.uncommitted > 0)
    warnings.push(`${files(before.uncommitted)} in ${from.workdir} on ${from.machine}: they stay there.`)
  if (after && after.uncommitted > 0)
    warnings.push(`${files(after.uncommitted)} in ${to.workdir} on ${to.machine} already.`)
  return warnings
}

function describe({ machine, workdir, checkedOut }: Side): string {
  const { branch, commit, uncommitted } = checkedOut ?? {}
  const what = commit
    ? ` (${branch} at ${commit.slice(0, 8)}${uncommitted ? `, ${files(uncommitted)}` : ''})`
    : ''
  return `${machine}:${workdir}${what}`
}

function files(count: number): string {
  return count === 1 ? '1 file is not committed' : `${count} files are not committed`
}
