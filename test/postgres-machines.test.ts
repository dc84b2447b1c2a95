// Several machines on one PostgreSQL, small: the real program twice, and a turn during which the database was away. At
// size, with kills and outages: test/full/machines.test.ts and test/full/outage.test.ts.
import { afterAll, expect, test } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { Members } from '../src/store/postgres/members.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { PostgresTranscripts } from '../src/store/postgres/transcripts.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { StoreAway } from '../src/store/store-away.ts'
import { openFlow } from './flow-bench.ts'
import { machineLeaves } from './machines.ts'
import { startPostgres } from './postgres.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

test('of two programs with homes of their own one is stopped in the middle: all is answered once, in order', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const report = await machineLeaves(url, { chats: 6, each: 3 })
  expect(report).toMatchObject({
    answered: 18,
    lost: [],
    unmarkedDuplicates: [],
    crossChat: [],
    outOfOrder: [],
    ends: { answered: 18 },
  })
}, 60_000)

test('a turn during which the database was away is taken again, marked, before what came later', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const basis = { clock: systemClock, log: silentLog }
  const postgres = new Postgres({ url, schema: 'away', ...basis, maxConnections: 4 })
  const members = new Members(postgres, { machine: 'a', labels: [], serves: true, ...basis })
  await members.join()
  const work = postgresWork(postgres, systemClock, members)
  const sessions = new PostgresSessions('main', postgres)
  const transcripts = new PostgresTranscripts(postgres, {
    agentId: 'main',
    dir: '/nowhere',
    clock: systemClock,
  })
  let isAway = true
  const append = transcripts.append.bind(transcripts)
  transcripts.append = async (...given) => {
    const [, [body]] = given
    const isAnswer = body?.type === 'message' && body.message.role === 'assistant'
    if (isAnswer && isAway) {
      isAway = false
      throw new StoreAway('PostgreSQL cannot be reached: ECONNREFUSED.')
    }
    return append(...given)
  }
  const flow = await openFlow({
    config: { messages: { queue: { mode: 'followup', cap: 100 } } },
    runtime: makeOfflineAgent({ clock: systemClock }),
    parts: { work, sessions: () => sessions, transcripts: () => transcripts, isAlive: () => true },
  })
  try {
    await work.share!.setReach([`${flow.channel.name}|default`])
    flow.converse.shared!.start()
    for (const n of [1, 2, 3]) await flow.channel.say(`word-${n}`)
    await flow.channel.untilSent(3)
    const words = flow.channel.texts.map((text) => /word-\d/.exec(text)?.[0])
    expect(words).toEqual(['word-1', 'word-2', 'word-3'])
    expect(flow.channel.texts.map((text) => text.includes('Retried'))).toEqual([true, false, false])
  } finally {
    await flow.converse.shared!.stop()
    await flow.stop()
    await members.close()
    await postgres.close()
    flow.remove()
  }
}, 60_000)
