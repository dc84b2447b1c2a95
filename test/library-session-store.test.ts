// The seeds' session functions, under the seeds' names, as somebody uses them who has only the library.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import {
  appendAssistantMessageToSessionTranscript,
  clearSessionStoreCacheForTest,
  incrementCompactionCount,
  loadSessionStore,
  persistSessionUsageUpdate,
  recordSessionMetaFromInbound,
  resolveDefaultSessionStorePath,
  resolveSessionTranscriptPath,
  resolveSessionTranscriptsDirForAgent,
  resolveStorePath,
  saveSessionStore,
  updateLastRoute,
  updateSessionStore,
  updateSessionStoreEntry,
  withSessionStoreLock,
} from '../src/index.ts'
import type { SessionEntry } from '../src/index.ts'
import { SqliteSessions } from '../src/store/sqlite/sessions.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-lib-'))
  path = join(folder, 'agents', 'main', 'sessions', 'sessions.json')
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const entry = (sessionId: string, updatedAt = 1): SessionEntry => ({ sessionId, updatedAt })

test('a missing store is empty, and saving makes it, ours alone, in the format of OpenClaw', async () => {
  expect(loadSessionStore(path)).toEqual({})
  const store = { 'agent:main:main': { ...entry('a'), extra: [1, { two: 2 }] } }
  await saveSessionStore(path, store)
  expect(readFileSync(path, 'utf8')).toBe(JSON.stringify(store, null, 2))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
  expect(existsSync(`${path}.lock`)).toBe(false)
})

test('what is loaded is a copy', async () => {
  await saveSessionStore(path, { k: entry('a') })
  loadSessionStore(path)['k']!.sessionId = 'changed'
  expect(loadSessionStore(path)['k']!.sessionId).toBe('a')
})

test('a file that another program replaced is read again at once; the cache can be turned off and cleared', async () => {
  await saveSessionStore(path, { k: entry('a') })
  const text = readFileSync(path, 'utf8')
  const { atime, mtime } = statSync(path)
  writeFileSync(path, text.replace('"a"', '"b"'))
  utimesSync(path, atime, mtime)
  expect(loadSessionStore(path)['k']!.sessionId).toBe('b')
  vi.stubEnv('OPENCLAW_SESSION_CACHE_TTL_MS', '0')
  expect(loadSessionStore(path, { skipCache: true })['k']!.sessionId).toBe('b')
  clearSessionStoreCacheForTest()
  expect(loadSessionStore(path)['k']!.sessionId).toBe('b')
})

test('updates at the same time are all in the result, also asynchronous ones', async () => {
  await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      updateSessionStore(path, async (store) => {
        await Promise.resolve()
        store[`k${i}`] = entry(`id${i}`)
      }),
    ),
  )
  expect(Object.keys(loadSessionStore(path))).toHaveLength(50)
})

