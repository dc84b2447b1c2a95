// Rows as other programs left them: older spellings, times out of this world, transcripts elsewhere, a file that is torn.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import { errorLog } from '../src/cli/diagnostics.ts'
import type { App } from '../src/operations/app.ts'
import type { Caller } from '../src/operations/operation.ts'
import { perform } from '../src/operations/all.ts'
import { readEnvironment } from '../src/store/config-file.ts'

let home: string
let app: App
let told: string[]
const operator: Caller = { via: 'cli', scopes: ['admin'] }

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-others-'))
  told = []
})
afterEach(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

async function open(text: string): Promise<void> {
  const folder = join(home, 'state', 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'sessions.json'), text, { mode: 0o600 })
  const environment = readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') })
  const log = errorLog({ write: (line) => told.push(line) })
  app = await openApp(environment, { version: '0.0.0-test', log })
}

const ask = (name: string, input: Record<string, unknown> = {}): Promise<unknown> =>
  perform(app, name, input, operator)

test('a row under the key as given gets the message, and a reader finds it under any spelling', async () => {
  const row = { sessionId: 'older-one', updatedAt: Date.now() }
  await open(JSON.stringify({ 'agent:main:bob': row, main: { ...row, sessionId: 'main-one' } }))
  for (const ref of ['agent:main:bob', 'agent:main:direct:bob'])
    expect(await ask('sessions.resolve', { key: ref })).toMatchObject({ key: 'agent:main:bob' })
  expect(await ask('turns.run', { message: 'hi', sessionKey: 'agent:main:bob' })).toMatchObject({
    sessionKey: 'agent:main:bob',
    sessionId: 'older-one',
  })
  expect(await ask('turns.run', { message: 'hi' })).toMatchObject({
    sessionKey: 'agent:main:main',
    sessionId: 'main-one',
  })
})

test('one row that cannot be read hides none of the others in a list', async () => {
  const rows = {
    'agent:main:direct:1': { sessionId: 'far-future', updatedAt: 9e15 },
    'agent:main:direct:2': { sessionId: 'elsewhere', updatedAt: 2, sessionFile: '/etc/x.jsonl' },
    'agent:main:direct:3': { sessionId: 'as-it-should', updatedAt: 1, subject: 'Sails' },
  }
  await open(JSON.stringify(rows))
  const options = { includeDerivedTitles: true, includeLastMessage: true }
  const { sessions } = (await ask('sessions.list', options)) as { sessions: object[] }
  expect(sessions).toMatchObject([
    { sessionId: 'far-future', derivedTitle: 'far-futu' },
    { sessionId: 'elsewhere' },
    { sessionId: 'as-it-should', derivedTitle: 'Sails' },
  ])
})

test('a sessions.json that was set aside is reported, and the doctor names it', async () => {
  await open('{"torn')
  await ask('sessions.list')
  expect(told).toEqual([expect.stringMatching(/^rockpool: .*could not be read and was set aside.*\n$/)])
  const { findings } = (await ask('doctor')) as { findings: object[] }
  expect(findings).toMatchObject([{ kind: 'set-aside', where: expect.stringContaining('.corrupt-') }])
})
