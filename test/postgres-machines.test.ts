// Several machines on one PostgreSQL, small: the real program twice, and a turn during which the database was away. At
// size, with kills and outages: test/full/machines.test.ts and test/full/outage.test.ts.
import { afterAll, expect, test } from 'vitest'
import type { PostgresTranscripts } from '../src/store/postgres/transcripts.ts'
import { StoreAway } from '../src/store/store-away.ts'
import { openMachine } from './machine-flow.ts'
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
  let isAway = true
  const failOnce = (transcripts: PostgresTranscripts): void => {
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
  }
  const machine = await openMachine({
    url,
    schema: 'away',
    machine: 'a',
    maxConnections: 4,
    change: failOnce,
  })
  const { channel } = machine.flow
  try {
    machine.start()
    for (const n of [1, 2, 3]) await channel.say(`word-${n}`)
    await channel.untilSent(3)
    const words = channel.texts.map((text) => /word-\d/.exec(text)?.[0])
    expect(words).toEqual(['word-1', 'word-2', 'word-3'])
    expect(channel.texts.map((text) => text.includes('Retried'))).toEqual([true, false, false])
  } finally {
    await machine.stop()
  }
}, 60_000)