test('an update gives what the mutator returns; one that throws changes nothing', async () => {
  expect(await updateSessionStore(path, (store) => Object.keys((store['k'] = entry('a'))).length)).toBe(2)
  const failing = updateSessionStore(path, (store) => {
    delete store['k']
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(loadSessionStore(path)).toEqual({ k: entry('a') })
})

test.each(['__proto__', 'constructor', 'hasOwnProperty'])('the key %s survives a reload', async (key) => {
  await updateSessionStore(path, (store) => {
    expect(store[key]).toBeUndefined()
    store[key] = entry('a')
  })
  clearSessionStoreCacheForTest()
  expect(loadSessionStore(path)[key]).toEqual(entry('a'))
  expect(({} as Record<string, unknown>)['sessionId']).toBeUndefined()
})

test('one entry is patched, never made older, and null leaves it as it is', async () => {
  const future = Date.now() + 1_000_000
  await saveSessionStore(path, { k: { ...entry('a', future), label: 'x' } })
  const patched = await updateSessionStoreEntry({
    storePath: path,
    sessionKey: 'k',
    update: async () => ({ model: 'm', updatedAt: 5 }),
  })
  expect(patched).toEqual({ sessionId: 'a', updatedAt: future, label: 'x', model: 'm' })
  expect(
    await updateSessionStoreEntry({ storePath: path, sessionKey: 'k', update: async () => null }),
  ).toEqual(patched)
  expect(
    await updateSessionStoreEntry({ storePath: path, sessionKey: 'none', update: async () => ({}) }),
  ).toBeNull()
})

test('the lock keeps others out, and the store can be changed inside it', async () => {
  const order: string[] = []
  await Promise.all([
    withSessionStoreLock(path, async () => {
      order.push('in')
      await Promise.all(
        ['inside', 'too'].map((key) => updateSessionStore(path, (store) => void (store[key] = entry('a')))),
      )
      await withSessionStoreLock(path, async () => order.push('again'))
      order.push('out')
    }),
    updateSessionStore(path, (store) => {
      order.push('other')
      store['other'] = entry('b')
    }),
  ]).catch((error: unknown) => {
    throw error
  })
  expect(order.indexOf('out') - order.indexOf('in')).toBe(2)
  expect(Object.keys(loadSessionStore(path)).sort()).toEqual(['inside', 'other', 'too'])
})

test('an update inside an update is refused, because neither could end', async () => {
  const nested = updateSessionStore(path, () => updateSessionStore(path, () => {}))
  await expect(nested).rejects.toMatchObject({ code: 'refused' })
  await updateSessionStore(path, (store) => void (store['k'] = entry('a')))
  rmSync(folder, { recursive: true })
  await updateSessionStore(path, (store) => void (store['k'] = entry('b')))
  expect(loadSessionStore(path)).toEqual({ k: entry('b') })
})

test('a lock that is held too long gives an error that names the holder', async () => {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(`${path}.lock`, JSON.stringify({ pid: process.pid, startedAt: Date.now() }))
  const waiting = withSessionStoreLock(path, async () => {}, { timeoutMs: 60, pollIntervalMs: 5 })
  await expect(waiting).rejects.toMatchObject({
    code: 'locked',
    message: expect.stringContaining(`process ${process.pid}`),
  })
})

test('paths are where the seeds draw them, and hostile names are refused', () => {
  vi.stubEnv('ROCKPOOL_STATE_DIR', '/state')
  vi.stubEnv('HOME', '/home/u')
  expect(resolveDefaultSessionStorePath()).toBe('/state/agents/main/sessions/sessions.json')
  expect(resolveDefaultSessionStorePath('codex')).toBe('/state/agents/codex/sessions/sessions.json')
  expect(resolveSessionTranscriptsDirForAgent('codex')).toBe('/state/agents/codex/sessions')
  expect(resolveSessionTranscriptPath('abc')).toBe('/state/agents/main/sessions/abc.jsonl')
  expect(resolveSessionTranscriptPath('abc', 'codex', '12/3')).toBe(
    '/state/agents/codex/sessions/abc-topic-12%2F3.jsonl',
  )
  expect(resolveStorePath()).toBe('/state/agents/main/sessions/sessions.json')
  expect(resolveStorePath('~/x/{agentId}/s.json', { agentId: 'codex' })).toBe('/home/u/x/codex/s.json')
  for (const id of [
    '.',
    '..',
    '',
    'x'.repeat(256),
    'con',
    'a\0b',
    'a\nb',
    '-rf',
    '.hidden',
    'a.jsonl',
    '../../etc/passwd',
    'a/b',
    'é',
  ])
    expect(() => resolveSessionTranscriptPath(id), id).toThrow(/not a session id|names no transcript/)
  for (const agentId of ['../x', 'main/../x', 'MAIN', 'ma in', '__proto__', 'node_modules', '']) {
    expect(() => resolveDefaultSessionStorePath(agentId), agentId).toThrow(
      /not an agent id|cannot be an agent id/,
    )
    expect(() => resolveStorePath('/x/{agentId}/s.json', { agentId }), agentId).toThrow(
      /not an agent id|cannot be an agent id/,
    )
  }
})

test('a message leaves in the row what OpenClaw would have left', async () => {
  const recorded = JSON.parse(
    readFileSync('test/fixtures/openclaw/made-by-peer-code/agents/main/sessions/sessions.json', 'utf8'),
  ) as Record<string, SessionEntry>
  const record = (sessionKey: string, ctx: Parameters<typeof recordSessionMetaFromInbound>[0]['ctx']) =>
    recordSessionMetaFromInbound({ storePath: path, sessionKey, ctx })
  const group = 'agent:main:whatsapp:group:120363000000000000@g.us'
  expect(
    await record(group, {
      From: '120363000000000000@g.us',
      To: '+15555550100',
      Provider: 'whatsapp',
      Surface: 'whatsapp',
      ChatType: 'group',
      AccountId: 'default',
      GroupSubject: 'Family 🦞',
      ConversationLabel: 'Family 🦞 id:120363000000000000@g.us',
    }),
  ).toMatchObject(metaOf(recorded[group]!))
  const thread = 'agent:main:slack:channel:c1:thread:t123'
  expect(
    await record(thread, {
      From: 'slack:channel:C1',
      To: 'channel:C1',
      Provider: 'slack',
      Surface: 'slack',
      ChatType: 'channel',
      AccountId: 'default',
      MessageThreadId: 't123',
      GroupChannel: '#general',
      GroupSpace: 'Acme',
      ConversationLabel: '#general',
    }),
  ).toMatchObject({ ...metaOf(recorded[thread]!), groupId: expect.stringMatching(/^c1$/i) })
  expect(
    await recordSessionMetaFromInbound({
      storePath: path,
      sessionKey: 'none',
      ctx: { From: 'x' },
      createIfMissing: false,
    }),
  ).toBeNull()
})

function metaOf({
  chatType,
  channel,
  groupId,
  subject,
  groupChannel,
  space,
  displayName,
  origin,
}: SessionEntry): object {
  const meta = { chatType, channel, groupId, subject, groupChannel, space, displayName, origin }
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined))
}

