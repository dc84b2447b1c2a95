// A session database with changed bytes, or with a page of zeros, beside an intact sessions.json. Many damages, each
// with a fixed seed: every answer is right or says `damaged`, the copy is never overwritten with less than it had, and
// `doctor --fix` brings every session back as it was.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { asRockpoolError } from '../src/domain/errors.ts'
import { makeEvents } from '../src/domain/events.ts'
import { silentLog } from '../src/domain/log.ts'
import type { SessionEntry } from '../src/domain/session.ts'
import { examine, fix } from '../src/sessions/doctor.ts'
import { statePaths } from '../src/store/paths.ts'
import { SqliteSessions } from '../src/store/sqlite/sessions.ts'
import { FileTranscripts } from '../src/store/transcripts/transcript-file.ts'
import { all } from './support/transcript-folder.ts'
import { randomFrom } from './support/random.ts'

const count = 100
const pageBytes = 4096
const keyOf = (i: number): string => `agent:main:telegram:direct:${1_000 + i}`
let sound: string

beforeAll(async () => {
  sound = mkdtempSync(join(tmpdir(), 'rockpool-sound-'))
  await makeSessions(sound)
})
afterAll(() => rmSync(sound, { recursive: true, force: true }))

test.each(Array.from({ length: 24 }, (_, i) => i + 1))(
  'a database with 50 changed bytes (seed %i) gives nothing wrong, and every session comes back',
  async (seed) => {
    const random = randomFrom(seed)
    await expectAllBack(seed % 2 === 0, (bytes) => {
      for (let i = 0; i < 50; i++) {
        const at = Math.floor(random() * bytes.length)
        bytes[at] = bytes[at]! ^ (1 + Math.floor(random() * 255))
      }
    })
  },
)

test.each([0, 1, 2, 3])(
  'a database with a page of zeros (every 16th from %i) gives nothing wrong, and every session comes back',
  async (first) => {
    const pages = readFileSync(statePaths(sound).sessionDatabase('main')).length / pageBytes
    for (let page = first; page < pages; page += 16)
      await expectAllBack(page % 2 === 0, (bytes) => bytes.fill(0, page * pageBytes, (page + 1) * pageBytes))
  },
)

async function expectAllBack(isCopied: boolean, spoil: (bytes: Buffer) => void): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-damaged-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  // A copied sessions.json is another file than the one that the database knows, so it is imported first.
  if (isCopied) cpSync(sound, root, { recursive: true })
  else await makeSessions(root)
  const database = statePaths(root).sessionDatabase('main')
  const bytes = readFileSync(database)
  spoil(bytes)
  writeFileSync(database, bytes)
  await expectHonestAnswers(root)
  expect(copyIn(root)).toEqual(wanted())
  await expectDoctorMendsIt(root)
  expect(copyIn(root)).toEqual(wanted())
}

async function makeSessions(root: string): Promise<void> {
  const store = sessionsIn(root)
  await Promise.all(entries().map(([key, entry]) => store.update(key, () => entry)))
  await store.close()
}

/** What the store says is what was written, or the code `damaged`. */
async function expectHonestAnswers(root: string): Promise<void> {
  const store = sessionsIn(root)
  const listed = await honest(async () => {
    const { sessions } = await store.list()
    return sessions.map(({ key, entry }) => [key, entry.label] as const)
  })
  if (listed) expect(new Map(listed)).toEqual(new Map(entries().map(([key, { label }]) => [key, label])))
  const [key, entry] = entries()[7]!
  const got = await honest(async () => ({ entry: await store.get(key) }))
  if (got) expect(got.entry).toEqual(entry)
  // A change makes the store rewrite its copy.
  await honest(() => store.update(key, (before) => ({ ...before!, updatedAt: entry.updatedAt })))
  await store.close()
}

async function expectDoctorMendsIt(root: string): Promise<void> {
  const paths = statePaths(root)
  const sessions = sessionsIn(root)
  const events = makeEvents((error) => {
    throw error
  })
  const transcripts = new FileTranscripts({
    agentId: 'main',
    dir: paths.sessions('main'),
    clock: systemClock,
    events,
  })
  const agent = { sessions, transcripts, clock: systemClock, events, isBusy: () => false }
  const findings = await all(examine({ paths, agents: [agent] }))
  expect((await fix(findings)).failed).toEqual([])
  const left = await all(examine({ paths, agents: [agent] }))
  expect(left.filter(({ kind }) => kind !== 'set-aside')).toEqual([])
  const found: Array<[string, SessionEntry]> = []
  for await (const { key, entry } of sessions.entries()) found.push([key, entry])
  expect(Object.fromEntries(found)).toEqual(wanted())
  await sessions.close()
  expect(
    readdirSync(paths.sessions('main')).filter((name) => name.startsWith('sessions.json.corrupt')),
  ).toEqual([])
}

async function honest<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    expect(asRockpoolError(error)).toMatchObject({
      code: 'damaged',
      hint: expect.stringContaining('doctor --fix'),
    })
    return undefined
  }
}

function sessionsIn(root: string): SqliteSessions {
  const paths = statePaths(root)
  return new SqliteSessions({
    agentId: 'main',
    database: paths.sessionDatabase('main'),
    mirror: paths.sessionsJson('main'),
    clock: systemClock,
    log: silentLog,
  })
}

function entryOf(i: number): SessionEntry {
  return {
    sessionId: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    updatedAt: 1_700_000_000_000 + i,
    label: `session number ${i}`,
    displayName: 'x'.repeat(300),
    ...(i % 3 === 0 ? { skillsSnapshot: { prompt: 'p'.repeat(1_500), skills: [] } } : {}),
  }
}

const entries = (): Array<[string, SessionEntry]> =>
  Array.from({ length: count }, (_, i) => [keyOf(i), entryOf(i)])
const wanted = (): Record<string, SessionEntry> => Object.fromEntries(entries())
const copyIn = (root: string): unknown =>
  JSON.parse(readFileSync(statePaths(root).sessionsJson('main'), 'utf8'))
