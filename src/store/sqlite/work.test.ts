import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { anInput, workStoreContract } from '../../../test/support/work-store-contract.ts'
import { systemClock } from '../../domain/clock.ts'
import type { Database } from './database.ts'
import { openStateDatabase } from './state-database.ts'
import { sqliteWork } from './work.ts'

const folders: string[] = []
const databases: Database[] = []

afterEach(async () => {
  for (const db of databases.splice(0)) await db.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

workStoreContract(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-work-'))
  folders.push(folder)
  let now = 1_000
  const clock = { ...systemClock, now: () => now }
  const open = () => {
    const db = openStateDatabase(join(folder, 'rockpool.sqlite'))
    databases.push(db)
    return sqliteWork(db, clock)
  }
  return { work: open(), reopen: async () => open(), at: (time) => (now = time) }
})

test('a repeated message is known only when the first one is on disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-work-'))
  folders.push(folder)
  const db = openStateDatabase(join(folder, 'rockpool.sqlite'))
  databases.push(db)
  const { inbox } = sqliteWork(db, systemClock)
  const order: string[] = []
  // A large group is synced outside the main thread.
  const inputs = Array.from({ length: 8 }, (_, n) => anInput(`k${n}`))
  const accepted = Promise.all(inputs.map((input) => inbox.accept(input))).then(() => order.push('accepted'))
  // The commit is visible before its sync has ended.
  while (!db.read((q) => q.get('SELECT 1 FROM inbox'))) await new Promise((resolve) => setImmediate(resolve))
  const known = inbox.knows(inputs[0]!.key).then((isKnown) => order.push(`known: ${isKnown}`))
  await Promise.all([accepted, known])
  expect(order).toEqual(['accepted', 'known: true'])
})