test('the last route is kept in all fields that say it, also when a row says it in the words of a seed', async () => {
  await saveSessionStore(path, {
    k: { ...entry('a'), deliveryContext: { channel: 'telegram', target: '1001', account: 'work' } as never },
  })
  const same = await updateLastRoute({ storePath: path, sessionKey: 'k', channel: 'telegram', threadId: 7 })
  expect(same).toMatchObject({
    deliveryContext: { channel: 'telegram', to: '1001', accountId: 'work', threadId: 7 },
    lastChannel: 'telegram',
    lastTo: '1001',
    lastAccountId: 'work',
    lastThreadId: 7,
  })
  const other = await updateLastRoute({ storePath: path, sessionKey: 'k', channel: 'discord', to: 'c9' })
  expect(other.deliveryContext).toEqual({ channel: 'discord', to: 'c9' })
  expect(other.lastThreadId).toBeUndefined()
})

test('compactions are counted in the store, and the context after one is known or marked as unknown', async () => {
  await saveSessionStore(path, { k: { ...entry('a'), compactionCount: 4, totalTokens: 9 } })
  const sessionStore = { k: entry('a') }
  expect(
    await incrementCompactionCount({ storePath: path, sessionKey: 'k', sessionStore, tokensAfter: 1200 }),
  ).toBe(5)
  expect(loadSessionStore(path)['k']).toMatchObject({
    compactionCount: 5,
    totalTokens: 1200,
    totalTokensFresh: true,
  })
  expect(await incrementCompactionCount({ storePath: path, sessionKey: 'k', sessionStore })).toBe(6)
  expect(loadSessionStore(path)['k']!.totalTokensFresh).toBe(false)
  expect(await incrementCompactionCount({ storePath: path })).toBeUndefined()
})

