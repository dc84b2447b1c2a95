// A session that Claude Code deleted, through the operations: listed, read, restored; and what Claude will delete next.
import { hash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { perform } from '../src/operations/all.ts'
import { operator } from '../src/cli/call-operation.ts'
import { conversationNamed } from '../src/operations/coding/coding-launch.ts'
import { followSessions } from '../src/vault/follow.ts'
import { makeCorpus, type CorpusSession } from './support/corpus.ts'
import { openHouse, type House } from './support/gateway-house.ts'

let house: House
let claude: string
let drive: string
let sessions: CorpusSession[]
let originals: Map<string, string>

beforeAll(async () => {
  drive = mkdtempSync(join(tmpdir(), 'rockpool-vault-drive-'))
  house = await openHouse({
    config: { vault: { shared: drive }, machine: { name: 'Laptop' } },
    before: (dir) => {
      claude = join(dir, '.claude')
      ;({ sessions } = makeCorpus({ configDir: claude, files: 8, bytes: 400_000 }))
      const history = join(claude, 'file-history', sessions[0]!.sessionId)
      mkdirSync(history, { recursive: true })
      writeFileSync(join(history, 'a@v1'), 'before the edit')
    },
  })
  originals = filesBelow(claude)
})
afterAll(async () => {
  await house.close()
  rmSync(drive, { recursive: true })
})

const call = (name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> =>
  perform(house.app, name, input, operator) as Promise<Record<string, unknown>>

/** By path the hash of each file: comparing the bytes themselves would be slow. */
function filesBelow(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return new Map(
    entries.map(({ parentPath, name }) => [
      join(parentPath, name),
      hash('sha256', readFileSync(join(parentPath, name))),
    ]),
  )
}

test('deleted sessions stay in the list, can be read, are restored before a resume, and all byte for byte', async () => {
  const before = (await call('cc.list')) as { sessions: Array<{ sessionId: string }> }
  await call('vault.keep')
  rmSync(claude, { recursive: true })
  const [first] = sessions as [CorpusSession]
  const list = (await call('cc.list')) as { sessions: Array<{ sessionId: string; kept?: boolean }> }
  expect(list.sessions.map(({ sessionId }) => sessionId).sort()).toEqual(
    before.sessions.map(({ sessionId }) => sessionId).sort(),
  )
  expect(list.sessions.every(({ kept }) => kept)).toBe(true)
  expect(await call('cc.info', { id: first.sessionId })).toMatchObject({
    session: { kept: true, sessionId: first.sessionId },
  })
  const { cards } = (await call('cc.read', { id: first.sessionId })) as { cards: unknown[] }
  expect(cards.length).toBeGreaterThan(0)
  await expect(call('cc.label', { id: first.sessionId, title: 'x' })).rejects.toMatchObject({
    hint: expect.stringContaining('vault restore') as string,
  })
  const task = first.firstMessage.split(':')[0]!
  expect(await call('sessions.search', { query: `"${task}"` })).toMatchObject({
    hits: expect.arrayContaining([
      expect.objectContaining({ sessionId: first.sessionId, kept: true }),
    ]) as unknown,
  })
  expect(await call('vault.status')).toMatchObject({ gone: before.sessions.length })
  expect(await conversationNamed(house.app, first.sessionId, operator)).toBe(first.sessionId)
  expect(existsSync(first.file)).toBe(true)
  expect(await call('vault.restore', { all: true })).toMatchObject({ conflicts: 0, damaged: 0 })
  expect(filesBelow(claude)).toEqual(originals)
  expect(((await call('cc.list')) as typeof list).sessions.some(({ kept }) => kept)).toBe(false)
})

test('what is appended is kept while the gateway follows', async () => {
  const { app } = house
  const endWatching = await app
    .discovery()
    .watch((sessionId, why) => app.events.emit({ type: 'native-changed', sessionId, why }))
  const vault = await app.vault()
  const stop = followSessions({ ...app, vault, shared: undefined, discovery: app.discovery(), maxBytes: 1e9 })
  const [, second] = sessions as [CorpusSession, CorpusSession]
  const sizeOf = (): number => vault.files(second.sessionId).find(({ about }) => about !== null)?.size ?? 0
  await expect.poll(sizeOf, { timeout: 30_000 }).toBe(statSync(second.file).size)
  appendFileSync(second.file, `${JSON.stringify({ type: 'system', sessionId: second.sessionId })}\n`)
  await expect.poll(sizeOf, { timeout: 30_000 }).toBe(statSync(second.file).size)
  await stop()
  await endWatching()
  originals = filesBelow(claude)
})

test('another machine lists and restores the sessions of this one from the shared vault', async () => {
  await call('vault.keep')
  const [first] = sessions as [CorpusSession]
  const other = await openHouse({
    config: { vault: { shared: drive }, machine: { name: 'desk' } },
    before: (dir) => mkdirSync(join(dir, '.claude')),
  })
  const there = (name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> =>
    perform(other.app, name, input, operator) as Promise<Record<string, unknown>>
  try {
    expect(await there('vault.status', {})).toMatchObject({
      shared: { machines: [{ machine: expect.stringMatching(/^laptop-/) as string, isThis: false }] },
    })
    expect(await there('vault.list', { machine: 'laptop' })).toMatchObject({ total: sessions.length })
    await expect(there('vault.restore', { id: first.sessionId })).rejects.toMatchObject({
      hint: expect.stringContaining('--machine') as string,
    })
    rmSync(first.file)
    const { sessions: restored } = (await there('vault.restore', {
      id: first.sessionId,
      machine: 'laptop',
      to: join(other.dir, '.claude'),
    })) as { sessions: Array<{ files: Array<{ path: string; outcome: string }> }> }
    expect(restored[0]!.files.every(({ outcome }) => outcome === 'restored')).toBe(true)
    const restoredFiles = filesBelow(join(other.dir, '.claude'))
    for (const [path, digest] of restoredFiles)
      expect(originals.get(path.replace(join(other.dir, '.claude'), claude)), path).toBe(digest)
    expect(await there('cc.info', { id: first.sessionId })).toMatchObject({
      session: { filePath: first.file.replace(claude, join(other.dir, '.claude')) },
    })
    await call('vault.restore', { id: first.sessionId })
    await expect(there('vault.list', { machine: 'tablet' })).rejects.toMatchObject({ code: 'not-found' })
  } finally {
    await other.close()
  }
})

test('a purge of the vault removes a session for good, and an export writes the others', async () => {
  const [first] = sessions as [CorpusSession]
  await call('vault.keep')
  await call('vault.purge', { id: first.sessionId })
  await call('vault.keep')
  const { sessions: kept } = (await call('vault.list')) as { sessions: Array<{ sessionId: string }> }
  expect(kept.map(({ sessionId }) => sessionId)).not.toContain(first.sessionId)
  const to = join(house.dir, 'exported')
  expect(await call('vault.export', { to })).toMatchObject({ sessions: kept.length, failed: [] })
  for (const [path, digest] of filesBelow(to)) expect(originals.get(path.replace(to, claude))).toBe(digest)
  expect(await call('vault.verify')).toMatchObject({ ok: true })
})

test('the retention of Claude Code is shown, and changed only when asked', async () => {
  const settings = join(claude, 'settings.json')
  writeFileSync(settings, '{"model":"opus"}')
  const [first] = sessions as [CorpusSession]
  const day = 86_400
  utimesSync(first.file, Date.now() / 1000 - 26 * day, Date.now() / 1000 - 26 * day)
  await house.app.discovery().refresh()
  expect(await call('vault.retention')).toMatchObject({
    retention: [{ configDir: claude, days: 30, isDefault: true, deletedSoon: 1 }],
  })
  expect(await call('vault.retention', { days: 365 })).toMatchObject({ applied: false })
  expect(readFileSync(settings, 'utf8')).toBe('{"model":"opus"}')
  expect(await call('vault.retention', { days: 365, apply: true })).toMatchObject({
    applied: true,
    retention: [{ days: 365, isDefault: false, deletedSoon: 0 }],
  })
  expect(JSON.parse(readFileSync(settings, 'utf8'))).toEqual({ model: 'opus', cleanupPeriodDays: 365 })
  await expect(call('vault.retention', { days: 0, apply: true })).rejects.toMatchObject({
    code: 'input-invalid',
  })
})
