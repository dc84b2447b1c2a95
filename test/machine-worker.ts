// One machine for benches: the whole way of a message on a shared PostgreSQL, with the offline agent. It joins, says that
// it is ready, and takes turns when it is told to.
// Usage: node machine-worker.ts <url> <schema> <name> <turns at once> <ms of a turn>
import { once } from 'node:events'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { Members } from '../src/store/postgres/members.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { PostgresTranscripts } from '../src/store/postgres/transcripts.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { openFlow } from './flow-bench.ts'

const [url = '', schema = '', machine = '', turnsAtOnce = '4', delayMs = '50'] = process.argv.slice(2)
const basis = { clock: systemClock, log: silentLog }
const postgres = new Postgres({ url, schema, ...basis })
const members = new Members(postgres, { machine, labels: [], serves: true, ...basis })
await members.join()
const work = postgresWork(postgres, systemClock, members)
const sessions = new PostgresSessions('main', postgres)
const transcripts = new PostgresTranscripts(postgres, {
  agentId: 'main',
  dir: '/nowhere',
  clock: systemClock,
})
const flow = await openFlow({
  config: {
    machine: { turnsAtOnce: Number(turnsAtOnce) },
    messages: { queue: { mode: 'followup', cap: 1_000 } },
  },
  runtime: makeOfflineAgent({ clock: systemClock, delayMs: Number(delayMs) }),
  parts: { work, sessions: () => sessions, transcripts: () => transcripts, isAlive: () => true },
})
await work.share!.setReach(['memory|default'])
process.stdout.write('ready\n')
await once(process.stdin, 'data')
flow.converse.shared!.start()
await once(process.stdin, 'data')
await flow.converse.shared!.stop()
await members.close()
process.exit(0)
