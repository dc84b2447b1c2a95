import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { workStoreContract } from '../../../test/support/work-store-contract.ts'
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
