import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { settle } from '../../../test/support/in-flight.ts'
import { makeMovableClock } from '../../../test/support/movable-clock.ts'
import { configSchema } from '../../domain/config.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { silentLog } from '../../domain/log.ts'
import type { SessionSelection } from '../../domain/selection.ts'
import { CodingStore } from '../../store/sqlite/coding-store.ts'
import { openStateDatabase } from '../../store/sqlite/state-database.ts'
import { choiceOf, chooseWhenFree, SessionChoice } from './choose.ts'
import type { Choice } from './choose.ts'
import { RepoGate } from './repo-queue.ts'
import { launched } from '../session/session-changes.ts'

const parts = {
  config: configSchema.parse({}),
  log: silentLog,
  variables: {},
  discovery: () => ({}) as never,
  decisions: () => ({}) as never,
  smallModel: () => undefined,
  openclawSettings: () => undefined,
  search: () => ({}) as never,
  mayContinue: () => true,
}

test('a queued task that must wait although its repository looks free chooses again only after a pause', async () => {
  const { clock, repos, session } = openGate()
  let choices = 0
  const choose = async (): Promise<Choice> => ({ action: ++choices > 2 ? 'fresh' : 'queue' })
  const log = silentLog
  const chosen = chooseWhenFree({ choose, repos, clock, log }, session, new AbortController().signal)
  await settle()
  expect(choices).toBe(1)
  await clock.advance(1_200)
  expect(choices).toBe(3)
  expect(await chosen).toBeUndefined()
})

test('the choice and the queue ask one gate: the same path on another machine is not at work here', async () => {
  const { clock, repos, store, session } = openGate()
  const elsewhere = { ...session, id: 'Other123', machine: 'there', lifecycle: 'active' as const }
  await store.save(elsewhere)
  const choice = new SessionChoice({ ...parts, clock, repos })
  expect(choice.sources().atWork('/repo')).toEqual([])
  await store.save({ ...elsewhere, machine: 'here' })
  expect(choice.sources().atWork('/repo')).toHaveLength(1)
})

test.each([
  ['off', true, undefined],
  ['hard', true, 'hard'],
  ['hard', false, undefined],
] as const)(
  'with trimWhenCold %s, a session whose trimmed copy is worthwhile (%s) is trimmed at: %s',
  (trimWhenCold, offered, expected) => {
    const { clock, repos } = openGate()
    const choice = new SessionChoice({
      ...parts,
      config: configSchema.parse({ coding: { trimWhenCold } }),
      clock,
      repos,
    })
    const trimmed = { level: 'hard', cuts: 3, tokens: 1, usd: 0.4, offered }
    const price = { cache: 'cold', resumeUsd: 1, trimmed }
    const selection = { action: 'resume', sessionId: 's', scores: [{ sessionId: 's', price }] }
    const trim = choice.trimFor(selection as unknown as SessionSelection)
    expect(trim).toBe(expected)
    expect(choiceOf(selection as unknown as SessionSelection, { trim })).toEqual({
      action: trim ? 'fork' : 'resume',
      resume: { sdkSessionId: 's', fork: trim !== undefined, trim },
    })
  },
)

function openGate() {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-choose-'))
  const database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  onTestFinished(async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  })
  const clock = makeMovableClock()
  const store = new CodingStore(database)
  const repos = new RepoGate({
    store,
    clock,
    config: {
      perRepo: { running: 1, queued: 5 },
      maxSessions: 5,
      maxQueued: 5,
      reserve: { percent: 0, launches: 'wait' },
    },
    owners: { ownerLives: () => true, machine: 'here' },
  })
  const owner = { pid: 1, startTime: '', domain: '', machine: '', host: '' }
  const request = { prompt: 'x', workdir: '/repo', agentId: 'main' } as CodingSession['request']
  const session = launched(request, {}, { owner, machine: 'here', now: clock.now() })
  return { clock, store, repos, session }
}
