import { createHash, randomBytes, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { crc32, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import type { SessionToKeep } from './keep.ts'
import { encodeRecord } from './pack-records.ts'
import { Seal } from './seal.ts'
import { sessionToKeep } from './session-files.ts'
import { openVault, type Vault } from './vault.ts'

let folder: string
let claude: string
let vault: Vault
let made: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-vault-'))
  claude = join(folder, 'claude')
  made = 0
  vault = await open()
})
afterEach(async () => {
  await vault.close()
  rmSync(folder, { recursive: true, force: true })
})

const open = (secret?: string): Promise<Vault> =>
  openVault({
    folder: join(folder, 'vault'),
    indexFile: join(folder, 'index', 'vault.sqlite'),
    secret: secret === undefined ? undefined : Buffer.from(secret),
    clock: systemClock,
    log: silentLog,
  })

async function reopen(secret?: string): Promise<void> {
  await vault.close()
  vault = await open(secret)
}

/** A session with a transcript and a file of its own folder. */
function makeSession(lines: string[], id: string = randomUUID()): SessionToKeep {
  const transcript = join(claude, 'projects', '-home-dev-shop', `${id}.jsonl`)
  const result = join(claude, 'projects', '-home-dev-shop', id, 'tool-results', 'b1.txt')
  mkdirSync(dirname(result), { recursive: true })
  writeFileSync(
    transcript,
    lines.map((line) => `${JSON.stringify({ sessionId: id, text: line })}\n`).join(''),
  )
  writeFileSync(result, `output of ${id}: ${lines[0]}`)
  return { sessionId: id, agent: 'claude', root: claude, files: [transcript, result], about: { title: id } }
}

/** Lines without anything in common, the same in every run: where chunks end depends on the content. */
function someLines(count: number, bytes: number): string[] {
  return Array.from({ length: count }, () =>
    createHash('shake256', { outputLength: bytes / 2 })
      .update(String(made++))
      .digest('hex'),
  )
}

const packFolder = (): string => join(folder, 'vault', 'packs')
const packBytes = (): number =>
  readdirSync(packFolder()).reduce((sum, name) => sum + statSync(join(packFolder(), name)).size, 0)

test('files of a session that were deleted are restored byte for byte, with a new time', async () => {
  const session = makeSession(someLines(40, 30_000))
  const originals = session.files.map((file) => readFileSync(file))
  for (const file of session.files) utimesSync(file, 1, 1)
  await vault.keep([session])
  rmSync(claude, { recursive: true })
  await reopen()
  expect(await vault.sessions()).toMatchObject([
    { sessionId: session.sessionId, isGone: true, about: session.about },
  ])
  const restored = await vault.restore(session.sessionId)
  expect(restored.map(({ outcome }) => outcome)).toEqual(['restored', 'restored'])
  for (const [i, file] of session.files.entries()) {
    expect(readFileSync(file).equals(originals[i]!)).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(60_000)
  }
})

test('of another agent the files that discovery names and the folder beside the transcript are kept', async () => {
  const home = join(folder, 'codex')
  const filePath = join(home, 'sessions', 'rollout-1.jsonl')
  const child = join(home, 'sessions', 'rollout-2.jsonl')
  mkdirSync(join(home, 'sessions', 'rollout-1'), { recursive: true })
  writeFileSync(join(home, 'sessions', 'rollout-1', 'image.png'), '')
  const session = { agentKind: 'codex' as const, sessionId: 'x', configDir: home, filePath, slug: undefined }
  const files = async (): Promise<string[]> => [filePath, child, '/elsewhere/rollout-3.jsonl']
  expect(await sessionToKeep(session, { files })).toMatchObject({
    agent: 'codex',
    root: home,
    files: [filePath, child, join(home, 'sessions', 'rollout-1', 'image.png')],
  })
})

test('every state of a transcript that grows is kept, whatever was appended', async () => {
  const session = makeSession(['first'])
  const [transcript] = session.files as [string]
  for (const bytes of [10, 100_000, 300_000, 3, ...Array.from({ length: 40 }, () => 2_000), 1_500_000, 1]) {
    appendFileSync(transcript, randomBytes(bytes))
    await vault.keep([session])
    const before = readFileSync(transcript)
    rmSync(transcript)
    await vault.restore(session.sessionId)
    expect(readFileSync(transcript).equals(before)).toBe(true)
  }
})

