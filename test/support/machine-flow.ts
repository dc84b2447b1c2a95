// One machine of several for tests and benches: a member of a shared PostgreSQL, and everything between a platform and the
// offline agent upon its stores.
import { makeOfflineAgent } from '../../src/agent/offline.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { Members } from '../../src/store/postgres/members.ts'
import { PostgresSessions } from '../../src/store/postgres/sessions.ts'
import { PostgresTranscripts } from '../../src/store/postgres/transcript-store.ts'
import { postgresWork } from '../../src/store/postgres/work.ts'
import { openFlow } from './flow-bench.ts'
import type { FlowBench } from './flow-bench.ts'

export interface MachineOptions {
  url: string
  schema: string
  machine: string
  /** With an account of its own a machine sends the replies to its people, whichever machine takes the turn. */
  account?: string
  turnsAtOnce?: number
  /** How long the agent thinks. */
  delayMs?: number
  maxConnections?: number
  /** For a test that lets it fail. */
  change?: (transcripts: PostgresTranscripts) => void
}

export interface Machine {
  flow: FlowBench
  /** From now on it takes turns. */
  start(): void
  stop(): Promise<void>
}

export async function openMachine(options: MachineOptions): Promise<Machine> {
  const {
    url,
    schema,
    machine,
    account = 'default',
    turnsAtOnce = 4,
    delayMs = 0,
    maxConnections = 16,
  } = options
  const basis = { clock: systemClock, log: silentLog }
  const postgres = new Postgres({ url, schema, ...basis, maxConnections })
  const members = new Members(postgres, { machine, labels: [], serves: true, ...basis })
  await members.join()
  const work = postgresWork(postgres, systemClock, members)
  const sessions = new PostgresSessions('main', postgres)
  const place = { agentId: 'main', dir: '/nowhere', clock: systemClock }
  const transcripts = new PostgresTranscripts(postgres, place)
  options.change?.(transcripts)
  const flow = await openFlow({
    channel: { accountId: account },
    config: { machine: { turnsAtOnce }, messages: { queue: { mode: 'followup', cap: 1_000 } } },
    runtime: makeOfflineAgent({ clock: systemClock, delayMs }),
    parts: { work, sessions: () => sessions, transcripts: () => transcripts, isAlive: () => true },
  })
  await work.share!.setReach([`${flow.channel.name}|${account}`])
  return {
    flow,
    start: () => flow.converse.shared!.start(),
    async stop() {
      await flow.converse.shared!.stop()
      await flow.stop()
      await members.close()
      await postgres.close()
      flow.remove()
    },
  }
}
