import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkObjectStore } from '../../test/support/object-store-contract.ts'
import { startS3, testAccount } from '../../test/support/s3-server.ts'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import type { ObjectStore } from '../store/objects/object-store.ts'
import { openObjects } from '../store/objects/open-objects.ts'
import { signedHeaders } from '../store/objects/s3-objects.ts'
import { SharedVault } from './shared-vault.ts'
import { openVault, type Vault } from './vault.ts'

let folder: string
const closing: Array<() => Promise<void>> = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-shared-vault-'))
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  rmSync(folder, { recursive: true, force: true })
})

const base = { clock: systemClock, log: silentLog }
const noAccount = { databaseUrl: undefined, s3: {} } as Parameters<typeof openObjects>[1]['environment']

async function openVaultAt(place: string, secret?: string): Promise<Vault> {
  const indexFile = join(place, 'index.sqlite')
  const vault = await openVault({
    ...base,
    folder: place,
    indexFile,
    secret: secret === undefined ? undefined : Buffer.from(secret),
  })
  return vault
}

/** A machine with a vault of its own and the shared one. */
async function machine(machineName: string, objects: ObjectStore, secret?: string) {
  const place = join(folder, machineName)
  const vault = await openVaultAt(place, secret)
  const shared = new SharedVault({
    objects,
    folder: place,
    machineName,
    open: (copy) => openVaultAt(copy, secret),
  })
  closing.push(() => vault.close())
  return { vault, shared, claude: join(folder, `${machineName}-claude`) }
}

function writeSession(claude: string, text: string) {
  const sessionId = randomUUID()
  const path = join(claude, 'projects', '-home-ada-shop', `${sessionId}.jsonl`)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, `${JSON.stringify({ sessionId, text })}\n`)
  return { sessionId, agent: 'claude', root: claude, files: [path], about: { title: 'shop' } }
}

const folderOf = (): Promise<ObjectStore> =>
  openObjects(join(folder, 'drive'), { ...base, environment: noAccount })

test('a session of a lost machine is restored on another, encrypted or not', async () => {
  for (const secret of [undefined, 'open sesame']) {
    const objects = await folderOf()
    const [laptop, desk] = [await machine('laptop', objects, secret), await machine('desk', objects, secret)]
    const session = writeSession(laptop.claude, randomBytes(300_000).toString('hex'))
    const original = readFileSync(session.files[0]!)
    await laptop.vault.keep([session])
    expect(await laptop.shared.send()).toBeGreaterThan(100_000)
    expect(await laptop.shared.send()).toBe(0)
    rmSync(laptop.claude, { recursive: true })
    const restored = await desk.shared.withVaultOf('lap', async (vault) => {
      expect(await vault.sessions()).toMatchObject([{ sessionId: session.sessionId, isGone: true }])
      return vault.restore(session.sessionId, desk.claude)
    })
    expect(restored).toMatchObject([{ outcome: 'restored' }])
    expect(readFileSync(restored[0]!.path).equals(original)).toBe(true)
    await expect(desk.shared.withVaultOf('tablet', async () => {})).rejects.toMatchObject({
      code: 'not-found',
    })
    for (const close of closing.splice(0)) await close()
    rmSync(folder, { recursive: true })
  }
})

test('only what was appended is copied again, and what was purged is removed everywhere', async () => {
  const objects = await folderOf()
  const [laptop, desk] = [await machine('laptop', objects), await machine('desk', objects)]
  const [first, second] = [writeSession(laptop.claude, 'first'), writeSession(laptop.claude, 'second')]
  await laptop.vault.keep([first])
  await laptop.shared.send()
  const ids = (): Promise<string[]> =>
    desk.shared.withVaultOf('laptop', async (vault) =>
      (await vault.sessions()).map(({ sessionId }) => sessionId).sort(),
    )
  expect(await ids()).toEqual([first.sessionId])
  await laptop.vault.keep([second])
  await laptop.shared.send()
  expect(await ids()).toEqual([first.sessionId, second.sessionId].sort())
  const before = (await objects.list('')).map(({ name }) => name)
  await laptop.vault.purge([first.sessionId])
  await laptop.shared.send()
  const after = new Set((await objects.list('')).map(({ name }) => name))
  expect(before.filter((name) => after.has(name))).toEqual([])
  expect(await ids()).toEqual([second.sessionId])
  expect(await desk.shared.machines()).toMatchObject([{ isThis: false }])
  expect(await laptop.shared.machines()).toMatchObject([{ isThis: true }])
})

