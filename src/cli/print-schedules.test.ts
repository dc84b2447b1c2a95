import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printList = await findPrinter('schedules.list')
const printShow = await findPrinter('schedules.show')
const printLog = await findPrinter('schedules.log')
const hour = 3_600_000
const page = { width: 100, color: false, now: 1_000 * hour }
const narrow = { ...page, width: 60 }

const run = {
  id: 's|1',
  scheduleId: 's',
  dueAt: page.now - 3 * hour,
  begunAt: page.now - 2 * hour,
  endedAt: page.now - hour,
  state: 'ended',
  note: 'nightly-Saa32eb7: All 31 tests pass.',
  costUsd: 0.6,
}
const schedule = {
  id: 's',
  name: 'nightly-tests',
  agentId: 'main',
  action: { kind: 'coding', text: 'Run the tests', workdir: '/repo' },
  times: 'daily 2:30 (UTC)',
  nextTimes: [page.now + 2 * hour],
  missed: 'once',
  overlap: 'queue',
  runBudgetUsd: 3,
  totalBudgetUsd: 20,
  spentUsd: 0.6,
  lastRun: run,
}

test('the list says what comes and what each schedule cost; without one it says how to add one', () => {
  const rows = {
    schedules: [schedule, { ...schedule, name: 'off', paused: 'Paused by the owner.' }],
    claude: [],
  }
  const text = printList({ ...rows, total: 5 }, page)
  expect(text).toMatch(/nightly-tests +coding +daily 2:30 \(UTC\) +in 2 h +ended 3 h ago +\$0.60/)
  expect(text).toMatch(/off .* paused/)
  expect(text).toContain('3 more: --limit 5')
  expect(printList({ schedules: [], claude: [], total: 0 }, page)).toMatch(
    /^No schedules yet. Add one: rockpool/,
  )
})

test('a schedule shows its policies and its budget', () => {
  const text = printShow({ ...schedule, runs: [run] }, page)
  expect(text).toMatch(/Missed +run once, late\n/)
  expect(text).toMatch(/Overlap +queue the later run\n/)
  expect(text).toMatch(/Budget +\$3.00 for each run, \$20.00 in total/)
})

test('the log says what ran, how late, and what it cost, and fits into a narrow terminal', () => {
  const runs = [{ ...run, name: 'nightly-tests' }]
  expect(printLog({ runs }, page)).toMatch(/nightly-tests +ended +1 h +1 h +\$0.60 +nightly-Saa32eb7/)
  const lines = printLog({ runs }, narrow).split('\n')
  expect(lines.every((line) => line.length <= 60)).toBe(true)
  expect(lines.at(-1)).toMatch(/nightly-tests +ended +\$0.60/)
  expect(printLog({ runs: [] }, page)).toBe('Nothing ran yet.')
})
