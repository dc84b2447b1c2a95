// What must be done once in a while is done once over all machines: two programs that both have a heartbeat.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { makeClaudeHome } from '../support/claude-home.ts'
import { startPostgres } from '../support/postgres.ts'
import { startProgram } from '../support/program.ts'
import { end } from '../support/telegram-storm.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

test('of two machines with the same heartbeat one runs it each time, and the other takes over when that one is killed', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const everyMs = 3_000
  const homes = [0, 1].map((n) => {
    const home = makeClaudeHome({ apiUrl: 'http://127.0.0.1:9', name: `beat-${n}` })
    const workspace = join(home.root, 'workspace')
    mkdirSync(workspace)
    writeFileSync(join(workspace, 'HEARTBEAT.md'), '- look at the oven\n')
    home.variables['ROCKPOOL_DATABASE_URL'] = url
    const config = {
      store: 'postgres',
      machine: { name: `m${n}` },
      claude: { credential: 'none' },
      agents: { list: [{ id: 'main', workspace, heartbeat: { every: `${everyMs / 1_000}s` } }] },
    }
    writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
    return home
  })
  const programs = homes.map(({ variables }) => startProgram(['up', '--port', '0', '--json'], variables))
  const postgres = new Postgres({ url, clock: systemClock, log: silentLog, maxConnections: 2 })
  try {
    await Promise.all(programs.map(({ line }) => line))
    const beats = async (): Promise<number[]> => {
      const rows = await postgres.read<{ at: number }>('SELECT accepted_at AS at FROM inbox ORDER BY id')
      return rows.map(({ at }) => at)
    }
    await expect.poll(async () => (await beats()).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4)
    await end(programs[0]!.child, 'SIGKILL')
    const before = (await beats()).length
    await expect.poll(async () => (await beats()).length, { timeout: 60_000 }).toBeGreaterThan(before + 2)
    const at = await beats()
    const most = (at.at(-1)! - at[0]!) / everyMs + 2
    expect(at.length).toBeLessThanOrEqual(most)
  } finally {
    await Promise.all(programs.map(({ child }) => end(child, 'SIGTERM')))
    await postgres.close()
    for (const home of homes) home.remove()
  }
})