test('usage adds up, and the occupancy is that of the last call', async () => {
  await saveSessionStore(path, { k: entry('a') })
  const usage = { input: 100, output: 50, cacheRead: 10, cacheWrite: 5 }
  await persistSessionUsageUpdate({
    storePath: path,
    sessionKey: 'k',
    usage,
    modelUsed: 'm',
    providerUsed: 'anthropic',
    contextTokensUsed: 200_000,
    cliSessionId: 'sdk-1',
  })
  await persistSessionUsageUpdate({
    storePath: path,
    sessionKey: 'k',
    usage,
    lastCallUsage: { input: 7, cacheRead: 3 },
  })
  expect(loadSessionStore(path)['k']).toMatchObject({
    inputTokens: 200,
    outputTokens: 100,
    cacheRead: 20,
    cacheWrite: 10,
    totalTokens: 10,
    totalTokensFresh: true,
    model: 'm',
    modelProvider: 'anthropic',
    contextTokens: 200_000,
    cliSessionIds: { anthropic: 'sdk-1' },
  })
})

test('where a database stands beside the file, the database is read and changed', async () => {
  const program = new SqliteSessions({
    agentId: 'main',
    database: join(path, '..', 'sessions.sqlite'),
    mirror: path,
    clock: systemClock,
    log: silentLog,
  })
  await program.update('agent:main:main', () => ({ ...entry('a'), n: 0 }))
  expect(loadSessionStore(path)['agent:main:main']).toEqual({ ...entry('a'), n: 0 })
  const one = (): Promise<unknown> =>
    updateSessionStore(path, async (store) => {
      const before = store['agent:main:main']!
      await Promise.resolve()
      store['agent:main:main'] = { ...before, n: Number(before['n']) + 1 }
    })
  const other = (): Promise<unknown> =>
    program.update('agent:main:main', (e) => ({ ...e!, n: Number(e!['n']) + 1 }))
  for (let i = 0; i < 20; i++) await Promise.all([one(), other()])
  expect((await program.get('agent:main:main'))!['n']).toBe(40)
  await program.close()
})

test('a new folder gets a database; a sessions.json of others and `store: "files"` do not', async () => {
  const database = join(path, '..', 'sessions.sqlite')
  await updateSessionStoreEntry({ storePath: path, sessionKey: 'k', update: () => ({}) })
  await recordSessionMetaFromInbound({ storePath: path, sessionKey: 'k', ctx: { From: 'x' } })
  expect(existsSync(database)).toBe(true)
  const theirs = join(folder, 'theirs', 'sessions.json')
  mkdirSync(join(folder, 'theirs'))
  writeFileSync(theirs, JSON.stringify({ k: entry('a') }))
  await updateSessionStoreEntry({ storePath: theirs, sessionKey: 'k', update: () => ({ model: 'm' }) })
  expect(existsSync(join(folder, 'theirs', 'sessions.sqlite'))).toBe(false)
  expect(JSON.parse(readFileSync(theirs, 'utf8'))).toMatchObject({ k: { sessionId: 'a', model: 'm' } })
  vi.stubEnv('ROCKPOOL_CONFIG', join(folder, 'rockpool.json'))
  writeFileSync(join(folder, 'rockpool.json'), '{ store: "files" } // as OpenClaw has it')
  const asFile = join(folder, 'as-file', 'sessions.json')
  await saveSessionStore(asFile, { k: entry('a') })
  expect(existsSync(join(folder, 'as-file', 'sessions.sqlite'))).toBe(false)
})

