// A purge leaves nothing that was said: no row, no archive, no file, no word in the search index, and no record of
// Claude's if that is asked for.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import type { App } from '../src/operations/app.ts'
import type { Caller } from '../src/operations/operation.ts'
import { perform } from '../src/operations/all.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { sessionMediaFolder } from '../src/store/media/media-files.ts'
import { identifyProcess } from '../src/store/disk/process-identity.ts'

const key = 'agent:main:telegram:direct:7'
const claudeId = '11111111-2222-4333-8444-555555555555'
const secret = 'xylophonist'
const operator: Caller = { via: 'cli', scopes: ['admin'] }

let home: string
let app: App
let claudeFile: string
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-purge-'))
  mkdirSync(join(home, 'state'), { mode: 0o700 })
  const config = { memory: { meaning: { use: 'none' } } }
  writeFileSync(join(home, 'state', 'rockpool.json'), JSON.stringify(config), { mode: 0o600 })
  app = await openApp(readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') }), {
    version: '0.0.0-test',
  })
  claudeFile = writeClaudeFile()
  await say('agent:main:telegram:direct:8', 'somebody else', 'other-session')
  await say(key, `only the ${secret} knows`, 'purged-session', claudeId)
  mkdirSync(sessionMediaFolder(app.paths.media, 'main', key), { recursive: true })
  writeFileSync(join(sessionMediaFolder(app.paths.media, 'main', key), 'plan.txt'), secret)
})
afterEach(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

function writeClaudeFile(): string {
  const folder = join(home, '.claude', 'projects', '-home-dev-boats')
  mkdirSync(join(folder, claudeId, 'subagents'), { recursive: true })
  const message = { role: 'user', content: `only the ${secret} knows` }
  const place = { cwd: '/home/dev/boats', sessionId: claudeId, version: '2.1.325' }
  const line = { parentUuid: null, type: 'user', message, uuid: crypto.randomUUID(), ...place }
  const file = join(folder, `${claudeId}.jsonl`)
  writeFileSync(file, `${JSON.stringify({ ...line, timestamp: '2026-11-14T10:00:00.000Z' })}\n`)
  return file
}

async function say(at: string, text: string, sessionId: string, sdkSessionId?: string): Promise<void> {
  await app.storage
    .sessions('main')
    .update(at, () => ({ sessionId, updatedAt: app.clock.now(), sdkSessionId }))
  const message = { role: 'user' as const, content: text, timestamp: app.clock.now() }
  await app.storage
    .transcripts('main')
    .append({ sessionId }, [{ type: 'message', message }], { cwd: '/', key: at })
}

const ask = (name: string, input: Record<string, unknown>): Promise<unknown> =>
  perform(app, name, input, operator)
const hits = async (query: string): Promise<number> =>
  ((await ask('sessions.search', { query })) as { total: number }).total

function filesWith(word: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(word))
}

function indexFilesWith(word: string): string[] {
  return filesWith(word, join(app.paths.searchIndex, '..'))
}

test('with --claude-file nothing of what was said is left or found, and others keep theirs', async () => {
  expect(await hits(secret)).toBeGreaterThan(0)
  expect(indexFilesWith(secret)).not.toEqual([])
  await ask('vault.keep', {})
  expect(await ask('vault.list', {})).toMatchObject({ sessions: [{ sessionId: claudeId }] })
  expect(await ask('sessions.delete', { key, purge: true, claudeFile: true })).toMatchObject({
    deleted: true,
    claudeFile,
  })
  expect(existsSync(sessionMediaFolder(app.paths.media, 'main', key))).toBe(false)
  expect(filesWith(secret, join(home, 'state'))).toEqual([])
  expect(readdirSync(join(claudeFile, '..'))).toEqual([])
  expect(await ask('vault.list', {})).toMatchObject({ total: 0 })
  expect([await hits(secret), await hits('somebody')]).toEqual([0, 1])
})

test('without it Claude’s own file stays', async () => {
  await ask('sessions.delete', { key, purge: true })
  expect(existsSync(claudeFile)).toBe(true)
  expect(await hits(secret)).toBe(1)
})

test('while that session of Claude runs, or without --purge, nothing is deleted', async () => {
  await expect(ask('sessions.delete', { key, claudeFile: true })).rejects.toMatchObject({ code: 'usage' })
  mkdirSync(join(home, '.claude', 'sessions'))
  const procStart = identifyProcess(process.pid)!.startTime
  const live = { pid: process.pid, sessionId: claudeId, procStart, status: 'idle' }
  writeFileSync(join(home, '.claude', 'sessions', `${process.pid}.json`), JSON.stringify(live))
  const purge = ask('sessions.delete', { key, purge: true, claudeFile: true })
  await expect(purge).rejects.toMatchObject({ code: 'busy' })
  expect(existsSync(claudeFile)).toBe(true)
  expect(await app.storage.sessions('main').get(key)).toBeDefined()
})
