// A session that Claude Code deleted, through the operations: listed, read, restored; and what Claude will delete next.
import { hash, randomBytes, randomUUID } from 'node:crypto'
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
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openApp } from '../src/app.ts'
import type { OutputOf } from '../src/rpc/client.ts'
import { perform } from '../src/operations/all.ts'
import type { App } from '../src/operations/app.ts'
import { keepBriefly } from '../src/operations/vault/keep-briefly.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { removeGatewayFile, writeGatewayFile } from '../src/store/gateway-file.ts'
import { openClient, operator } from '../src/cli/call-operation.ts'
import { conversationNamed } from '../src/operations/coding/launch-conversation.ts'
import { systemClock, type Clock } from '../src/domain/clock.ts'
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
  const named = await conversationNamed(house.app, first.sessionId, operator)
  expect(named).toEqual({ sdkSessionId: first.sessionId, kind: 'claude' })
  expect(existsSync(first.file)).toBe(true)
  expect(await call('vault.restore', { all: true })).toMatchObject({ conflicts: 0, damaged: 0 })
  expect(filesBelow(claude)).toEqual(originals)
  expect(((await call('cc.list')) as typeof list).sessions.some(({ kept }) => kept)).toBe(false)
})

/** Follows all sessions, with a clock whose timers are these. */
async function follow(after: Clock['after']): Promise<() => Promise<void>> {
  const { app } = house
  const parts = { ...app, vault: await app.vault(), discovery: app.discovery(), maxBytes: 1e9 }
  return followSessions({ ...parts, shared: undefined, clock: { ...systemClock, after } })
}

test('stopped during its first look at all sessions, the follower ends without waiting for a timer', async () => {
  const stop = await follow(() => () => {})
  await stop()
})

