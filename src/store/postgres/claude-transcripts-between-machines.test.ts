import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../domain/clock.ts'
import { silentLog } from '../../domain/log.ts'
import { sqliteSessionStore } from '../sqlite/claude-transcripts.ts'
import { sharedClaudeTranscripts } from './claude-transcripts-between-machines.ts'

const sessionId = '00000000-0000-4000-8000-000000000001'
const record = (uuid: string) => ({ type: 'user', uuid, sessionId, message: { content: `said ${uuid}` } })
type Entry = ReturnType<typeof record>
const textOf = (entries: Entry[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** The store has `shared`, this machine's file `here`; the session is resumed on this machine. */
async function resumed(here: Entry[], shared: Entry[]) {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-claude-'))
  const store = sqliteSessionStore({ path: join(folder, 'store.sqlite') })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const file = join(folder, 'projects', '-shop', `${sessionId}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, textOf(here))
  if (shared.length > 0) await store.append({ projectKey: 'rockpool', sessionId }, shared)
  const transcripts = sharedClaudeTranscripts(store, folder, { clock: systemClock, log: silentLog })
  await transcripts.sdkStore.load({ projectKey: '-shop', sessionId })
  const others = readdirSync(dirname(file)).filter((name) => name !== `${sessionId}.jsonl`)
  return {
    file: readFileSync(file, 'utf8'),
    others: others.map((name) => ({ name, text: readFileSync(join(dirname(file), name), 'utf8') })),
    shared: (await transcripts.entries(sessionId))?.map(({ uuid }) => uuid),
  }
}

const [a, b, mine, theirs] = ['a', 'b', 'mine', 'theirs'].map(record) as [Entry, Entry, Entry, Entry]

test('the file gets what another machine wrote', async () => {
  const { file, others } = await resumed([a], [a, b])
  expect(file).toBe(textOf([a, b]))
  expect(others).toEqual([])
})

test('what only this machine has goes to the others', async () => {
  const { file, others, shared } = await resumed([a, b], [a])
  expect(file).toBe(textOf([a, b]))
  expect([others, shared]).toEqual([[], ['a', 'b']])
})

test('if another machine continued meanwhile, its records count, and the file of this machine is kept', async () => {
  const { file, others, shared } = await resumed([a, mine], [a, theirs])
  expect(file).toBe(textOf([a, theirs]))
  expect(shared).toEqual(['a', 'theirs'])
  expect(others).toEqual([
    { name: expect.stringMatching(/\.jsonl\.replaced-[\dTZ.-]+$/) as string, text: textOf([a, mine]) },
  ])
})
