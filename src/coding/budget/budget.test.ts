import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStateDatabase } from '../../store/sqlite/state-database.ts'
import { SpendStore } from '../../store/sqlite/spend-store.ts'
import { budgetsLeft } from './budget.ts'

const today = '2026-11-16'
const at = Date.parse(`${today}T12:00:00Z`)

test('every limit that is set says what is left of it, for whom, and when it runs out', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-budget-'))
  const db = openStateDatabase(join(folder, 'spend.db'))
  const spend = new SpendStore(db)
  const add = (id: string, usd: number, agentId: string, repo: string, hoursAgo: number): Promise<void> =>
    spend.add({
      id,
      usd,
      agentId,
      repo,
      at: at - hoursAgo * 3_600_000,
      day: today,
      model: 'm',
      subagent: false,
    })
  await add('a', 1, 'main', '/code/shop', 0.5)
  await add('b', 2, 'work', '/code/shop', 3)
  const limits = { usdPerDay: 10, repoUsdPerDay: 5, agentUsdPerDay: 4 }
  expect(budgetsLeft([], spend, { limits, today, at })).toEqual([
    { of: 'day', name: 'Today', limitUsd: 10, spentUsd: 3, runsOutAt: at + 7 * 3_600_000 },
    { of: 'agent', name: 'main', limitUsd: 4, spentUsd: 1, runsOutAt: at + 3 * 3_600_000 },
    { of: 'agent', name: 'work', limitUsd: 4, spentUsd: 2 },
    { of: 'repository', name: '/code/shop', limitUsd: 5, spentUsd: 3, runsOutAt: at + 2 * 3_600_000 },
  ])
  expect(budgetsLeft([], spend, { limits, today, at, agentId: 'work' })).toEqual([
    { of: 'agent', name: 'work', limitUsd: 4, spentUsd: 2 },
  ])
  await db.close()
  rmSync(folder, { recursive: true })
})