test('the functions for one session read and write one row, whatever else is in the store', async () => {
  await saveSessionStore(path, { k: entry('a'), other: entry('b') })
  // A row that cannot be read: a reader of all rows fails.
  const database = new DatabaseSync(join(path, '..', 'sessions.sqlite'))
  database.exec("UPDATE session SET entry = 'not JSON' WHERE key = 'other'")
  database.close()
  const one = { storePath: path, sessionKey: 'k' }
  await updateSessionStoreEntry({ ...one, update: async () => ({ model: 'm' }) })
  await updateLastRoute({ ...one, channel: 'telegram', to: '1' })
  await recordSessionMetaFromInbound({ ...one, ctx: { From: 'telegram:1', ConversationLabel: 'Ada' } })
  await persistSessionUsageUpdate({ ...one, usage: { input: 3 } })
  expect(await incrementCompactionCount({ ...one, sessionEntry: entry('a') })).toBe(1)
  expect(await appendAssistantMessageToSessionTranscript({ ...one, text: 'hello' })).toMatchObject({
    ok: true,
  })
  const stored = await updateSessionStoreEntry({ ...one, update: () => null })
  expect(stored).toMatchObject({ model: 'm', lastTo: '1', inputTokens: 3, sessionFile: expect.any(String) })
})

test('an update by others in between makes the function run again, and no update is lost', async () => {
  await saveSessionStore(path, { k: { ...entry('a'), n: 0 } })
  const program = programStore()
  let runs = 0
  const patched = await updateSessionStoreEntry({
    storePath: path,
    sessionKey: 'k',
    update: async (found) => {
      runs++
      // Faster than this function, until the store lets it be alone.
      if (runs < 4) await program.update('k', (e) => ({ ...e!, n: Number(e!['n']) + 1 }))
      return { n: Number(found['n']) + 1 }
    },
  })
  expect(patched).toMatchObject({ n: 4 })
  expect(runs).toBe(4)
  await program.close()
})

test('the lock of a store with a database keeps the program out, too', async () => {
  await saveSessionStore(path, { k: entry('a') })
  const program = programStore()
  await program.get('k')
  const order: string[] = []
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
  const other = hasBegun.then(() => program.update('k', (e) => (order.push('program'), { ...e!, by: 'p' })))
  await withSessionStoreLock(path, async () => {
    begin()
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 5))
    await updateSessionStore(path, (store) => void (store['k']!['by'] = 'library'))
    order.push('library')
  })
  await other
  expect(order).toEqual(['library', 'program'])
  expect(loadSessionStore(path)['k']).toMatchObject({ by: 'p' })
  await program.close()
})

test('four processes update one session at the same time, without an error and without a loss', async () => {
  await saveSessionStore(path, { k: { ...entry('a'), n: 0 } })
  const workers = Array.from({ length: 4 }, () =>
    runLibrary(`
    for (let i = 0; i < 25; i++)
      await updateSessionStoreEntry({ storePath, sessionKey: 'k', update: async (e) => ({ n: e.n + 1 }) })`),
  )
  expect(await Promise.all(workers)).toEqual([0, 0, 0, 0])
  expect(loadSessionStore(path)['k']).toMatchObject({ n: 100 })
})

test('a script that ends leaves sessions.json as its last update made it', async () => {
  await runLibrary(
    `await updateSessionStore(storePath, (store) => { store.k = { sessionId: 'a', updatedAt: 1 } })`,
  )
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ k: entry('a') })
})

function programStore(): SqliteSessions {
  const database = join(path, '..', 'sessions.sqlite')
  return new SqliteSessions({ agentId: 'main', database, mirror: path, clock: systemClock, log: silentLog })
}

/** Runs a script that has the library and `storePath`; resolves to its exit code. */
async function runLibrary(script: string): Promise<number> {
  const library = JSON.stringify(new URL('../src/index.ts', import.meta.url).href)
  const names = '{ updateSessionStore, updateSessionStoreEntry }'
  const text = `import ${names} from ${library}; const storePath = ${JSON.stringify(path)};${script}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number]
  return code
}