test.each([
  '.bashrc',
  'settings.json',
  'commands/ship.md',
  'projects/-home-ada-shop/memory/MEMORY.md',
  'file-history/notes.md',
])('the copy of another machine cannot write %s', async (path) => {
  const objects = await folderOf()
  const [laptop, desk] = [await machine('laptop', objects), await machine('desk', objects)]
  const session = writeSession(laptop.claude, 'forged')
  const planted = join(laptop.claude, path)
  mkdirSync(dirname(planted), { recursive: true })
  writeFileSync(planted, 'obey')
  await laptop.vault.keep([{ ...session, files: [...session.files, planted] }])
  await laptop.shared.send()
  await expect(
    desk.shared.withVaultOf('laptop', (vault) => vault.restore(session.sessionId, desk.claude)),
  ).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining(path) as string })
  expect(existsSync(desk.claude)).toBe(false)
})

test('a name that leads to another folder is not that of a machine', async () => {
  const laptop = await machine('laptop', await folderOf())
  const session = writeSession(laptop.claude, 'kept')
  await laptop.vault.keep([session])
  const forged: ObjectStore = {
    ...(await folderOf()),
    list: async () => [{ name: '../00000009.pack/000000000000', bytes: 1 }],
    get: async () => Buffer.from('x'),
  }
  const desk = new SharedVault({
    objects: forged,
    folder: join(folder, 'laptop'),
    machineName: 'laptop',
    open: (copy) => openVaultAt(copy),
  })
  expect(await desk.machines()).toEqual([])
  await expect(desk.withVaultOf('.', async () => {})).rejects.toMatchObject({ code: 'not-found' })
  expect((await laptop.vault.verify()).damage).toEqual([])
  expect(await laptop.vault.restore(session.sessionId)).toMatchObject([{ outcome: 'same' }])
})

test('the key of another machine cannot ask for more memory than a key of ours', async () => {
  const objects = await folderOf()
  const [laptop, desk] = [
    await machine('laptop', objects, 'secret'),
    await machine('desk', objects, 'secret'),
  ]
  await laptop.vault.keep([writeSession(laptop.claude, 'kept')])
  await laptop.shared.send()
  const { name } = (await objects.list('')).find((one) => one.name.endsWith('key.json'))!
  const key = JSON.parse((await objects.get(name)).toString()) as object
  await objects.put(name, Buffer.from(JSON.stringify({ ...key, cost: 2 ** 22 })))
  const kilobytes = process.resourceUsage().maxRSS
  await expect(desk.shared.withVaultOf('laptop', async () => {})).rejects.toMatchObject({
    code: 'damaged',
    cause: { message: expect.stringContaining('cost') as string },
  })
  expect(process.resourceUsage().maxRSS - kilobytes).toBeLessThan(1_000_000)
})

test('a folder keeps objects', async () => {
  await checkObjectStore(await folderOf())
})

test('an S3-compatible server keeps objects, with signatures that it accepts, and is asked again when it is busy', async () => {
  const s3 = await startS3()
  closing.push(() => s3.close())
  const withAccount = (account: object) =>
    openObjects('s3://backups/my/vault', {
      ...base,
      environment: {
        databaseUrl: undefined,
        s3: { ...testAccount, endpoint: s3.endpoint, ...account },
      } as typeof noAccount,
    })
  const objects = await withAccount({})
  s3.failNext(1)
  await checkObjectStore(objects)
  expect([...s3.objects.keys()].every((path) => path.startsWith('/backups/my/vault/'))).toBe(true)
  const stranger = await withAccount({ secretAccessKey: 'wrong' })
  await expect(stranger.list('')).rejects.toMatchObject({ code: 'refused' })
  await expect(withAccount({ accessKeyId: undefined })).rejects.toMatchObject({ code: 'config-invalid' })
})

test('a request is signed as in the example of the documentation of S3', () => {
  const url = new URL('https://examplebucket.s3.amazonaws.com/?list-type=2&max-keys=2&prefix=J')
  url.search = 'max-keys=2&prefix=J'
  const { authorization } = signedHeaders(
    { method: 'GET', url },
    { ...testAccount, region: 'us-east-1' },
    new Date('2013-05-24T00:00:00Z'),
  )
  expect(authorization).toContain(
    'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  )
})

test('a place that is none is refused with what it may be', async () => {
  await expect(openObjects('drive/vault', { ...base, environment: noAccount })).rejects.toMatchObject({
    code: 'config-invalid',
    hint: expect.stringContaining('s3://') as string,
  })
})
