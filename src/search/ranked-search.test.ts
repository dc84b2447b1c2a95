import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SearchFilter, SearchHit, SearchSource } from '../domain/search.ts'
import { indexSources } from './index-files.ts'
import { addSomeTools } from './index-tiers.ts'
import { search } from './ranked-search.ts'
import { SearchIndex } from './search-index.ts'

let folder: string
let index: SearchIndex
const redact = (text: string): string => text
const now = new Date(2026, 10, 18, 15).getTime()
const day = 86_400_000

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-ranked-'))
  index = SearchIndex.open(join(folder, 'search.sqlite'))
})
afterEach(async () => {
  await index.close()
  rmSync(folder, { recursive: true })
})

function session(
  name: string,
  said: string[],
  about: Partial<SearchSource> & { daysAgo?: number } = {},
): SearchSource {
  const { daysAgo = 300, ...more } = about
  const path = join(folder, `${name}.jsonl`)
  const timestamp = new Date(now - daysAgo * day).toISOString()
  const lines = said.map((text) => ({ type: 'user', message: { role: 'user', content: text }, timestamp }))
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return { kind: 'native', path, sessionId: name, ...more }
}

async function find(text: string, filter: SearchFilter = {}): Promise<SearchHit[]> {
  return (await search({ index, redact, now: () => now }, text, filter)).hits
}

async function sessionsFor(text: string, filter?: SearchFilter): Promise<string[]> {
  return [...new Set((await find(text, filter)).map(({ sessionId }) => sessionId))]
}

test('all words in one message come before some of them, however short that message is', async () => {
  const filling = 'and then we spoke of many other things that have nothing to do with it '.repeat(20)
  await indexSources(
    index,
    [
      session('some', ['the test', 'a test', 'another test']),
      session('all', [`${filling} a flaky build ${filling} test`]),
    ],
    { redact },
  )
  expect(await sessionsFor('flaky test')).toEqual(['all', 'some'])
})

test('a session with several good messages comes before one with a single one', async () => {
  const several = [
    'the harbour crane is broken',
    'who repairs the crane at the harbour',
    'a crane for the old harbour',
  ]
  await indexSources(
    index,
    [session('several', several), session('one', ['the harbour crane is yellow', 'hello', 'good morning'])],
    { redact },
  )
  expect(await sessionsFor('What did we say about the crane at the harbour in winter?')).toEqual([
    'several',
    'one',
  ])
})

test('a message that was copied into a fork is shown once, and the same words of two sessions are two messages', async () => {
  await indexSources(
    index,
    [
      session('first', ['delete the harbour crane'], { daysAgo: 3 }),
      session('fork', ['delete the harbour crane'], { daysAgo: 3 }),
      session('later', ['delete the harbour crane'], { daysAgo: 1 }),
    ],
    { redact },
  )
  const found = await sessionsFor('delete the harbour crane')
  expect(found).toHaveLength(2)
  expect(found).toContain('later')
})

test('words that many sessions have do not displace other messages', async () => {
  const many = Array.from({ length: 5 }, (_, n) => session(`many-${n}`, ['done and tested'], { daysAgo: n }))
  await indexSources(index, [...many, session('one', ['rounded once and then it was tested'])], { redact })
  expect((await find('tested', { limit: 2 })).map(({ sessionId }) => sessionId)).toEqual(['many-0', 'one'])
  expect(await find('tested')).toHaveLength(6)
})

test('other forms of a word are found, and the form that was asked for comes first', async () => {
  await indexSources(index, [session('exact', ['we retry it']), session('form', ['two retries of it'])], {
    redact,
  })
  expect(await sessionsFor('retries')).toEqual(['form', 'exact'])
  expect(await sessionsFor('retry')).toEqual(['exact', 'form'])
  expect(await sessionsFor('"we retries"')).toEqual([])
})

test('a repository or a branch that the query names counts for what was said there', async () => {
  const shop = { repoPath: '/home/dev/web-shop', branch: 'feature/login' }
  await indexSources(
    index,
    [
      session('elsewhere', ['the deploy failed'], { repoPath: '/home/dev/api' }),
      session('shop', ['the deploy failed today'], shop),
    ],
    { redact },
  )
  expect((await sessionsFor('deploy failed web shop'))[0]).toBe('shop')
  expect((await sessionsFor('deploy failed login'))[0]).toBe('shop')
})

