// Where a coding session runs: on the machine that has its repository, wherever it was asked for.
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { checkedOut } from '../../coding/queue/repositories.ts'
import type { CheckedOut } from '../../coding/queue/repositories.ts'
import { checkWorkdir, isAllowed, isDirectory } from '../../coding/queue/repositories.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { machinesCalled, placeFor, repositoryAt } from '../../domain/machine.ts'
import type { Machine, Place, Wanted } from '../../domain/machine.ts'
import type { App } from '../app.ts'

/** A directory of this machine, or one of another that is asked to do it. */
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
    // The local reason is more useful than "no machine has it".
    const isNowhere = asRockpoolError(error).code === 'not-found'
    if (isNowhere && isAsked && isDirectory(workdir)) return { workdir }
    throw error
  }
}

/** Where the session was; another machine that has its repository when that one is away, or when it is asked for. */
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
  // Where nothing is known of its repository, the same path has to do.
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

/** Does it belong to another machine than this one? */
export function isElsewhere(app: App, { machine }: Pick<CodingSession, 'machine'>): boolean {
  const here = app.coding().machines?.name
  return here !== undefined && machine !== undefined && machine !== here
}

/** What is checked out at a place; it must be a directory in which sessions may run. */
export async function lookAt(app: App, machine: string, path: string): Promise<CheckedOut> {
  const { machines } = app.coding()
  if (machines && machine !== machines.name)
    return (await machines.ask(machine, 'look', { path })) as CheckedOut
  const workdir = checkWorkdir(path, app.config.coding.workspaceRoots)
  return checkedOut(workdir, app.environment.variables)
}

/** Its repository as the machine where it was knows it. */
function wantedOf(all: Machine[], session: CodingSession, machine: string | undefined): Wanted {
  const { workdir } = session.request
  const its = all.find(({ name }) => name === session.machine)
  return { workdir, machine, ...(its && repositoryAt(its.repositories, workdir)) }
}

function spotOf({ machine, workdir }: Place): Spot {
  return machine.isHere ? { workdir } : { workdir, elsewhere: machine }
}

/** Without a shared database there is this machine and no other. */
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
