import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { SessionScore, SessionSelection } from '../../domain/selection.ts'
import type { Database } from './database.ts'
import { decisionsIn } from './decisions.ts'
import { openStateDatabase } from './state-database.ts'

let folder = ''
let db: Database

function open(): ReturnType<typeof decisionsIn> {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-decisions-'))
  db = openStateDatabase(join(folder, 'rockpool.sqlite'))
  return decisionsIn(db)
}

afterEach(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const score = (sessionId: string): SessionScore => ({
  sessionId,
  total: 0.5,
  factors: { branch: 0.25, recency: 0, relevance: -0.05, health: 0.15, capacity: 0.15 },
  relevance: { sessionId, relevance: 0.2, reasoning: 'so' },
  isRunning: false,
  reason: 'so',
})

function decision(at: number, selection: Partial<SessionSelection> = {}) {
  return {
    at,
    task: 'Fix it',
    repoPath: '/repo',
    agentId: 'main',
    selection: {
      action: 'fresh' as const,
      reason: 'so',
      scores: [],
      relevanceBy: 'keywords' as const,
      ...selection,
    },
  }
}

test('a decision is found whole by its id, its session, a scored session, and the session it became', async () => {
  const decisions = open()
  const made = decision(1, {
    action: 'resume',
    sessionId: 'chosen',
    scores: [score('chosen'), score('other')],
  })
  const id = await decisions.record(made)
  await decisions.record(decision(2))
  await decisions.became(id, 'newborn')
  const whole = { ...made, id, becameSessionId: 'newborn' }
  for (const ref of [id, 'chosen', 'other', 'oth', 'newborn']) expect(decisions.find(ref)).toEqual([whole])
  for (const ref of ['nobody', '%', '_', 'd-']) expect(decisions.find(ref)).toEqual([])
})

test('a decision of an earlier version, which was made by `nobody`, is read as made by `none`', async () => {
  const decisions = open()
  const older = { relevanceBy: 'nobody' } as unknown as Partial<SessionSelection>
  const id = await decisions.record(decision(1, older))
  expect(decisions.find(id)).toMatchObject([{ selection: { relevanceBy: 'none' } }])
})

test('the newest comes first', async () => {
  const decisions = open()
  for (const at of [1, 3, 2]) await decisions.record(decision(at, { sessionId: 's' }))
  expect(decisions.find('s').map(({ at }) => at)).toEqual([3, 2, 1])
  expect(decisions.find('s', 1).map(({ at }) => at)).toEqual([3])
})

test('the oldest are forgotten with their sessions, and the database stays small', async () => {
  const decisions = open()
  await Promise.all(
    Array.from({ length: 2_050 }, (_, at) => decisions.record(decision(at, { sessionId: `s${at}` }))),
  )
  expect(db.queries.get<{ n: number }>('SELECT count(*) AS n FROM decision')!.n).toBe(2_000)
  expect(db.queries.get<{ n: number }>('SELECT count(*) AS n FROM decision_session')!.n).toBe(2_000)
})
