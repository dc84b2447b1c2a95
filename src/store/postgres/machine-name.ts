// A machine's name is one gateway's at a time: by it the others find its repositories, leave errands and say where a coding
// session is. A gateway that restarts after a kill gets its name back at once; a second gateway with the name is refused.
import { hostname } from 'node:os'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { identifyProcess, isSameProcess } from '../disk/process-identity.ts'
import type { ProcessIdentity } from '../disk/process-identity.ts'
import type { Postgres } from './connection.ts'

/** What a member says of itself. */
interface About extends ProcessIdentity {
  host: string
}

export interface Holder {
  id: string
  about: About
  /** When it last said that it lives, by the database's clock. */
  seenAt: string
}

const lookEveryMs = 250

export function aboutThisProcess(): string {
  const about: About = { ...identifyProcess(process.pid)!, host: hostname() }
  return JSON.stringify(about)
}

/** Waits while it is not known whether the one that has the name lives, and rejects with `locked` when it does. */
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
    if (livesHere(holder) || (first?.id === holder.id && first.seenAt !== holder.seenAt))
      throw nameIsTaken(machine, holder)
    if (first?.id !== holder.id) {
      first = holder
      log.info(
        { event: 'machine-name-wait', machine, before: holder.id },
        'Waiting until the previous process of this machine name has ended.',
      )
    }
    await new Promise<void>((resolve) => void clock.after(lookEveryMs, resolve))
  }
}

/** Takes the name if it can be taken, and tells else who has it. */
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
  const [row] = await postgres.repeat<{ id: string; about: string; seenAt: string }>(
    `SELECT id, about, seen_at::text AS "seenAt" FROM lease JOIN member ON id = owner WHERE name = $1`,
    [name],
  )
  if (row?.id === member) return undefined
  const holder = row && { ...row, about: JSON.parse(row.about) as About }
  // Between the two statements it was given up, or its process is seen to be dead: then it is free.
  if (holder && !(isOfHere(holder) && !livesHere(holder) && (await buryAtOnce(postgres, holder))))
    return holder
  return nameHolder(postgres, machine, member)
}

export function nameIsTaken(machine: string, { about }: Holder): RockpoolError {
  return new RockpoolError(
    'locked',
    `Another gateway on this database is called ${machine} already: process ${about.pid} on ${about.host}.`,
    {
      hint: 'Set `machine.name` in the configuration of one of them, or stop the other one first.',
    },
  )
}

/** A process that died a moment ago has lost its connection, and with it its lock; one that we only take for dead has it. */
async function buryAtOnce(postgres: Postgres, { id }: Holder): Promise<boolean> {
  const [row] = await postgres.repeat<{ gone: boolean }>('SELECT bury_if_unlocked($1) AS gone', [id])
  return row!.gone
}

function isOfHere({ about }: Holder): boolean {
  return about.domain === identifyProcess(process.pid)?.domain
}

function livesHere(holder: Holder): boolean {
  return isOfHere(holder) && isSameProcess(holder.about)
}
