import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FileLock } from './file-lock.ts'
import { identifyProcess } from './process-identity.ts'

let folder: string
let path: string
let file: string

const soon = { timeout: 20_000 }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-lock-'))
  path = join(folder, 'sessions.json')
  file = `${path}.lock`
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const quick = { timeoutMs: 120, pollIntervalMs: 5 }
const take = (options = {}): Promise<string> =>
  new FileLock(path, { ...quick, ...options }).hold('test', async () => 'held')

const self = identifyProcess(process.pid)!
const ours = (changes: object = {}): string =>
  JSON.stringify({
    v: 2,
    pid: self.pid,
    starttime: self.startTime,
    bootId: self.domain,
    host: hostname(),
    nonce: 'another',
    startedAt: Date.now() - 65_000,
    op: 'update',
    ...changes,
  })

function setAge(seconds: number): void {
  const then = Date.now() / 1000 - seconds
  utimesSync(file, then, then)
}

test('while it is held the file says who holds it, since when and what for; afterwards nothing is left', async () => {
  await new FileLock(path).hold('update', async () => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      v: 2,
      pid: process.pid,
      host: hostname(),
      op: 'update',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['sessions.json.lock'])
  })
  expect(readdirSync(folder)).toEqual([])
})

test('one holder at a time, and all get their turn', async () => {
  let holders = 0
  let most = 0
  const one = async (): Promise<void> => {
    await new FileLock(path, { pollIntervalMs: 2 }).hold('test', async () => {
      most = Math.max(most, ++holders)
      await new Promise((resolve) => setTimeout(resolve, 1))
      holders--
    })
  }
  await Promise.all(Array.from({ length: 20 }, one))
  expect(most).toBe(1)
})

test('a holder that lives is never evicted, however old its lock looks; the error names it', async () => {
  writeFileSync(file, ours())
  setAge(3600)
  await expect(take()).rejects.toMatchObject({
    code: 'locked',
    message: expect.stringMatching(new RegExp(`process ${process.pid} has had it for 65 s \\(update\\)`)),
  })
  expect(readFileSync(file, 'utf8')).toContain('another')
})

test.each([
  ['has ended', { pid: 2 ** 22 + 1 }],
  ['has ended, and whose number was given out again', { starttime: '1' }],
  ['ran before the last boot', { bootId: 'linux:an-earlier-boot:pid:[1]' }],
])('the lock of a process that %s is free at once', async (_, changes) => {
  writeFileSync(file, ours(changes))
  expect(await take()).toBe('held')
})

test('the lock of a zombie is free at once', async (ctx) => {
  if (process.platform !== 'linux') ctx.skip('zombies are read from /proc')
  const parent = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 30'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const child = identifyProcess(Number(line.toString()))!
  writeFileSync(file, ours({ pid: child.pid, starttime: child.startTime }))
  await expect.poll(() => identifyProcess(child.pid), soon).toBeUndefined()
  process.kill(child.pid, 0) // It still answers to signals.
  expect(await take()).toBe('held')
  parent.kill('SIGKILL')
})

test('a lock of another machine or container is left alone until it was not touched for two minutes', async () => {
  for (const elsewhere of [{ host: 'elsewhere' }, { bootId: self.domain.replace(/:[^:]*$/, ':[1]') }]) {
    writeFileSync(file, ours({ ...elsewhere, pid: 2 ** 22 + 1 }))
    setAge(60)
    await expect(take()).rejects.toMatchObject({ code: 'locked' })
    setAge(130)
    expect(await take()).toBe('held')
  }
})

test.each([
  ['January', { pid: process.pid, startedAt: Date.now() }],
  ['February', { pid: process.pid, createdAt: new Date().toISOString() }],
])("OpenClaw's lock of %s is never taken from a process that lives, whatever its age", async (_, payload) => {
  writeFileSync(file, JSON.stringify(payload))
  for (const age of [20, 35, 3600]) {
    setAge(age)
    await expect(take()).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringContaining(`process ${process.pid}`),
    })
  }
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(payload)
})

test("OpenClaw's lock from before this boot is free, although its process number is in use again", async () => {
  const then = Date.now() - (uptime() + 60) * 1000
  writeFileSync(file, JSON.stringify({ pid: process.pid, startedAt: then }))
  setAge(uptime() + 60)
  expect(await take()).toBe('held')
})

test('a holder learns that the previous holder died, and nothing else', async () => {
  const wasAbandoned = (): Promise<boolean> =>
    new FileLock(path, quick).hold('test', async (held) => held.wasAbandoned)
  expect(await wasAbandoned()).toBe(false)
  writeFileSync(file, JSON.stringify({ pid: 2 ** 22 + 1, startedAt: Date.now() }))
  expect(await wasAbandoned()).toBe(true)
  expect(await wasAbandoned()).toBe(false)
})

test("OpenClaw's fresh lock of a process that is gone need not be waited for", async () => {
  writeFileSync(file, JSON.stringify({ pid: 2 ** 22 + 1, startedAt: Date.now() }))
  expect(await take()).toBe('held')
  writeFileSync(file, JSON.stringify({ pid: process.pid, createdAt: 'now', starttime: 1 }))
  expect(await take()).toBe('held')
})

test.each(['', '{', 'null', '[]', '"x"', '{"pid":"x"}'])(
  'an unreadable lock %j is left alone until it is old',
  async (text) => {
    writeFileSync(file, text)
    await expect(take()).rejects.toMatchObject({ code: 'locked' })
    setAge(31)
    expect(await take()).toBe('held')
  },
)

test('a clock that jumped does not matter: a time in the future is treated as now, and the wait ends', async () => {
  writeFileSync(file, '{}')
  setAge(-3600)
  const started = performance.now()
  await expect(take()).rejects.toMatchObject({ code: 'locked' })
  expect(performance.now() - started).toBeLessThan(60_000)
})

test('a lock that was taken away is noticed before anything is changed, and the new holder keeps it', async () => {
  const held = new FileLock(path).hold('test', async (lock) => {
    writeFileSync(file, ours())
    lock.confirm()
  })
  await expect(held).rejects.toMatchObject({ code: 'lock-lost' })
  expect(readFileSync(file, 'utf8')).toContain('another')
})

test('while it is held it is touched, so that an OpenClaw that goes by age leaves it alone', async () => {
  await new FileLock(path, { touchEveryMs: 20 }).hold('test', async () => {
    setAge(100)
    await expect.poll(() => Date.now() - statSync(file).mtimeMs, soon).toBeLessThan(10_000)
  })
})

test('a guard whose owner was killed while reclaiming does not block the lock', async () => {
  writeFileSync(file, ours({ pid: 2 ** 22 + 1 }))
  writeFileSync(`${file}.reclaim`, ours({ pid: 2 ** 22 + 2 }))
  expect(await take()).toBe('held')
  expect(existsSync(`${file}.reclaim`)).toBe(false)
})

test('a guard of a process that lives is respected', async () => {
  writeFileSync(file, ours({ pid: 2 ** 22 + 1 }))
  writeFileSync(`${file}.reclaim`, ours())
  await expect(take()).rejects.toMatchObject({ code: 'locked' })
})
