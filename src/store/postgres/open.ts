// The shared database as the configuration and the environment name it.
import { hostname } from 'node:os'
import type { Clock } from '../../domain/clock.ts'
import type { Config } from '../../domain/config.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Environment } from '../config-file.ts'
import { Postgres } from './connection.ts'
import { Members } from './members.ts'

export interface Shared {
  postgres: Postgres
  members: Members
}

/** Undefined when the configuration keeps everything on this machine. Nothing is connected before it is used. */
export function openShared(
  config: Pick<Config, 'store' | 'machine'>,
  environment: Pick<Environment, 'databaseUrl' | 'stateDir'>,
  parts: { clock: Clock; log: Log; serves: boolean },
): Shared | undefined {
  if (config.store !== 'postgres') return undefined
  const { clock, log, serves } = parts
  const postgres = new Postgres({ url: databaseUrl(environment), clock, log })
  const machine = config.machine.name ?? hostname()
  return {
    postgres,
    members: new Members(postgres, { machine, labels: config.machine.labels, serves, clock, log }),
  }
}

export function databaseUrl({ databaseUrl: url }: Pick<Environment, 'databaseUrl'>): string {
  const hint = 'Set it to postgres://user:password@host/database; several servers as host1,host2.'
  if (url === undefined || url === '')
    throw new RockpoolError('config-invalid', 'ROCKPOOL_DATABASE_URL is not set.', {
      hint: `${hint} Without PostgreSQL \`store\` is \`sqlite\`.`,
    })
  if (/^postgres(?:ql)?:\/\/./.test(url)) return url
  throw new RockpoolError('config-invalid', 'ROCKPOOL_DATABASE_URL is not the address of a PostgreSQL.', {
    hint,
  })
}
