// A record that is nested 100,000 levels deep hides nothing but itself: every operation that reads the session shows the rest.
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { NativeTranscript } from './support/dashboard-house.ts'
import { openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const levels = 100_000
const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const id = '00000001-2222-4333-8444-555555555555'
let house: House

beforeEach(async () => {
  house = await openHouse({ config: { claude: { credential: 'none' } } })
})
afterEach(() => house.close())

async function call<T>(method: string, params: object): Promise<T> {
  const { result, error } = await rpc(house, method, params)
  expect(error).toBeUndefined()
  return result as T
}

interface Cards {
  cards: Array<{ kind: string; text: string }>
}

test('in a session of Claude Code it is reported, and the rest is read, repaired and handed over', async () => {
  const session = new NativeTranscript({ configDir: join(house.dir, '.claude') } as never, house.dir, id)
  session.prompt('Look at the herring')
  session.answer('I look at it.')
  session.answer([{ type: 'tool_use', id: 't1', name: 'Read', input: { path: 'DEEP' } }])
  session.result('t1', 'It is a fish.')
  session.answer('The herring is a fish.')
  const folder = join(house.dir, '.claude/projects')
  const file = join(folder, readdirSync(folder)[0]!, `${id}.jsonl`)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"DEEP"', deep))

  const { cards } = await call<Cards>('cc.read', { id })
  expect(cards.map(({ kind, text }) => [kind, text])).toEqual([
    ['prompt', 'Look at the herring'],
    ['text', 'I look at it.'],
    ['notice', 'A record is nested too deep to be shown.'],
    ['result', 'It is a fish.'],
    ['text', 'The herring is a fish.'],
  ])
  expect(await call('cc.read', { id, raw: true })).toMatchObject({ cards: { length: 5 } })
  const { calls } = await call<{ calls: unknown[] }>('cc.anatomy', { id })
  expect(calls).toHaveLength(2)
  const { health } = await call<{ health: { damagedLines: number; findings: string[] } }>('cc.info', { id })
  expect(health.damagedLines).toBe(1)
  expect(health.findings).toContain('1 line that is not JSON or nested too deep')
  const { sessionId } = await call<{ sessionId: string }>('cc.repair', { id })
  const repaired = await call<Cards>('cc.read', { id: sessionId })
  expect(repaired.cards.map(({ text }) => text)).toEqual([
    'Look at the herring',
    'I look at it.',
    'The herring is a fish.',
  ])
  await call('cc.handoff', { id, to: 'codex' })
  expect(await call('sessions.search', { query: 'herring' })).toMatchObject({ total: expect.any(Number) })
})

test('in a session of Codex it is damaged; deep arguments of a tool are shown as they were written', async () => {
  const day = join(house.dir, '.codex/sessions/2026/11/16')
  mkdirSync(day, { recursive: true })
  const recorded = join(import.meta.dirname, 'fixtures/agents/codex/home/sessions/2026/11/16')
  const name = readdirSync(recorded).sort()[0]!
  cpSync(join(recorded, name), join(day, name))
  const timestamp = '2026-11-16T15:00:00.000Z'
  const tool = { type: 'function_call', name: 'look', call_id: 'c1', arguments: deep }
  const payload = `{"payload":${deep}}`
  const line = JSON.stringify({ timestamp, type: 'response_item', payload: tool })
  appendFileSync(join(day, name), `${line}\n${payload}\n`)
  const session = /[0-9a-f-]{36}(?=\.jsonl$)/.exec(name)![0]
  const { cards } = await call<Cards>('cc.read', { id: session })
  expect(cards.length).toBeGreaterThan(1)
  await call('cc.anatomy', { id: session })
  expect(await call('cc.info', { id: session })).toMatchObject({ session: { damagedLines: 1 } })
})