test('an append stores only what was appended', async () => {
  const session = makeSession(someLines(40, 30_000))
  await vault.keep([session])
  const before = packBytes()
  appendFileSync(session.files[0]!, 'one more line\n')
  const read = await vault.keep([session])
  expect(packBytes() - before).toBeLessThan(2_000)
  expect(read).toBeLessThan(1_100_000)
  expect(await vault.keep([session])).toBe(0)
})

test('a file that was rewritten or cut is kept as it is now', async () => {
  const session = makeSession(someLines(20, 30_000))
  const [transcript] = session.files as [string]
  await vault.keep([session])
  truncateSync(transcript, 100_000)
  await vault.keep([session])
  const content = readFileSync(transcript)
  rmSync(transcript)
  await vault.restore(session.sessionId)
  expect(readFileSync(transcript).equals(content)).toBe(true)
})

test('a fork that differs only in the id of the session takes almost no room', async () => {
  const lines = someLines(100, 30_000)
  await vault.keep([makeSession(lines)])
  const before = packBytes()
  const fork = makeSession([...lines, 'another end'])
  const original = readFileSync(fork.files[0]!)
  await vault.keep([fork])
  expect(packBytes() - before).toBeLessThan(before / 4)
  rmSync(fork.files[0]!)
  await vault.restore(fork.sessionId)
  expect(readFileSync(fork.files[0]!).equals(original)).toBe(true)
})

test('a file that exists is never replaced', async () => {
  const session = makeSession(['kept'])
  const [transcript, result] = session.files as [string, string]
  await vault.keep([session])
  writeFileSync(transcript, 'somebody else wrote this')
  appendFileSync(result, ' and more')
  const outcomes = Object.fromEntries(
    (await vault.restore(session.sessionId)).map((one) => [one.path, one.outcome]),
  )
  expect(outcomes).toEqual({ [transcript]: 'different', [result]: 'longer' })
  expect(readFileSync(transcript, 'utf8')).toBe('somebody else wrote this')
})

test('verify finds every flipped byte, and a damaged chunk affects only the file that needs it', async () => {
  const first = makeSession(['one'])
  const second = makeSession(['two'])
  await vault.keep([first])
  await vault.keep([second])
  expect(await vault.verify()).toMatchObject({ damage: [], files: [], unfinished: 0 })
  const pack = join(packFolder(), readdirSync(packFolder())[0]!)
  const whole = readFileSync(pack)
  for (let at = 0; at < whole.length; at += 23) {
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 1 << (at % 8)
    writeFileSync(pack, flipped)
    const { damage, unfinished } = await vault.verify()
    expect(damage.length, `byte ${at}`).toBe(1)
    expect(unfinished).toBe(0)
  }
  // A byte of the first record, which has the chunks of the first session.
  const flipped = Buffer.from(whole)
  flipped[60]! ^= 1
  writeFileSync(pack, flipped)
  const { files } = await vault.verify()
  expect(files.map(({ session }) => session)).toEqual([first.sessionId, first.sessionId])
  rmSync(claude, { recursive: true })
  rmSync(join(folder, 'index'), { recursive: true })
  await reopen()
  expect((await vault.restore(first.sessionId)).map(({ outcome }) => outcome)).toEqual(['damaged', 'damaged'])
  expect((await vault.restore(second.sessionId)).map(({ outcome }) => outcome)).toEqual([
    'restored',
    'restored',
  ])
})

test.each([1, 55, 5_000, -1])(
  'a record that ends after %i bytes is ignored, and the next begins a new pack',
  async (bytes) => {
    const [first, second] = [makeSession(someLines(3, 30_000)), makeSession(someLines(3, 30_000))]
    await vault.keep([first])
    const pack = join(packFolder(), readdirSync(packFolder())[0]!)
    const complete = statSync(pack).size
    await vault.keep([second])
    truncateSync(pack, bytes < 0 ? statSync(pack).size + bytes : complete + bytes)
    await reopen()
    expect(await vault.verify()).toMatchObject({ damage: [], unfinished: 1 })
    await vault.keep([second])
    expect(readdirSync(packFolder())).toHaveLength(2)
    rmSync(claude, { recursive: true })
    for (const session of [first, second])
      expect((await vault.restore(session.sessionId)).map(({ outcome }) => outcome)).toEqual([
        'restored',
        'restored',
      ])
  },
)

test.each(['', '{', '{"rockpool":1,"salt":"~","key":"","cost":1}'])(
  'a damaged key is named, not the error of a parser: %s',
  async (text) => {
    await reopen('the passphrase')
    const path = join(folder, 'vault', 'key.json')
    writeFileSync(path, text)
    await expect(open('the passphrase')).rejects.toMatchObject({
      code: 'damaged',
      message: `${path} is damaged and cannot be read.`,
      hint: expect.stringContaining('backup'),
    })
    expect(readFileSync(path, 'utf8')).toBe(text)
  },
)

