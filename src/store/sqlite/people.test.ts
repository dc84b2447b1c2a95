import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database } from './database.ts'
import { Pairing } from './people.ts'
import { openStateDatabase } from './state-database.ts'

let folder: string
let database: Database
let now = 0
let pairing: Pairing
const clock = { now: () => now, monotonic: () => now, after: () => () => {} }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-pairing-'))
  database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  now = 1_000_000
  pairing = new Pairing(database, clock)
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

const person = (senderId: string, accountId = 'default') => ({ channel: 'telegram', accountId, senderId })
const codeOf = async (senderId: string, accountId?: string): Promise<string> => {
  const answer = await pairing.request(person(senderId, accountId))
  return answer.kind === 'new' ? answer.code : answer.kind
}

test('a stranger gets one code of eight clear characters, however often they ask', async () => {
  expect(await codeOf('1')).toMatch(/^[A-HJ-NP-Z2-9]{8}$/)
  expect(await codeOf('1')).toBe('known')
  expect(await pairing.pending()).toHaveLength(1)
})

test('three wait on one account and no more, also when ten thousand ask at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10_000 }, (_, n) => pairing.request(person(String(n)))),
  )
  expect(answers.filter((answer) => answer.kind === 'new')).toHaveLength(3)
  expect(await pairing.pending()).toHaveLength(3)
  expect(await codeOf('x', 'work')).toHaveLength(8)
})

test('a code counts for an hour', async () => {
  const code = await codeOf('1')
  now += 3_600_000
  await expect(pairing.approve(code, { mayMakeOwner: true })).rejects.toThrow(/No pairing request/)
  expect(await pairing.pending()).toEqual([])
  expect(await codeOf('1')).not.toBe(code)
})

test('the first person approved on the command line owns the place; later ones do not', async () => {
  const first = await pairing.approve((await codeOf('1')).toLowerCase(), { mayMakeOwner: true })
  const second = await pairing.approve(await codeOf('2'), { mayMakeOwner: true })
  expect([first.owner, second.owner]).toEqual([true, false])
  expect(pairing.find(person('1'))).toMatchObject({ owner: true })
})

test('nobody becomes owner by an approval from elsewhere', async () => {
  expect(await pairing.approve(await codeOf('1'), { mayMakeOwner: false })).toMatchObject({ owner: false })
  expect(await pairing.approve(await codeOf('2'), { mayMakeOwner: true })).toMatchObject({ owner: true })
})

test('a code is used once, and a denied one no more', async () => {
  const code = await codeOf('1')
  await pairing.approve(code, { mayMakeOwner: true })
  await expect(pairing.approve(code, { mayMakeOwner: true })).rejects.toThrow(/No pairing request/)
  const other = await codeOf('2')
  await pairing.deny(other)
  await expect(pairing.approve(other, { mayMakeOwner: true })).rejects.toThrow()
  expect(pairing.find(person('2'))).toBeUndefined()
})

test('a person paired with one account is a stranger to another', async () => {
  await pairing.approve(await codeOf('1'), { mayMakeOwner: true })
  expect(pairing.find(person('1', 'work'))).toBeUndefined()
})

test('approvals survive a restart, in a file for us alone', async () => {
  await pairing.approve(await codeOf('1'), { mayMakeOwner: true })
  await database.close()
  database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  const again = new Pairing(database, clock)
  expect((await again.people()).map((one) => one.senderId)).toEqual(['1'])
  expect(statSync(join(folder, 'rockpool.sqlite')).mode & 0o777).toBe(0o600)
  expect(await again.remove(person('1'))).toBe(true)
  expect(again.find(person('1'))).toBeUndefined()
})
