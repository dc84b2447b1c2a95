// The stores of coding sessions with SQLite: what the contract asks, between two processes on one file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { codingStoreContract, type CodingStores } from '../../../test/support/coding-store-contract.ts'
import { ApprovalStore } from './approval-store.ts'
import { CodingStore } from './coding-store.ts'
import type { Database } from './database.ts'
import { decisionsIn } from './decisions.ts'
import { ScheduleStore } from './schedule-store.ts'
import { SpendStore } from './spend-store.ts'
import { openStateDatabase } from './state-database.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-coding-store-'))
const opened: Database[] = []
afterAll(async () => {
  for (const database of opened) await database.close()
  rmSync(folder, { recursive: true, force: true })
})

codingStoreContract(async () => {
  const path = join(folder, `${opened.length}.sqlite`)
  return { here: storesOn(path), other: async () => storesOn(path) }
})

function storesOn(path: string): CodingStores {
  const database = openStateDatabase(path, { durability: 'relaxed' })
  opened.push(database)
  return {
    coding: new CodingStore(database, { keepBlocks: 10 }),
    approvals: new ApprovalStore(database),
    spend: new SpendStore(database),
    decisions: decisionsIn(database),
    schedules: new ScheduleStore(database),
  }
}