test('an encrypted vault has no readable text, and opens only with its passphrase', async () => {
  await reopen('open sesame')
  const session = makeSession(['a secret plan'])
  await vault.keep([session])
  const stored = readdirSync(packFolder())
    .map((name) => readFileSync(join(packFolder(), name), 'latin1'))
    .join('')
  for (const text of ['secret plan', session.sessionId, 'projects']) expect(stored).not.toContain(text)
  await vault.close()
  await expect(open('wrong')).rejects.toMatchObject({ code: 'refused' })
  vault = await open('open sesame')
  rmSync(claude, { recursive: true })
  expect((await vault.restore(session.sessionId)).map(({ outcome }) => outcome)).toEqual([
    'restored',
    'restored',
  ])
})

test('a vault that is encrypted later has no readable text any more, and everything that it had', async () => {
  const [gone, stays] = [makeSession(someLines(3, 30_000)), makeSession(['a secret plan'])]
  await vault.keep([gone, stays])
  await vault.purge([gone.sessionId])
  const originals = stays.files.map((file) => readFileSync(file))
  await reopen('open sesame')
  await vault.compact()
  await vault.keep([gone])
  const everything = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(claude))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
  for (const text of ['secret plan', stays.sessionId, 'projects', 'RPv2\u0000'])
    expect(
      everything.some((bytes) => bytes.includes(text)),
      text,
    ).toBe(false)
  rmSync(claude, { recursive: true })
  await reopen('open sesame')
  expect((await vault.sessions()).map(({ sessionId }) => sessionId)).toEqual([stays.sessionId])
  await vault.restore(stays.sessionId)
  for (const [i, file] of stays.files.entries()) expect(readFileSync(file).equals(originals[i]!)).toBe(true)
  expect(await vault.verify()).toMatchObject({ damage: [], files: [] })
})

test('a forged record that unpacks to more than the memory is none', async () => {
  await vault.keep([makeSession(['kept'])])
  const content = zstdCompressSync(Buffer.alloc(70_000_000))
  const forged = { kind: 'files' as const, isSealed: false, table: Buffer.alloc(0), hash: Buffer.alloc(32) }
  const pack = join(packFolder(), readdirSync(packFolder())[0]!)
  appendFileSync(pack, encodeRecord({ ...forged, rawBytes: 70_000_000, content }))
  await reopen()
  expect(await vault.sessions()).toHaveLength(1)
  const { damage } = await vault.verify()
  expect(damage.map(({ problem }) => problem)).toEqual([expect.stringMatching(/belong to no record/)])
})

test('damaged chunks are stored again from files that are still there', async () => {
  const [present, lost] = [makeSession(someLines(3, 30_000)), makeSession(someLines(3, 30_000))]
  const original = readFileSync(present.files[0]!)
  await vault.keep([present])
  await vault.keep([lost])
  const pack = join(packFolder(), readdirSync(packFolder())[0]!)
  const bytes = readFileSync(pack)
  // Both sessions lose a chunk.
  for (const at of [2_000, bytes.length - 2_000]) bytes[at]! ^= 1
  writeFileSync(pack, bytes)
  for (const file of lost.files) rmSync(file)
  const before = await vault.verify()
  expect(new Set(before.files.map(({ session }) => session)).size).toBe(2)
  expect(await vault.repair(before)).toBe(2)
  const { damage, files } = await vault.verify()
  expect(damage).toHaveLength(1)
  expect(new Set(files.map(({ session }) => session))).toEqual(new Set([lost.sessionId]))
  rmSync(present.files[0]!)
  await reopen()
  await vault.restore(present.sessionId)
  expect(readFileSync(present.files[0]!).equals(original)).toBe(true)
})

test('a purged session leaves no byte that others do not need, and is not kept again', async () => {
  const [gone, stays] = [makeSession(someLines(3, 30_000)), makeSession(someLines(3, 30_000))]
  await vault.keep([gone, stays])
  const before = packBytes()
  await vault.purge([gone.sessionId])
  expect(packBytes()).toBeLessThan(before * 0.6)
  await vault.keep([gone])
  await reopen()
  expect((await vault.sessions()).map(({ sessionId }) => sessionId)).toEqual([stays.sessionId])
  expect(await vault.verify()).toMatchObject({ damage: [], files: [] })
  rmSync(join(folder, 'index'), { recursive: true })
  await reopen()
  expect((await vault.sessions()).map(({ sessionId }) => sessionId)).toEqual([stays.sessionId])
  rmSync(claude, { recursive: true })
  expect((await vault.restore(stays.sessionId)).map(({ outcome }) => outcome)).toEqual([
    'restored',
    'restored',
  ])
})

