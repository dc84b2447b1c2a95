// 10,000 messages among 50 sessions, three of them the real binary, while gateways are killed: none lost, none twice unmarked, a
// receipt for each. On one machine with SQLite, and on two with PostgreSQL.
import { afterAll, expect, test } from 'vitest'
import { mailStorm, type MailStormReport } from '../support/mail-storm.ts'
import { startPostgres } from '../support/postgres.ts'
import { noTerminal } from '../support/terminal.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

const seed = Number(process.env['STORM_SEED']) || Date.now() % 1_000_000
const messages = Number(process.env['STORM_MESSAGES']) || 10_000
const size = { sessions: 50, real: noTerminal === undefined ? 3 : 0, messages, kills: 12, seed }
process.stderr.write(`mail storm with STORM_SEED=${seed}\n`)

function check(where: string, report: MailStormReport): void {
  process.stderr.write(`mail storm on ${where}: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ lost: [], twiceUnmarked: [], withoutReceipt: [], real: size.real })
  expect(report.kills).toBeGreaterThan(1)
}

test('one machine with SQLite', async () => {
  check('SQLite', await mailStorm({ ...size, machines: 1 }))
})

test('two machines with PostgreSQL', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  check('PostgreSQL', await mailStorm({ ...size, machines: 2, databaseUrl: url }))
}, 1_800_000)