test('what is appended is kept while the gateway follows', async () => {
  const { app } = house
  const endWatching = await app
    .discovery()
    .watch((sessionId, why) => app.events.emit({ type: 'native-changed', sessionId, why }))
  const vault = await app.vault()
  // Changes are gathered for five seconds, which pass in a moment.
  const stop = await follow((ms, fn) => systemClock.after(ms / 100, fn))
  const [, second] = sessions as [CorpusSession, CorpusSession]
  const sizeOf = (): number => vault.files(second.sessionId).find(({ about }) => about !== null)?.size ?? 0
  await expect.poll(sizeOf, { timeout: 30_000 }).toBe(statSync(second.file).size)
  appendFileSync(second.file, `${JSON.stringify({ type: 'system', sessionId: second.sessionId })}\n`)
  await expect.poll(sizeOf, { timeout: 30_000 }).toBe(statSync(second.file).size)
  // The first look at all sessions is over now, so that only an event can tell of this one.
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

test('another machine does not choose the directory that its session is restored to', async () => {
  const vault = await house.app.vault()
  const sessionId = randomUUID()
  const desk = await openHouse({
    config: { vault: { shared: drive }, machine: { name: 'desk' } },
    before: (dir) => mkdirSync(join(dir, '.claude')),
  })
  const root = join(desk.dir, 'work')
  const inside = join('projects', '-home-ada', `${sessionId}.jsonl`)
  mkdirSync(join(root, 'projects', '-home-ada'), { recursive: true })
  writeFileSync(join(root, inside), '{}\n')
  try {
    const { about } = (await vault.sessions())[0]!
    await vault.keep([{ sessionId, agent: 'claude', root, files: [join(root, inside)], about }])
    await (await house.app.sharedVault())!.send()
    rmSync(join(root, inside))
    const restored = await perform(desk.app, 'vault.restore', { id: sessionId, machine: 'laptop' }, operator)
    expect(restored).toMatchObject({
      sessions: [{ files: [{ path: join(desk.dir, '.claude', inside), outcome: 'restored' }] }],
    })
    expect(existsSync(join(root, inside))).toBe(false)
  } finally {
    await vault.purge([sessionId])
    await desk.close()
  }
})

async function purgedCount(): Promise<number> {
  return ((await call('vault.list')) as OutputOf<'vault.list'>).purged
}

test('a purge of the vault removes a session for good, and an export writes the others', async () => {
  const [first] = sessions as [CorpusSession]
  await call('vault.keep')
  const purgedBefore = await purgedCount()
  await call('vault.purge', { id: first.sessionId })
  expect(await call('vault.keep')).toMatchObject({ purged: purgedBefore + 1 })
  expect(await call('vault.status')).toMatchObject({ purged: purgedBefore + 1 })
  const { sessions: kept } = (await call('vault.list')) as { sessions: Array<{ sessionId: string }> }
  expect(kept.map(({ sessionId }) => sessionId)).not.toContain(first.sessionId)
  const to = join(house.dir, 'exported')
  expect(await call('vault.export', { to })).toMatchObject({ sessions: kept.length, failed: [] })
  for (const [path, digest] of filesBelow(to)) expect(originals.get(path.replace(to, claude))).toBe(digest)
  expect(await call('vault.verify')).toMatchObject({ ok: true })
})

test('purged sessions are kept again when a person asks for them: one by its id, or all', async () => {
  const isKept = async ({ sessionId }: CorpusSession): Promise<boolean> => {
    const { sessions: kept } = (await call('vault.list')) as OutputOf<'vault.list'>
    return kept.some((one) => one.sessionId === sessionId)
  }
  const [first, second] = sessions as [CorpusSession, CorpusSession]
  await call('vault.keep', { purged: true })
  expect([await purgedCount(), await isKept(first), await isKept(second)]).toEqual([0, true, true])
  for (const { sessionId } of [first, second]) await call('vault.purge', { id: sessionId })
  await expect(call('vault.keep', { id: 'nothing-like-it' })).rejects.toMatchObject({ code: 'not-found' })
  expect([await purgedCount(), await isKept(first), await isKept(second)]).toEqual([2, false, false])
  await call('vault.keep', { id: first.sessionId })
  expect([await purgedCount(), await isKept(first), await isKept(second)]).toEqual([1, true, false])
  await call('vault.keep', { purged: true })
  expect([await purgedCount(), await isKept(second)]).toEqual([0, true])
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
  const { notes } = (await call('doctor')) as { notes: string[] }
  expect(notes.join()).toMatch(
    /after 30 days: 1 in the next 7 days, \d of them in the vault.*vault retention 365/,
  )
  expect(await call('vault.retention', { days: 365 })).toMatchObject({ applied: false })
  expect(readFileSync(settings, 'utf8')).toBe('{"model":"opus"}')
  expect(await call('vault.retention', { days: 365, apply: true })).toMatchObject({
    applied: true,
    retention: [{ days: 365, isDefault: false, deletedSoon: 0 }],
  })
  expect(JSON.parse(readFileSync(settings, 'utf8'))).toEqual({ model: 'opus', cleanupPeriodDays: 365 })
  const after = (await call('doctor')) as { notes: string[] }
  expect(after.notes.join()).toMatch(/after 365 days: none in the next 7 days\.$/)
  await expect(call('vault.retention', { days: 0, apply: true })).rejects.toMatchObject({
    code: 'input-invalid',
  })
})

test('prune shows what it would remove and removes it only when asked; a year protects the younger ones', async () => {
  const before = (await call('vault.status')) as { sessions: number; bytes: number }
  expect(before.sessions).toBeGreaterThan(1)
  expect(await call('vault.prune', { maxGb: 0 })).toMatchObject({
    applied: false,
    sessions: [],
    isShort: true,
  })
  const plan = (await call('vault.prune', { maxGb: 0, young: true })) as { sessions: unknown[] }
  expect(plan).toMatchObject({ applied: false, bytes: before.bytes })
  expect(plan.sessions).toHaveLength(before.sessions)
  expect(await call('vault.status')).toMatchObject({ sessions: before.sessions })
  expect(await call('vault.prune', { maxGb: 0, young: true, apply: true })).toMatchObject({ applied: true })
  expect(await call('vault.status')).toMatchObject({ sessions: 0 })
})

test('without a gateway a command keeps what has changed, says once that there is a vault, and not when it is off', async () => {
  const home = mkdtempSync(join(tmpdir(), 'rockpool-keep-'))
  const [first] = makeCorpus({ configDir: join(home, '.claude'), files: 2, bytes: 40_000 }).sessions
  let now = Date.now()
  // The vault is kept for a short time only, which a busy machine may need for other things.
  const clock = { ...house.app.clock, now: () => now, monotonic: () => 0 }
  const open = (): Promise<App> =>
    openApp(readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') }), { version: 'test' })
  try {
    await using app = closing(await open())
    app.config.vault.enabled = false
    expect(await keepBriefly(app, true)).toBeUndefined()
    expect(existsSync(app.paths.vault)).toBe(false)
    app.config.vault.enabled = true
    // A program that called the command does not read it to the person.
    expect(await keepBriefly({ ...app, clock }, false)).toBeUndefined()
    now += 61_000
    const notice = await keepBriefly({ ...app, clock }, true)
    expect(notice).toMatch(/keeps a copy .* [km]B now, at most 20 GB/i)
    expect(notice).toContain('rockpool config set vault.enabled false')
    const vault = await app.vault()
    const sizeOf = (): number => vault.files(first!.sessionId).find(({ about }) => about)?.size ?? 0
    expect(sizeOf()).toBe(statSync(first!.file).size)
    appendFileSync(first!.file, '{"type":"system"}\n')
    now += 61_000
    expect(await keepBriefly({ ...app, clock }, true)).toBeUndefined()
    expect(sizeOf()).toBe(statSync(first!.file).size)
  } finally {
    rmSync(home, { recursive: true })
  }
})

test('with a gateway, too, a person reads once that there is a vault, and a program never', async () => {
  const { url, wsUrl } = house.gateway
  writeGatewayFile(house.dir, { url, wsUrl, startedAt: Date.now(), version: 'test' })
  const environment = readEnvironment({ HOME: house.dir, ROCKPOOL_STATE_DIR: house.dir })
  const client = await openClient({ environment, openApp: () => Promise.reject(new Error('no gateway')) })
  expect(await client.close()).toBeUndefined()
  expect(await client.close(true)).toMatch(/keeps a copy .* [km]B now, at most 20 GB/i)
  expect(await client.close(true)).toBeUndefined()
  removeGatewayFile(house.dir)
})

test('the passphrase comes from a command, such as that of a keyring', async () => {
  const home = mkdtempSync(join(tmpdir(), 'rockpool-keyring-'))
  makeCorpus({ configDir: join(home, '.claude'), files: 1, bytes: 20_000 })
  mkdirSync(join(home, 'state'), { mode: 0o700 })
  const configured = async (passphraseCommand: string): Promise<App> => {
    const file = join(home, 'state', 'rockpool.json')
    writeFileSync(file, JSON.stringify({ vault: { passphraseCommand } }), { mode: 0o600 })
    return openApp(readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') }), {
      version: 'test',
    })
  }
  const status = async (command: string): Promise<unknown> => {
    await using app = closing(await configured(command))
    await perform(app, 'vault.keep', {}, operator)
    return await perform(app, 'vault.status', {}, operator)
  }
  try {
    expect(await status('echo open sesame')).toMatchObject({ encrypted: true, sessions: 1 })
    await expect(status('echo wrong')).rejects.toMatchObject({ code: 'refused' })
    await expect(status('exit 3')).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(status('true')).rejects.toMatchObject({
      hint: expect.stringContaining('secret-tool store') as string,
    })
  } finally {
    rmSync(home, { recursive: true })
  }
})

function closing(app: App): App & AsyncDisposable {
  return Object.assign(app, { [Symbol.asyncDispose]: () => app.close() })
}

test('the doctor finds damaged content of the vault when it looks deep', async () => {
  await call('vault.keep')
  const packs = join(house.app.paths.vault, 'packs')
  const pack = join(
    packs,
    readdirSync(packs).find((name) => name.endsWith('.pack'))!,
  )
  const bytes = readFileSync(pack)
  onTestFinished(() => writeFileSync(pack, bytes))
  const damagedBytes = Buffer.from(bytes)
  damagedBytes[bytes.length >> 1]! ^= 0xff
  writeFileSync(pack, damagedBytes)
  const { findings } = (await call('doctor', { deep: true })) as { findings: unknown[] }
  expect(findings).toContainEqual(expect.objectContaining({ kind: 'vault-damaged', where: pack }))
})

test('the doctor and the status of the vault notice a file that was overwritten', async () => {
  await call('vault.keep')
  const found = async (): Promise<unknown[]> =>
    ((await call('doctor')) as { findings: Array<{ kind: string }> }).findings.filter(
      ({ kind }) => kind === 'vault-damaged',
    )
  expect(await found()).toEqual([])
  expect(await call('vault.status')).toMatchObject({ damagedFiles: 0 })
  const { vault } = house.app.paths
  const packs = readdirSync(vault, { recursive: true, encoding: 'utf8' })
  const file = join(
    vault,
    packs.find((name) => name.endsWith('.pack'))!,
  )
  const { size } = statSync(file)
  writeFileSync(file, randomBytes(size))
  expect(await found()).toMatchObject([
    { where: file, remedy: expect.stringContaining('rockpool vault verify') as string },
  ])
  expect(await call('vault.status')).toMatchObject({ damagedFiles: 1 })
})

test('a folder in place of a pack is reported, and everything goes on', async () => {
  await call('vault.keep')
  const { vault } = house.app.paths
  const name = readdirSync(join(vault, 'packs')).find((each) => each.endsWith('.pack'))!
  const pack = join(vault, 'packs', name)
  rmSync(pack)
  mkdirSync(pack, { mode: 0o700 })
  await using app = closing(await openApp(house.app.environment, { version: '0' }))
  const { findings } = (await perform(app, 'doctor', {}, operator)) as { findings: unknown[] }
  expect(findings).toContainEqual(expect.objectContaining({ kind: 'vault-damaged', where: pack }))
  for (const operation of ['vault.status', 'vault.verify', 'vault.list', 'vault.keep', 'cc.list'])
    expect(await perform(app, operation, {}, operator), operation).toBeDefined()
})