test('a purged session that may be kept again is kept, also by a rebuilt index', async () => {
  const [first, other] = [makeSession(someLines(3, 30_000)), makeSession(someLines(3, 30_000))]
  await vault.keep([first, other])
  await vault.purge([first.sessionId, other.sessionId])
  expect(new Set(await vault.purged())).toEqual(new Set([first.sessionId, other.sessionId]))
  await expect(vault.allowAgain('')).rejects.toMatchObject({
    message: '2 sessions of those that were purged begin with "".',
    hint: expect.stringMatching(/^Write more of the id/) as string,
  })
  await vault.allowAgain(first.sessionId.slice(0, 12))
  rmSync(join(folder, 'index'), { recursive: true })
  await reopen()
  await vault.keep([first, other])
  rmSync(join(folder, 'index'), { recursive: true })
  await reopen()
  expect((await vault.sessions()).map(({ sessionId }) => sessionId)).toEqual([first.sessionId])
  expect(await vault.purged()).toEqual([other.sessionId])
  expect(await vault.verify()).toMatchObject({ damage: [], files: [] })
})

test('over its limit the oldest sessions without a label are removed, none younger than a year unless asked', async () => {
  const old = (years: number, about: object) => {
    const lastModified = new Date(Date.now() - years * 366 * 86_400_000).toISOString()
    return { ...makeSession(someLines(2, 30_000)), about: { ...about, lastModified } }
  }
  const [labelled, older, newer, young] = [old(4, { label: 'x' }), old(3, {}), old(2, {}), old(0, {})]
  await vault.keep([labelled, older, newer, young])
  const { sessions: all, isShort } = await vault.planPrune(0, false)
  expect(all.map(({ sessionId }) => sessionId)).toEqual(
    [older, newer, labelled].map(({ sessionId }) => sessionId),
  )
  expect(isShort).toBe(true)
  expect((await vault.planPrune(0, true)).sessions).toHaveLength(4)
  const { sessions } = await vault.planPrune(packBytes() - 1, false)
  expect(sessions).toMatchObject([{ sessionId: older.sessionId }])
  await vault.prune([older.sessionId])
  expect(packBytes()).toBeGreaterThan(0)
  // It has not changed since, so it is not kept again; after a change it is.
  await vault.keep([older])
  expect(await vault.sessions()).toHaveLength(3)
  await new Promise((resolve) => setTimeout(resolve, 5))
  appendFileSync(older.files[0]!, 'it was resumed')
  await vault.keep([older])
  expect(await vault.sessions()).toHaveLength(4)
})

test('a vault of the first version is read, and is kept in with new sessions', async () => {
  const session = makeSession(['hello', 'from before'])
  const [file] = session.files
  const content = readFileSync(file!)
  const name = createHash('sha256').update(content).digest()
  const about = {
    session: session.sessionId,
    root: claude,
    path: file!.slice(claude.length + 1),
    agent: 'claude',
  }
  const state = { size: content.length, mtime: 1, inode: 1, keptAt: 1, settled: 0, about: session.about }
  const version = Buffer.from(
    JSON.stringify({ ...about, ...state, chunks: [[name.toString('hex'), content.length, 0]] }),
  )
  mkdirSync(packFolder(), { recursive: true })
  const records = [firstRecord('chunks', content), firstRecord('files', version)]
  writeFileSync(join(packFolder(), '00000001.pack'), Buffer.concat(records))
  rmSync(file!)
  await vault.keep([makeSession(['another'])])
  expect(await vault.gone()).toMatchObject([{ sessionId: session.sessionId, filePath: file }])
  await vault.restore(session.sessionId)
  expect(readFileSync(file!)).toEqual(content)
  expect(await vault.verify()).toMatchObject({ damage: [], records: 4 })
})

/** A record as the first version wrote it. */
function firstRecord(kind: 'chunks' | 'files', content: Buffer): Buffer {
  const seal = new Seal()
  const hash = seal.nameOf(content)
  const rest = {
    isSealed: false,
    table: Buffer.alloc(0),
    rawBytes: content.length,
    content: seal.pack(content),
  }
  const record = encodeRecord({ kind, hash, ...rest })
  record.write('RPv1')
  record.writeUInt32LE(crc32(record.subarray(0, 52)), 52)
  return record
}
