// Search as people and agents meet it: over chats, sessions of Claude Code and notes, in a command and in the gateway.
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import type { Log } from '../src/domain/log.ts'
import { makeRedactor } from '../src/domain/redact.ts'
import { operationTools } from '../src/operations/agent-tools.ts'
import type { App } from '../src/operations/app.ts'
import type { Caller } from '../src/operations/operation.ts'
import { perform } from '../src/operations/all.ts'
import type { SearchOutput } from '../src/operations/search/search-sessions.ts'
import { findInSessions } from '../src/coding/queue/choose.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { storeChannelToken } from '../src/store/channel-tokens.ts'
import { openLog } from '../src/store/log-file.ts'
import { writeHookToken } from '../src/store/gateway-tokens.ts'

let home: string
let app: App
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent = (agentId: string): Caller => ({ via: 'mcp', scopes: ['read', 'write'], agentId })

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-search-'))
  app = await open()
})
afterEach(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

function open(log?: Log, memory: Record<string, unknown> = {}): Promise<App> {
  mkdirSync(join(home, 'state'), { recursive: true })
  const config = {
    memory: { meaning: { use: 'none' }, ...memory },
    agents: { list: [{ id: 'main', default: true }, { id: 'support' }] },
  }
  writeFileSync(join(home, 'state', 'rockpool.json'), JSON.stringify(config))
  const environment = readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') })
  return openApp(environment, { version: '0.0.0-test', log })
}

const nativeId = '11111111-2222-4333-8444-555555555555'

function nativeFile(sessionId = nativeId): string {
  const folder = join(home, '.claude', 'projects', '-home-dev-boats')
  mkdirSync(folder, { recursive: true })
  return join(folder, `${sessionId}.jsonl`)
}

function nativeLine(
  role: 'user' | 'assistant',
  content: unknown,
  sessionId = nativeId,
  at = Date.parse('2026-11-14T10:00:00.000Z'),
): string {
  const place = { cwd: '/home/dev/boats', sessionId, version: '2.1.325', gitBranch: 'feature/sails' }
  const message = { role, content, ...(role === 'assistant' ? { id: 'msg_1', model: 'claude-x' } : {}) }
  return `${JSON.stringify({ parentUuid: null, type: role, message, uuid: crypto.randomUUID(), timestamp: new Date(at).toISOString(), ...place })}\n`
}

async function say(agentId: string, key: string, text: string, sessionId: string): Promise<void> {
  await app.storage
    .sessions(agentId)
    .update(key, (entry) => ({ updatedAt: app.clock.now(), channel: 'telegram', ...entry, sessionId }))
  const message = { role: 'user' as const, content: text, timestamp: app.clock.now() }
  await app.storage
    .transcripts(agentId)
    .append({ sessionId }, [{ type: 'message', message }], { cwd: '/', key })
}

async function find(
  query: string,
  more: Record<string, unknown> = {},
  caller = operator,
): Promise<SearchOutput> {
  return (await perform(app, 'sessions.search', { query, ...more }, caller)) as SearchOutput
}

test('one search finds a chat, a Claude Code session and a note, and says where each is', async () => {
  await say('main', 'agent:main:main', 'Where is the lighthouse keeper?', 'chat-1')
  writeFileSync(
    nativeFile(),
    nativeLine('user', 'Paint the lighthouse red') +
      nativeLine('assistant', [{ type: 'text', text: 'It is red now.' }]),
  )
  await perform(app, 'memory.add', { text: 'The lighthouse is at Cape Horn.' }, operator)
  const { hits, total } = await find('lighthouse')
  expect(total).toBe(3)
  expect(Map.groupBy(hits, ({ source }) => source)).toEqual(
    new Map(
      [
        [
          'rockpool',
          [
            expect.objectContaining({
              sessionId: 'chat-1',
              sessionKey: 'agent:main:main',
              channel: 'telegram',
              role: 'user',
              line: 2,
              repoPath: '',
            }),
          ],
        ],
        [
          'native',
          [
            expect.objectContaining({
              sessionId: nativeId,
              repoPath: '/home/dev/boats',
              branch: 'feature/sails',
              line: 1,
              snippet: 'Paint the lighthouse red',
            }),
          ],
        ],
        ['memory', [expect.objectContaining({ role: 'memory', snippet: 'The lighthouse is at Cape Horn.' })]],
      ].sort(
        (a, b) => hits.findIndex((hit) => hit.source === a[0]) - hits.findIndex((hit) => hit.source === b[0]),
      ) as never,
    ),
  )
  expect((await find('lighthouse', { channel: 'telegram' })).hits).toMatchObject([{ sessionId: 'chat-1' }])
  expect((await find('lighthouse', { repo: '/home/dev' })).hits).toMatchObject([{ sessionId: nativeId }])
  // By a link to it, and with its worktrees.
  const tree = join(home, 'boats')
  mkdirSync(join(tree, '.git', 'worktrees', 'old'), { recursive: true })
  writeFileSync(join(tree, '.git', 'worktrees', 'old', 'gitdir'), '/home/dev/boats/.git\n')
  symlinkSync(tree, join(home, 'link'))
  expect((await find('lighthouse', { repo: join(home, 'link') })).hits).toMatchObject([
    { sessionId: nativeId },
  ])
  expect((await find('lighthouse', { repo: '/home/dev/boat' })).hits).toEqual([])
  expect((await find('lighthouse', { source: 'memory' })).hits).toHaveLength(1)
  expect((await find('lighthouse', { since: '2026-11-14T00:00:00Z', role: 'user' })).hits).toHaveLength(2)
})

test('the weight of a word does not tell an agent whether others have said it', async () => {
  await say('main', 'agent:main:main', 'puffins on the harbour wall', 'chat-1')
  await say('support', 'agent:support:main', 'nothing of it here', 'chat-2')
  const asked = async (caller: Caller) => {
    const { hits, suggestion } = await find('puffins plovertwo', { explain: true }, caller)
    return { suggestion, hits: hits.map(({ why }) => why!.filter((reason) => reason.includes('weight'))) }
  }
  const before = await asked(agent('main'))
  expect(before.hits[0]![0]).toContain('puffins: ')
  const beforeOfOperator = await asked(operator)
  for (const text of ['the plovertwo is', 'said again: plovertwo'])
    await say('support', 'agent:support:main', text, 'chat-2')
  expect((await find('plovertwo', {}, agent('support'))).total).toBe(2)
  const share = (found: typeof before): string => /: (\d+ %)/.exec(found.hits.at(-1)![0]!)![1]!
  expect(share(await asked(agent('main')))).toBe(share(before))
  expect(share(await asked(operator))).not.toBe(share(beforeOfOperator))
})

test('an agent finds its own chats and notes, and nothing of another agent or without an agent', async () => {
  await say('main', 'agent:main:main', 'the albatross of main', 'chat-1')
  await say('support', 'agent:support:main', 'the albatross of support', 'chat-2')
  writeFileSync(nativeFile(), nativeLine('user', 'the albatross of nobody'))
  await perform(app, 'memory.add', { text: 'albatross note of support', agent: 'support' }, operator)
  expect((await find('albatross')).total).toBe(4)
  expect((await find('albatross', {}, agent('main'))).hits).toMatchObject([{ sessionId: 'chat-1' }])
  expect((await find('albatross', {}, agent('support'))).total).toBe(2)
  expect((await find('alba.*', { regex: true }, agent('main'))).hits).toMatchObject([{ sessionId: 'chat-1' }])
  await expect(find('albatross', { agent: 'support' }, agent('main'))).rejects.toMatchObject({
    code: 'forbidden',
  })
  await expect(
    perform(app, 'memory.show', { name: 'memory', agent: 'support' }, agent('main')),
  ).rejects.toMatchObject({ code: 'not-found' })
})

test('a word that nobody said and no model knows finds nothing; a near word that was said is suggested', async () => {
  await say('main', 'agent:main:main', 'The flaky test of the harbour fails again', 'chat-1')
  await say('main', 'agent:main:main', 'Postgres migration of the tides', 'chat-1')
  await app.search().refresh()
  for (const nonsense of ['zzzzqq', 'hjkl', 'abcd1234', 'lorem ipsum'])
    expect(await find(nonsense)).toEqual({ tookMs: expect.any(Number), total: 0, hits: [], notes: [] })
  expect(await find('flakey')).toMatchObject({ total: 0, suggestion: 'flaky' })
  expect(await find('FLAKEY harbour')).toMatchObject({ total: 1, suggestion: 'flaky harbour' })
  expect(await find('posgres')).toMatchObject({ suggestion: 'postgres' })
  expect(await find('migraton')).toMatchObject({ suggestion: 'migration' })
  // What is found needs no suggestion; nor do a beginning and a phrase, which are meant as they are.
  for (const query of ['flaky', 'migrations', 'harbo', 'flakei*', '"flakey test"'])
    expect((await find(query)).suggestion).toBeUndefined()
})

test('a suggestion is a word of a session that the caller may see', async () => {
  await say('main', 'agent:main:main', 'nothing but gulls', 'chat-1')
  await say('support', 'agent:support:main', 'the cormorant dives', 'chat-2')
  writeFileSync(nativeFile(), nativeLine('user', 'a pelican of nobody'))
  const suggested = async (query: string, caller?: Caller) => (await find(query, {}, caller)).suggestion
  expect(await suggested('cormorrant')).toBe('cormorant')
  expect(await suggested('cormorrant', agent('support'))).toBe('cormorant')
  expect(await suggested('cormorrant', agent('main'))).toBeUndefined()
  expect(await suggested('pelicann')).toBe('pelican')
  expect(await suggested('pelicann', agent('support'))).toBeUndefined()
  // Whether another session has the word itself must not show either.
  await say('main', 'agent:main:main', 'the pelicans of main', 'chat-1')
  await say('support', 'agent:support:main', 'a pelicanx of support', 'chat-2')
  expect(await suggested('pelicanx', agent('main'))).toBe('pelicans')
})

test('a session that gets an owner later is found by that owner', async () => {
  writeFileSync(nativeFile(), nativeLine('user', 'whose cormorant is it'))
  expect((await find('cormorant', {}, agent('main'))).total).toBe(0)
  await app.storage.sessions('main').update('agent:main:main', () => ({
    sessionId: 'chat-1',
    sdkSessionId: nativeId,
    updatedAt: app.clock.now(),
  }))
  await app.close()
  app = await open()
  expect((await find('cormorant', {}, agent('main'))).hits).toMatchObject([
    { sessionId: nativeId, agentId: 'main' },
  ])
})

test('a chat is found once, though Claude keeps a transcript of it too; what only Claude has is found there', async () => {
  await say('main', 'agent:main:main', 'The osprey nests on the mast', 'chat-1')
  await app.storage
    .sessions('main')
    .update('agent:main:main', (entry) => entry && { ...entry, sdkSessionId: nativeId })
  const later = Date.now() + 3_600_000
  writeFileSync(
    nativeFile(),
    nativeLine('user', 'Telegram, Ada: The osprey nests on the mast', nativeId, Date.now() + 3_000) +
      nativeLine('user', 'in the terminal, of an osprey', nativeId, later),
  )
  const once = [{ sessionId: 'chat-1', source: 'rockpool' }]
  const alone = { sessionId: nativeId, source: 'native', line: 2 }
  expect(await find('osprey mast')).toMatchObject({ hits: [...once, alone] })
  expect(await find('"osprey nests"')).toMatchObject({ total: 1, hits: once })
  expect(await find('osprey.*mast', { regex: true })).toMatchObject({ total: 1, hits: [{}] })
  expect(await find('"osprey nests"', { source: 'native' })).toMatchObject({ hits: [{ line: 1 }] })
  // After a reset no row says whose record it was.
  await app.storage.sessions('main').update('agent:main:main', () => ({ sessionId: 'chat-2', updatedAt: 1 }))
  await app.close()
  app = await open()
  expect(await find('"osprey nests"')).toMatchObject({ total: 1, hits: once })
})

test('sessions about the same subject as a session are found, and not that session', async () => {
  const other = '11111111-2222-4333-8444-666666666666'
  writeFileSync(nativeFile(), nativeLine('user', 'Paint the lighthouse red'))
  writeFileSync(nativeFile(other), nativeLine('user', 'Which red paint for the lighthouse?', other))
  const found = await perform(app, 'cc.similar', { id: nativeId }, operator)
  expect((found as SearchOutput).hits.map(({ sessionId }) => sessionId)).toEqual([other])
  await expect(perform(app, 'cc.similar', { id: nativeId }, agent('main'))).rejects.toMatchObject({
    code: 'not-found',
  })
})

test('text without spaces is found by one, two and more characters, paths and symbols by any part', async () => {
  await say('main', 'agent:main:main', '明日は東京タワーへ行きます', 'chat-1')
  await say('main', 'agent:main:main', 'look at src/store/searchIndexFile.ts:42 and kAbc$def', 'chat-1')
  for (const query of ['東', '東京', 'タワー', '京タワーへ', '行きます'])
    expect((await find(query)).total, query).toBe(1)
  expect((await find('大阪')).total).toBe(0)
  for (const query of ['store/searchIndex', 'archIndexFi', 'File.ts:42', 'bc$de'])
    expect((await find(query)).total, query).toBe(1)
  expect((await find('store/indexSearch')).hits).toEqual([])
})

test('a search says when its filters leave nothing of what there is, and that a query is too long', async () => {
  await say('main', 'agent:main:main', 'feed the gannet', 'chat-1')
  const { notes } = await find('gannet', { role: 'assistant', agentKind: 'codex' })
  expect(notes).toContain('Without --role and --agent-kind there is 1 place.')
  expect((await find('puffin', { role: 'assistant' })).notes.join()).not.toContain('Without')
  const many = Array.from({ length: 40 }, (_, i) => `gannet${i}`).join(' ')
  expect((await find(`gannet ${many}`)).notes).toContain('Only the first 31 words were searched for.')
})

test('a regular expression finds what words do not, and a wrong one is refused', async () => {
  await say('main', 'agent:main:main', 'TODO(ada): feed the gannet', 'chat-1')
  const { hits } = await find('todo\\(\\w+\\)', { regex: true })
  expect(hits).toMatchObject([{ snippet: 'TODO(ada): feed the gannet', by: ['regex'] }])
  await expect(find('(', { regex: true })).rejects.toMatchObject({ code: 'input-invalid' })
})

test('while the gateway follows, a message and a note are found within a second', async () => {
  writeFileSync(nativeFile(), nativeLine('user', 'hello'))
  const stop = await app.search().follow()
  await app.search().refresh()
  // The folder of the notes is not there yet: neither the first nor the second note waits for a round.
  for (const bird of ['puffin', 'razorbill']) {
    await perform(app, 'memory.add', { text: `a ${bird} was seen` }, operator)
    await expect.poll(async () => (await find(bird)).total, { interval: 50 }).toBe(1)
  }
  const folder = join(app.paths.workspace('main'), 'memory', 'islands')
  mkdirSync(folder)
  writeFileSync(join(folder, 'north.md'), 'a fulmar nests there')
  await expect.poll(async () => (await find('fulmar')).total, { interval: 50 }).toBe(1)
  await say('main', 'agent:main:main', 'the kittiwake has landed', 'chat-1')
  await expect.poll(async () => (await find('kittiwake')).total, { interval: 50 }).toBe(1)
  // What a reset sets aside is found at its new path, and again in its place.
  const placesOfKittiwake = async (): Promise<string[]> =>
    (await find('kittiwake')).hits.map(({ path }) => path)
  await perform(app, 'sessions.reset', { key: 'agent:main:main' }, operator)
  await expect.poll(placesOfKittiwake, { interval: 50 }).toEqual([expect.stringContaining('.jsonl.reset.')])
  await perform(app, 'sessions.restore', { ref: 'chat-1' }, operator)
  await expect.poll(placesOfKittiwake, { interval: 50 }).toEqual([expect.stringMatching(/chat-1\.jsonl$/)])
  appendFileSync(nativeFile(), nativeLine('assistant', [{ type: 'text', text: 'a guillemot too' }]))
  app.events.emit({ type: 'native-changed', sessionId: nativeId, why: 'test' })
  await expect.poll(async () => (await find('guillemot')).total, { interval: 50 }).toBe(1)
  appendFileSync(
    nativeFile(),
    nativeLine('user', [{ type: 'tool_result', tool_use_id: 't', content: 'output with petrel' }]),
  )
  app.events.emit({ type: 'native-changed', sessionId: nativeId, why: 'test' })
  await expect
    .poll(async () => (await find('petrel')).hits, { interval: 50 })
    .toMatchObject([{ role: 'tool' }])
  await expect
    .poll(async () => (await app.search().status()).withPieces, { timeout: 5_000 })
    .toBeGreaterThanOrEqual(7)
  await stop()
}, 20_000)

test('while the gateway follows, notes of an agent that was just added are found within a second', async () => {
  const stop = await app.search().follow()
  // All folders of the agents that are known have notes: none is waited for.
  for (const id of ['main', 'support']) {
    await perform(app, 'memory.add', { text: `a whimbrel for ${id}`, agent: id }, operator)
    mkdirSync(join(app.paths.agent(id), 'memory'), { recursive: true })
  }
  await expect.poll(async () => (await find('whimbrel')).total, { interval: 50 }).toBe(2)
  await app.search().refresh()
  await perform(app, 'agents.add', { id: 'later' }, operator)
  await expect.poll(() => app.agentIds(), { interval: 10 }).toContain('later')
  await perform(app, 'memory.add', { text: 'a dunlin was seen', agent: 'later' }, operator)
  await expect.poll(async () => (await find('dunlin')).total, { interval: 50 }).toBe(1)
  await stop()
})

test('a link in place of the index is named, with a way on', async () => {
  await app.close()
  rmSync(app.paths.searchIndex, { force: true })
  mkdirSync(dirname(app.paths.searchIndex), { recursive: true })
  symlinkSync(join(home, 'elsewhere.sqlite'), app.paths.searchIndex)
  app = await open()
  await expect(find('avocet')).rejects.toMatchObject({
    message: expect.stringContaining('search.sqlite is a link'),
    hint: expect.stringContaining('remove the link'),
  })
})

test('a repository is named by its path or by its name in lists', async () => {
  writeFileSync(nativeFile(), nativeLine('user', 'the avocet wades'))
  expect((await find('avocet', { repo: 'boats' })).total).toBe(1)
  expect((await find('avocet', { repo: '/home/dev/boats' })).total).toBe(1)
  expect((await find('avocet', { repo: 'boat' })).total).toBe(0)
})

test('how many places there are does not depend on how many are shown, copies and all', async () => {
  const other = '11111111-2222-4333-8444-666666666666'
  const lines = (id: string): string =>
    Array.from({ length: 8 }, (_, i) => nativeLine('user', `the curlew ${i % 5} flies`, id)).join('')
  writeFileSync(nativeFile(), lines(nativeId))
  writeFileSync(nativeFile(other), lines(other))
  for (const limit of [1, 2, 3, 20]) expect(await find('curlew', { limit })).toMatchObject({ total: 5 })
  expect((await find('curlew', { tool: 'Edit' })).notes).toContain('Without --tool there are 5 places.')
})

test('while the gateway follows, what is said to another agent is found without waiting for a round', async () => {
  const file = join(home, '.pi/agent/sessions/--home-dev-boats--/2026-11-16T14-19-46-545Z_01a1e4ba.jsonl')
  const said = (role: string, text: string, at: string): string =>
    `${JSON.stringify({ type: 'message', id: at, timestamp: `2026-11-16T14:${at}.000Z`, message: { role, content: [{ type: 'text', text }] } })}\n`
  mkdirSync(dirname(file), { recursive: true })
  const head = {
    type: 'session',
    version: 3,
    id: '01a1e4ba',
    timestamp: '2026-11-16T14:19:46.545Z',
    cwd: '/boats',
  }
  writeFileSync(file, `${JSON.stringify(head)}\n${said('user', 'Where does the gannet dive?', '20:00')}`)
  const endWatching = await app
    .discovery()
    .watch((sessionId, why) => app.events.emit({ type: 'native-changed', sessionId, why }))
  const stop = await app.search().follow()
  await app.search().refresh()
  expect((await find('gannet')).hits).toMatchObject([{ agentKind: 'pi' }])
  const [copy] = (await find('gannet')).hits
  appendFileSync(file, said('assistant', 'Near the skerry.', '21:00'))
  await expect.poll(async () => (await find('skerry')).hits, { timeout: 5_000 }).toHaveLength(1)
  // The copy has grown, so the index knows the first message as before.
  expect((await find('gannet')).hits).toMatchObject([{ path: copy!.path, line: 1 }])
  await stop()
  await endWatching()
}, 20_000)

/** Twelve kinds, none of them real. */
const secrets: Record<string, string> = {
  anthropic: `sk-ant-api03-${'Ab1-'.repeat(12)}xyz`,
  openai: `sk-proj-${'Zz9'.repeat(16)}`,
  github: `ghp_${'q7W'.repeat(12)}`,
  githubFine: `github_pat_${'k3L'.repeat(14)}`,
  gitlab: `glpat-${'m5N'.repeat(7)}`,
  slack: `xoxb-123456789012-${'p1Q'.repeat(8)}`,
  google: `AIza${'r2S'.repeat(11)}xy`,
  aws: 'AKIAQWERTYUIOPASDFGH',
  npm: `npm_${'t4U'.repeat(12)}`,
  jwt: `eyJhbGciOiJIUzI1NiJ9.eyJ${'v6W'.repeat(9)}.${'x8Y'.repeat(9)}`,
  telegram: `123456789:AAHdqTcvCH1vGWJxf${'b3C'.repeat(6)}`,
  privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${'b3BlbnNzaC1rZXk'.repeat(4)}\n-----END OPENSSH PRIVATE KEY-----`,
}

test('twelve kinds of planted secrets are in no index, in no answer and in no line of the log', async () => {
  const kinds = Object.entries(secrets)
  await app.close()
  const file = join(home, 'state', 'logs', 'rockpool.log')
  app = await open(openLog({ level: 'debug', file, redactor: makeRedactor() }))
  const lines = kinds.map(([kind, secret]) => nativeLine('user', `the ${kind} canary is ${secret} so there`))
  const tools = kinds.map(([kind, secret]) =>
    nativeLine('user', [{ type: 'tool_result', tool_use_id: 't', content: `tool ${kind} says ${secret}` }]),
  )
  writeFileSync(nativeFile(), [...lines, ...tools].join(''))
  // What lists show of a session: its first and last prompt and its title; some are cut in the middle of a secret.
  kinds.forEach(([kind, secret], i) => {
    const id = `22222222-2222-4333-8444-${String(i).padStart(12, '0')}`
    const title = { type: 'custom-title', customTitle: `${kind} title ${secret}`, sessionId: id }
    const cut = `${'so '.repeat(120)}${secret}`
    const prompts = [secret, cut].map((text) => nativeLine('user', `headed ${kind} ${text}`, id))
    writeFileSync(nativeFile(id), `${prompts.join('')}${JSON.stringify(title)}\n`)
  })
  for (const [kind, secret] of kinds)
    await perform(app, 'memory.add', { text: `noted ${kind}: ${secret}` }, operator)
  const stop = await app.search().follow()
  await app.search().refresh()
  await expect.poll(async () => (await find('tool', { limit: 50 })).hits.length, { timeout: 10_000 }).toBe(12)
  await expect
    .poll(async () => (await app.search().status()).withPieces, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(60)
  const answers: unknown[] = []
  for (const query of ['canary', 'tool', 'noted', 'headed', '.*'])
    answers.push(await find(query, { limit: 200, regex: query === '.*' }))
  answers.push(await perform(app, 'cc.list', { limit: 200 }, operator))
  for (const [, secret] of kinds)
    answers.push(await find(secret.slice(0, 200)), await find(`"${secret.slice(4, 30)}"`))
  // What goes wrong is logged with its reason, and the reason may be anything that was said.
  const unsubscribe = app.events.on((event) => {
    if (event.type === 'native-changed') throw new Error(`cannot read ${event.why}`)
  })
  for (const [, why] of kinds) app.events.emit({ type: 'native-changed', sessionId: nativeId, why })
  unsubscribe()
  await stop()
  await app.close()
  const logged = readFileSync(file, 'utf8').trim().split('\n')
  expect(logged.filter((line) => line.includes('cannot read'))).toHaveLength(12)
  const folder = join(home, 'state', 'index')
  const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1').toLowerCase())
  kept.push(logged.join('\n').toLowerCase())
  for (const [kind, secret] of kinds) {
    // The distinctive part: the middle of the secret, as words and as the index would keep them.
    const part = secret
      .split(/[\n.:_-]+/)
      .sort((a, b) => b.length - a.length)[0]!
      .slice(0, 16)
    expect(JSON.stringify(answers).includes(part), `${kind} in an answer`).toBe(false)
    for (const text of kept)
      expect(text.includes(part.toLowerCase()), `${kind} in the index or the log`).toBe(false)
  }
  app = await open()
}, 40_000)

test('a secret that looks like none is taken out by its value: of hooks, and of channels wherever it is kept', async () => {
  await app.close()
  writeHookToken(join(home, 'state'), 'open-sesame-hooks')
  app = await open()
  const place = { channel: 'telegram', accountId: 'work' }
  storeChannelToken(place, 'no-usual-token', app.paths)
  writeFileSync(nativeFile(), nativeLine('user', 'a crake says open-sesame-hooks and no-usual-token'))
  expect((await find('crake')).hits).toMatchObject([
    { snippet: 'a crake says [redacted:hook-token] and [redacted:telegram-token]' },
  ])
  expect((await find('sesame')).hits).toEqual([])
})

test('without a gateway, what tools said is found as well', async () => {
  const result = [{ type: 'tool_result', tool_use_id: 't', content: 'a turnstone in the output' }]
  writeFileSync(nativeFile(), nativeLine('user', 'look') + nativeLine('user', result))
  expect((await find('turnstone')).hits).toMatchObject([{ role: 'tool', line: 2 }])
  appendFileSync(
    nativeFile(),
    nativeLine('user', [{ type: 'tool_result', tool_use_id: 't', content: 'and a dunlin' }]),
  )
  expect((await find('d.nlin', { regex: true, role: 'tool' })).hits).toMatchObject([{ line: 3 }])
})

test('a hit names its message, so that one can fork from there; what is near the asker comes first', async () => {
  const line = nativeLine('user', 'mend the oarlock')
  const other = '11111111-2222-4333-8444-666666666666'
  writeFileSync(nativeFile(), line)
  writeFileSync(
    nativeFile(other),
    nativeLine('user', 'mend the oarlock, quickly', other).replace('/home/dev/boats', '/home/dev/rafts'),
  )
  await say('main', 'agent:main:main', 'the oarlock of the chat', 'chat-1')
  const { hits } = await find('mend oarlock', { near: '/home/dev/boats/deck' })
  expect(hits[0]).toMatchObject({ sessionId: nativeId, messageId: JSON.parse(line).uuid })
  expect((await find('mend oarlock', { near: '/home/dev/rafts' })).hits[0]).toMatchObject({
    sessionId: other,
  })
  // What a choice of a session asks the index for.
  const findIn = findInSessions({ search: app.search(), clock: app.clock, log: app.log })
  expect(await findIn('the oarlock is loose', [other])).toEqual(
    new Map([[other, { text: 'mend the oarlock, quickly', relevance: expect.closeTo(0.1, 0) }]]),
  )
  expect((await findIn('the oarlock is loose', [other], Date.parse('2026-11-14T09:00:00Z'))).size).toBe(0)
  const beside = join(nativeFile().slice(0, -'.jsonl'.length), 'subagents')
  mkdirSync(beside, { recursive: true })
  writeFileSync(join(beside, 'agent-1.jsonl'), nativeLine('user', 'look for the thole pin'))
  const [below] = (await find('thole pin')).hits
  expect(below).toMatchObject({ sessionId: nativeId, messageId: undefined })
  const [entry] = (await app.storage.transcripts('main').tail({ sessionId: 'chat-1' }, 1)).entries
  expect((await find('oarlock chat', { source: 'rockpool' })).hits).toMatchObject([{ messageId: entry!.id }])
})

test('the index can be deleted: it is rebuilt with the same content, and reports its progress', async () => {
  writeFileSync(nativeFile(), nativeLine('user', 'a wheatear on the wall'))
  await perform(app, 'memory.add', { text: 'the wheatear is back' }, operator)
  expect((await find('wheatear')).total).toBe(2)
  const matching = { sources: 2, passages: 3, spoken: 3, lack: expect.stringMatching(/switched off/) }
  expect(await perform(app, 'memory.status', {}, operator)).toMatchObject(matching)
  const stop = await app.search().follow()
  await app.search().refresh()
  expect(await perform(app, 'memory.rebuild', {}, operator)).toMatchObject({ files: 2, passages: 3 })
  expect((await find('wheatear')).total).toBe(2)
  await stop()
  expect(await perform(app, 'memory.rebuild', {}, operator)).toMatchObject({ files: 2, passages: 3 })
  expect(await perform(app, 'memory.status', {}, operator)).toMatchObject(matching)
  await expect(perform(app, 'memory.rebuild', {}, agent('main'))).rejects.toMatchObject({ code: 'forbidden' })
}, 20_000)

test('an index that is deleted or damaged under a running gateway is rebuilt, and still filled', async () => {
  await say('main', 'agent:main:main', 'the first razorbill', 'chat-1')
  const stop = await app.search().follow()
  try {
    await app.search().refresh()
    expect(await find('razorbill')).toMatchObject({ total: 1 })
    const file = app.paths.searchIndex
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    await expect.poll(async () => (await find('razorbill')).total, { timeout: 10_000 }).toBe(1)
    await say('main', 'agent:main:main', 'the second razorbill', 'chat-1')
    await expect.poll(async () => (await find('razorbill')).total, { timeout: 10_000 }).toBe(2)
    await perform(app, 'memory.rebuild', {}, operator)
    expect(await find('razorbill')).toMatchObject({ total: 2 })
    // Nothing is left to do, and everything is in the file itself.
    await expect
      .poll(async () => await app.search().status(), { timeout: 10_000 })
      .toMatchObject({ passages: 2, withPieces: 2, withoutTools: 0 })
    const other = new DatabaseSync(file)
    const empty = (): unknown => other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    await expect.poll(empty, { timeout: 10_000 }).toMatchObject({ busy: 0 })
    other.close()
    const bytes = readFileSync(file)
    const fd = openSync(file, 'r+')
    writeSync(fd, Buffer.alloc(bytes.length - 4_096, 0xa5), 0, bytes.length - 4_096, 4_096)
    closeSync(fd)
    await expect.poll(async () => (await find('razorbill')).total, { timeout: 10_000 }).toBe(2)
    expect(readFileSync(file).subarray(4_096).includes(Buffer.alloc(2_048, 0xa5))).toBe(false)
  } finally {
    await stop()
  }
}, 40_000)

test('folders that the configuration names are listed, shown and found by every agent', async () => {
  await app.close()
  const folder = join(home, 'handbook', 'harbour')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tides.md'), 'High water at noon.')
  app = await open(undefined, { folders: [join(home, 'handbook')] })
  expect(await perform(app, 'memory.list', {}, agent('support'))).toMatchObject({
    notes: [{ agentId: '*', name: 'handbook/harbour/tides.md' }],
  })
  expect(await perform(app, 'memory.show', { name: 'tides' }, agent('support'))).toMatchObject({
    text: 'High water at noon.',
  })
  expect(await perform(app, 'memory.search', { query: 'noon' }, agent('support'))).toMatchObject({ total: 1 })
})

test('notes are listed and shown, and adding keeps what is there', async () => {
  await perform(app, 'memory.add', { text: 'first' }, operator)
  await perform(app, 'memory.add', { text: 'second' }, operator)
  const { notes } = (await perform(app, 'memory.list', {}, operator)) as { notes: Array<{ name: string }> }
  expect(notes).toHaveLength(1)
  const { text } = (await perform(app, 'memory.show', { name: notes[0]!.name }, operator)) as { text: string }
  expect(text).toMatch(/^# \d{4}-\d\d-\d\d\n\nfirst\n\nsecond\n$/)
})

test('what a compaction removed can be asked for, of our sessions and of Claude’s', async () => {
  const key = 'agent:main:main'
  await say('main', key, 'the spare key is under the anchor', 'chat-1')
  await say('main', key, 'this stays', 'chat-1')
  const entries = (await app.storage.transcripts('main').tail({ sessionId: 'chat-1' }, 10)).entries
  const compaction = {
    type: 'compaction' as const,
    summary: 'talk about a key',
    firstKeptEntryId: entries.at(-1)!.id,
    tokensBefore: 100,
  }
  await app.storage.transcripts('main').append({ sessionId: 'chat-1' }, [compaction], { cwd: '/', key })
  const caller = { ...agent('main'), sessionKey: key }
  const lost = (await perform(app, 'sessions.lost', {}, caller)) as {
    compactions: number
    lines: Array<{ text: string }>
  }
  expect(lost).toMatchObject({
    compactions: 1,
    total: 1,
    lines: [{ role: 'user', text: 'the spare key is under the anchor' }],
  })
  expect(await perform(app, 'sessions.lost', { query: 'stays' }, caller)).toMatchObject({ total: 0 })
  // The same for the agent, by the names of its tools.
  const tools = await operationTools(caller.scopes, (each, input) => perform(app, each.name, input, caller))
  const call = async (name: string, input: Record<string, unknown>): Promise<string> =>
    (await tools.find((each) => each.name === name)!.call(input)).text
  expect(await call('recall_lost', { query: 'anchor' })).toContain('the spare key is under the anchor')
  expect(await call('sessions_search', { query: 'anchor' })).toContain('the spare key is under the anchor')
  expect(await call('sessions_search', { query: 'anchor', agent: 'support' })).toMatch(/not yours to see/)
  expect(await perform(app, 'sessions.history', { key, lost: true }, operator)).toMatchObject({
    entries: [{ type: 'message' }],
  })

  const boundary = `${JSON.stringify({ type: 'system', subtype: 'compact_boundary', timestamp: '2026-11-14T11:00:00Z', sessionId: nativeId })}\n`
  writeFileSync(
    nativeFile(),
    nativeLine('user', 'before the boundary') + boundary + nativeLine('user', 'after the boundary'),
  )
  expect(await perform(app, 'sessions.history', { key: nativeId, lost: true }, operator)).toMatchObject({
    entries: [{ message: { role: 'user', content: [{ type: 'text', text: 'before the boundary' }] } }],
  })
  await expect(perform(app, 'sessions.lost', { key: nativeId }, agent('support'))).rejects.toMatchObject({
    code: 'not-found',
  })
})