test('a time from now limits the search if something was said then; a named month ranks higher', async () => {
  await indexSources(
    index,
    [
      session('old', ['the flaky test'], { daysAgo: 40 }),
      session('then', ['a flaky test, seen once'], { daysAgo: 8 }),
      session('new', ['the flaky test again'], { daysAgo: 0 }),
    ],
    { redact },
  )
  expect(await sessionsFor('flaky test last week')).toEqual(['then'])
  expect((await sessionsFor('flaky test yesterday')).length).toBe(3)
  const notesFor = async (text: string): Promise<string[]> =>
    (await search({ index, redact, now: () => now }, text, {})).notes
  expect(await notesFor('flaky test yesterday')).toEqual([
    'Nothing was found in the time that you named; this is from any time.',
  ])
  expect(await notesFor('flaky test last week')).toEqual([])
  expect(await notesFor('puffin yesterday')).toEqual([])
  expect((await sessionsFor('Which flaky test did we see in October 2026?'))[0]).toBe('old')
})

test('filters by tool, by file and by the end of a time', async () => {
  const source = session('tools', ['please look'], { daysAgo: 2 })
  const call = (name: string, input: unknown): string =>
    `${JSON.stringify({ type: 'assistant', message: { role: 'assistant', content: [{ type: 'tool_use', name, input }] } })}\n`
  writeFileSync(
    source.path,
    call('Bash', { command: 'npm run migrate' }) +
      call('Edit', { file_path: '/x/src/migrate.ts', new_string: 'migrate' }),
    { flag: 'a' },
  )
  await indexSources(index, [source, session('talk', ['migrate the data'], { daysAgo: 20 })], { redact })
  for (const file of index.withoutTools()) while (await addSomeTools(index, file, redact));
  expect((await find('migrate', { tool: 'Bash' })).map(({ line }) => line)).toEqual([2])
  expect(await sessionsFor('migrate', { file: 'src/migrate.ts' })).toEqual(['tools'])
  expect(await sessionsFor('migrate', { until: now - 10 * day, since: 1 })).toEqual(['talk'])
})

test('a file that a session only edited is found by its name, and a speaker by what was said under that name', async () => {
  const edit = { type: 'tool_use', name: 'Edit', input: { file_path: '/home/dev/shop/src/priceTable.ts' } }
  const edited = session('edited', ['please round the totals'])
  writeFileSync(
    edited.path,
    `${JSON.stringify({ type: 'assistant', message: { role: 'assistant', content: [edit] } })}\n`,
    { flag: 'a' },
  )
  const spoken = [
    session('ada', ['Ada: the anchor is too heavy', 'Grace: it is not']),
    session('grace', ['Grace: the anchor is too heavy']),
  ]
  await indexSources(index, [edited, ...spoken], { redact })
  for (const file of index.withoutTools()) while (await addSomeTools(index, file, redact));
  expect(await sessionsFor('priceTable.ts')).toEqual(['edited'])
  expect(await sessionsFor('price table totals')).toEqual(['edited'])
  expect((await sessionsFor('What did Ada say about the anchor?'))[0]).toBe('ada')
})

test('a session is found by its title', async () => {
  const titled = session('titled', ['please look at this'])
  const title = { type: 'custom-title', customTitle: 'Billing migration', sessionId: 'titled' }
  writeFileSync(titled.path, `${JSON.stringify(title)}\n`, { flag: 'a' })
  await indexSources(index, [titled, session('other', ['a migration of birds'])], { redact })
  expect(await sessionsFor('billing migration')).toEqual(['titled', 'other'])
})

test('a filter by program finds the sessions of that program, and those of Claude Code', async () => {
  const sources = (['claude', 'codex'] as const).map((agentKind) =>
    session(agentKind, [`the heron of ${agentKind}`], { agentKind }),
  )
  await indexSources(index, sources, { redact })
  expect(await sessionsFor('heron', { agentKind: 'codex' })).toEqual(['codex'])
  expect(await sessionsFor('heron', { agentKind: 'claude' })).toEqual(['claude'])
  expect(await sessionsFor('heron', { agentKind: 'pi' })).toEqual([])
  expect(new Set((await find('heron')).map(({ agentKind }) => agentKind))).toEqual(
    new Set(['claude', 'codex']),
  )
})

test('a hit says what its rank is made of, if that is asked', async () => {
  await indexSources(index, [session('one', ['the heron wades'])], { redact })
  expect((await find('heron stork', { explain: true }))[0]!.why).toEqual([
    expect.stringMatching(/^heron: \d+ % of the weight, length × /),
    expect.stringMatching(/^recent and near × 1\.0/),
    expect.stringMatching(/^its session: \d+ % of the words/),
  ])
  expect((await find('heron'))[0]!.why).toBeUndefined()
})
