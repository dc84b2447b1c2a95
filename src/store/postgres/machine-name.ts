// One gateway at a time has a machine's name. By the name other machines find its repositories, leave requests and say where
// a coding session is. A gateway that restarts after a kill gets its name back at once; a second gateway is refused.
import { hostname } from 'node:os'
import { sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../disk/process-identity.ts'
import type { Postgres } from './connection.ts'

interface About extends ProcessIdentity {
  host: string
}

export interface Holder {
  id: string
  about: About
  /** Its last heartbeat, by the database's clock. */
  seenAt: string
}

const pollMs = 250

export function aboutThisProcess(): string {
  const about: About = { ...identifyProcess(process.pid)!, host: hostname() }
  return JSON.stringify(about)
}

/** Takes the name. Waits while it is unknown whether its holder is alive, and rejects with `locked` when it is. */
export async function holdName(
  postgres: Postgres,
  machine: string,
  member: string,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  let first: Holder | undefined
  for (;;) {
    const holder = await nameHolder(postgres, machine, member)
    if (!holder) return
    if (isAliveHere(holder) || (first?.id === holder.id && first.seenAt !== holder.seenAt))
      throw nameIsTaken(machine, holder)
    if (first?.id !== holder.id) {
      first = holder
      log.info(
        { event: 'machine-name-wait', machine, before: holder.id },
        'Waiting until the previous process of this machine name has ended.',
      )
    }
    await sleep(clock, pollMs)
  }
}

/** Takes the name if it is free. Resolves to its holder if it is not. */
export async function nameHolder(
  postgres: Postgres,
  machine: string,
  member: string,
): Promise<Holder | undefined> {
  const name = `machine ${machine}`
  await postgres.repeat('INSERT INTO lease (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
    name,
    member,
  ])
  const sql = `SELECT id, about, seen_at::text AS "seenAt" FROM lease JOIN member ON id = owner WHERE name = $1`
  const [row] = await postgres.repeat<{ id: string; about: string; seenAt: string }>(sql, [name])
  if (row?.id === member) return undefined
  const holder = row && { ...row, about: JSON.parse(row.about) as About }
  // No holder: it gave up the name between the two statements. A holder whose process here is dead: its name is free.
  if (holder && !(isOnThisHost(holder) && !isAliveHere(holder) && (await removeIfDead(postgres, holder))))
    return holder
  return nameHolder(postgres, machine, member)
}

export function nameIsTaken(machine: string, { about }: Holder): RockpoolError {
  const message = `Another gateway on this database is called ${machine} already: process ${about.pid} on ${about.host}.`
  return new RockpoolError('locked', message, {
    hint: 'Set `machine.name` in the configuration of one of them, or stop the other one first.',
  })
}

/** Fails while the member's connection still holds its lock: then its process is alive after all. */
async function removeIfDead(postgres: Postgres, { id }: Holder): Promise<boolean> {
  const [row] = await postgres.repeat<{ removed: boolean }>('SELECT bury_if_unlocked($1) AS removed', [id])
  return row!.removed
}

function isOnThisHost({ about }: Holder): boolean {
  return about.domain === identifyProcess(process.pid)?.domain
}

function isAliveHere(holder: Holder): boolean {
  return isOnThisHost(holder) && isSameProcess(holder.about)
}
