// Where a coding session runs: on the machine that has its repository. And what changes when it moves to another machine.
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { checkedOut, checkWorkdir, isAllowed, isDirectory } from '../../coding/queue/repositories.ts'
import type { CheckedOut } from '../../coding/queue/repositories.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { machinesCalled, placeFor, repositoryAt } from '../../domain/machine.ts'
import type { Machine, Place, Wanted } from '../../domain/machine.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { refuseDirectory } from './launch-rights.ts'

/** A directory of this machine, or of another machine. */
export interface Spot {
  workdir: string
  elsewhere?: Machine
}

/** This machine, if it has the repository and no other machine was requested. */
export async function placeOfLaunch(app: App, workdir: string, called: string | undefined): Promise<Spot> {
  const { machines } = app.coding()
  const isHere = isAllowed(workdir, app.config.coding.workspaceRoots)
  if (!machines) checkAlone(app, called)
  if (!machines || (called === undefined && isHere)) return { workdir }
  const all = await machines.list()
  const isAsked = machinesCalled(all, called).some((machine) => machine.isHere)
  if (isHere && isAsked) return { workdir }
  const known = isHere ? await machines.repositoryHere(realpathSync(workdir)) : undefined
  try {
    return spotOf(placeFor(all, { workdir, machine: called, ...known }))
  } catch (error) {
    // Launch here: the launch then fails with its own reason, which is more useful than "no machine has it".
    const isNowhere = asRockpoolError(error).code === 'not-found'
    if (isNowhere && isAsked && isDirectory(workdir)) return { workdir }
    throw error
  }
}

/** The machine of the session; another one with its repository if that one is away, or on request. */
export async function placeOfResume(
  app: App,
  session: CodingSession,
  called: string | undefined,
): Promise<Spot> {
  const { machines } = app.coding()
  const { workdir } = session.request
  if (!machines) checkAlone(app, called)
  if (!machines || (called ?? session.machine) === undefined) return { workdir }
  const all = await machines.list()
  const its = all.find(({ name }) => name === session.machine)
  const lives = its !== undefined && its.awaySince === undefined
  if (lives && (called === undefined || machinesCalled(all, called).includes(its)))
    return spotOf({ machine: its, workdir })
  // The repository is unknown: use the same path.
  if (called === undefined && !its && isDirectory(workdir)) return { workdir }
  return spotOf(placeFor(all, wantedOf(all, session, called)))
}

/** The machine that a session is to be moved to, and its repository there. */
export async function placeOfMove(app: App, session: CodingSession, called: string): Promise<Place> {
  const { machines } = app.coding()
  if (!machines) throw alone(called)
  const all = await machines.list()
  const others = machinesCalled(all, called).filter(({ name }) => name !== session.machine)
  if (others.length === 0)
    throw new RockpoolError('conflict', `${session.name} is on ${session.machine ?? called} already.`, {
      hint: '`rockpool machines` shows the others.',
    })
  return placeFor(others, wantedOf(all, session, undefined))
}

/** Replaces errors that name machines or repositories, if the caller is an agent: only the operator may see these
 *  (`machines.list`). */
export async function asSeenBy<T>({ agentId }: Pick<Caller, 'agentId'>, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    const { code } = asRockpoolError(error)
    if (agentId === undefined || !['not-found', 'unavailable', 'refused'].includes(code)) throw error
    throw new RockpoolError(code, 'No available machine has this name or label and this repository.', {
      hint: 'Leave the machine out, or ask a person: `rockpool machines` shows them.',
    })
  }
}

/** Does the session belong to another machine? */
export function isElsewhere(app: App, { machine }: Pick<CodingSession, 'machine'>): boolean {
  const here = app.coding().machines?.name
  return here !== undefined && machine !== undefined && machine !== here
}

/** What is checked out at a place; it must be a directory in which sessions may run, and sessions that this agent starts. */
export async function lookAt(
  app: App,
  machine: string,
  { path, agentId }: { path: string; agentId?: string },
): Promise<CheckedOut> {
  const { machines } = app.coding()
  if (machines && machine !== machines.name)
    return (await machines.ask(machine, 'look', { path, agentId })) as CheckedOut
  const workdir = checkWorkdir(path, app.config.coding.workspaceRoots)
  await refuseDirectory(app, workdir, agentId)
  return checkedOut(workdir, app.environment.variables)
}

/** The repository as the machine of the session describes it. */
function wantedOf(all: Machine[], session: CodingSession, machine: string | undefined): Wanted {
  const { workdir } = session.request
  const its = all.find(({ name }) => name === session.machine)
  return { workdir, machine, ...(its && repositoryAt(its.repositories, workdir)) }
}

function spotOf({ machine, workdir }: Place): Spot {
  return machine.isHere ? { workdir } : { workdir, elsewhere: machine }
}

/** Without a shared database this machine is the only one. */
function checkAlone({ config: { machine } }: App, called: string | undefined): void {
  const names = [machine.name ?? hostname(), ...machine.labels]
  if (called !== undefined && !names.includes(called)) throw alone(called)
}

function alone(called: string): RockpoolError {
  return new RockpoolError(
    'not-found',
    `This Rockpool knows of no machine ${called}: it shares no database.`,
    {
      hint: 'Set `store` to `postgres` on both, with the same ROCKPOOL_DATABASE_URL; docs/scale.md says how.',
    },
  )
}

interface Side {
  machine: string
  workdir: string
  /** Absent when the machine is away.*/
  checkedOut?: CheckedOut
}

/** The two sides of a move. */
interface Sides {
  from: Side
  to: Side
}

/** Reads what is checked out on both machines. The new machine must answer, and its directory must be open to the caller: the
 *  address in a repository decides which repository of the other machine is found, and an agent can change that address. If the
 *  old machine is away, its state is unknown. */
export async function sidesOf(
  app: App,
  { machine = 'unknown', request }: CodingSession,
  to: Pick<Side, 'machine' | 'workdir'>,
  { agentId }: Pick<Caller, 'agentId'>,
): Promise<Sides> {
  const from = { machine, workdir: request.workdir }
  const [before, after] = await Promise.all([
    lookAt(app, from.machine, { path: from.workdir }).catch((error: unknown) => {
      app.log.warn(
        { event: 'moved-state-unknown', ...from, error: asRockpoolError(error).message },
        'Could not read the git state on the previous machine; continuing without it.',
      )
      return undefined
    }),
    asSeenBy({ agentId }, () => lookAt(app, to.machine, { path: to.workdir, agentId })),
  ])
  return { from: { ...from, checkedOut: before }, to: { ...to, checkedOut: after } }
}

/** A notice for Claude, placed before its next message. */
export function moveNotice({ from, to }: Sides): string {
  return (
    `[This conversation was moved from ${describe(from)} to ${describe(to)}. ` +
    `Paths named before are those of ${from.machine}, and what was not committed there is not here. ` +
    'Look at the working tree before you continue.]'
  )
}

/** Warnings for the person who moves the session. */
export function moveWarnings({ from, to }: Sides): string[] {
  const [before, after] = [from.checkedOut, to.checkedOut]
  const warnings: string[] = []
  if (!before) warnings.push(`${from.machine} did not report its git state.`)
  else if (before.commit !== after?.commit || before.branch !== after.branch)
    warnings.push(`The checkouts differ: ${describe(from)}; ${describe(to)}.`)
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
