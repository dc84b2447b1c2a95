// Several Rockpools on one PostgreSQL, as on several machines: the real program, each with a home of its own, all with the
// same bot; one of them is killed every few moments and comes back. What was lost, said twice, or said out of order?
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { serversIn } from '../../src/store/postgres/servers.ts'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { inline, startMessagesApi } from './messages-api.ts'
import { NetworkLine } from './network-line.ts'
import { anySeed } from './random.ts'
import type { TestPostgres, TestPostgresPair } from './postgres.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'
import {
  StormProgress,
  check,
  configFor,
  end,
  pause,
  givenUpRows,
  readOutbox,
  start,
  wronglyRecorded,
  writeAll,
} from './telegram-storm.ts'
import type { StormOutbox, StormRow, TelegramStormReport } from './telegram-storm.ts'

export interface MachineStorm {
  machines: number
  chats: number
  /** Messages of each chat. */
  each: number
  kills: number
  /** How long it takes from one kill to the next, at most. */
  maxLifeMs: number
  /** How long a database that is stopped is away; half of that unless given. */
  downMs?: number
  /** The same seed gives the same choices; the moments still depend on the machine. */
  seed?: number
}

export interface MachineStormReport extends TelegramStormReport {
  /** How many turns each machine took. */
  turnsOf: Record<string, number>
  /** How many messages ended in which way. */
  ends: Record<string, number>
  /** What people were shown that names the database. */
  leaks: string[]
  /** Turns that were cut off, and taken again. */
  cutOff: number
  /** Messages that were given up although the agent was not asked twice. */
  givenUpTooSoon: string[]
}

/** One machine is killed every few moments, and comes back. */
export function machineStorm(url: string, storm: MachineStorm): Promise<MachineStormReport> {
  return stormOn(url, storm, (machines, progress) => killMachines(storm, machines, progress))
}

/** One machine is stopped in the middle of it, as for an update, and does not come back. */
export function machineLeaves(
  url: string,
  size: { chats: number; each: number },
): Promise<MachineStormReport> {
  const storm = { machines: 2, kills: 1, maxLifeMs: 1_000, ...size }
  return stormOn(url, storm, async ([first], progress) => {
    await progress.nextMoment()
    await end(first!.child, 'SIGTERM')
    progress.kills += 1
  })
}

/** The database itself goes away: its connections are cut, and it is stopped at once and started again. */
export function outageStorm(server: TestPostgres, storm: MachineStorm): Promise<MachineStormReport> {
  const disturb: Disturb = async (_machines, progress, postgres) => {
    while (progress.kills < storm.kills) {
      await progress.nextMoment()
      if (progress.kills % 2 === 1) await server.restart(storm.downMs ?? storm.maxLifeMs / 2)
      else await cutConnections(postgres)
      progress.kills += 1
    }
  }
  return stormOn(server.url, storm, disturb, overIn)
}

/** The network between machines and database is cut for a while: of one machine, or of all. */
export async function cutOffStorm(
  url: string,
  storm: MachineStorm,
  whose: 'one' | 'all',
): Promise<MachineStormReport> {
  const lines = await Promise.all(Array.from({ length: storm.machines }, () => NetworkLine.open(url)))
  const disturb: Disturb = async (_machines, progress) => {
    while (progress.kills < storm.kills) {
      await progress.nextMoment()
      const cut = whose === 'all' ? lines : [lines[progress.kills % lines.length]!]
      for (const { line } of cut) line.cut()
      await pause(storm.downMs ?? storm.maxLifeMs)
      for (const { line } of cut) line.mend()
      progress.kills += 1
    }
  }
  try {
    const urls = lines.map((line) => line.url)
    return await stormOn(url, storm, disturb, overIn, urls)
  } finally {
    for (const { line } of lines) line.close()
  }
}

/** The server that accepts writes is killed in the middle, or hands over as planned, and its standby takes over. */
export function failoverStorm(
  pair: TestPostgresPair,
  storm: MachineStorm,
  how: 'failOver' | 'switchOver' = 'failOver',
): Promise<MachineStormReport> {
  const disturb: Disturb = async (_machines, progress, postgres) => {
    await progress.nextMoment()
    await pair[how]()
    // A connection that only reads, like this one, does not notice that the others have left.
    await postgres.untilBack(() => postgres.write('DELETE FROM lane WHERE false'))
    progress.kills += 1
  }
  return stormOn(pair.url, storm, disturb, overIn)
}

/** Counts each disturbance in `progress.kills`. */
type Disturb = (machines: Machine[], progress: StormProgress, postgres: Postgres) => Promise<void>

interface Machine {
  home: ClaudeHome
  child: ChildProcess
}

async function stormOn(
  url: string,
  storm: MachineStorm,
  disturb: Disturb,
  isOver: typeof answered = answered,
  /** How each machine reaches the database, where not all do in the same way. */
  urls: string[] = [],
): Promise<MachineStormReport> {
  const telegram = await TelegramApi.listen()
  const homes = Array.from({ length: storm.machines }, (_, n) => makeMachine(urls[n] ?? url, telegram, n))
  const postgres = new Postgres({ url, clock: systemClock, log: silentLog, maxConnections: 2 })
  const { seed = anySeed() } = storm
  const size = { ...storm, seed, faultsPerHundred: 0 }
  const started = homes.map((home) => start(home))
  const machines = started.map(({ child }, n) => ({ home: homes[n]!, child }))
  try {
    await Promise.all(started.map(({ ready }) => ready))
    const progress = new StormProgress(size, telegram)
    await Promise.all([disturb(machines, progress, postgres), writeAll(size, telegram, progress)])
    await isOver(size, telegram, postgres)
    await Promise.all(machines.map(({ child }) => end(child, 'SIGTERM')))
    const outbox = await outboxOf(postgres)
    const { missing: _, ...report } = check(size, telegram.shown, outbox)
    const hosts = serversIn(url).map((server) => new URL(server).host)
    const leaks = telegram.shown
      .map(({ text }) => text)
      .filter((text) => hosts.some((host) => text.includes(host)))
    return {
      seed,
      kills: progress.kills,
      faults: 0,
      ...report,
      ...wronglyRecorded(storm, await transcriptsIn(postgres), outbox),
      turnsOf: await turnsOf(postgres),
      ends: await endsIn(postgres),
      leaks,
      cutOff: await cutOffIn(postgres),
      givenUpTooSoon: await givenUpTooSoonIn(postgres),
    }
  } finally {
    await Promise.all(machines.map(({ child }) => end(child, 'SIGKILL')))
    await postgres.close()
    await telegram.close()
    for (const home of homes) home.remove()
  }
}

async function cutConnections(postgres: Postgres): Promise<void> {
  await postgres.read(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'rockpool%' AND pid <> pg_backend_pid()",
  )
}

function makeMachine(url: string, telegram: TelegramApi, n: number): ClaudeHome {
  const home = makeClaudeHome({ apiUrl: 'http://127.0.0.1:9', name: `machine-${n}` })
  home.variables['ROCKPOOL_DATABASE_URL'] = url
  const config = { ...configFor(telegram), store: 'postgres', machine: { name: `m${n}`, turnsAtOnce: 8 } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  return home
}

/** Kills one after the other at random moments; each comes back at once. */
async function killMachines(
  storm: MachineStorm,
  machines: Machine[],
  progress: StormProgress,
): Promise<void> {
  while (progress.kills < storm.kills) {
    await progress.nextMoment()
    const machine = machines[Math.floor(progress.random() * machines.length)]!
    await end(machine.child, 'SIGKILL')
    progress.kills += 1
    const again = start(machine.home)
    machine.child = again.child
    await again.ready
  }
}

async function answered(
  storm: MachineStorm & { faultsPerHundred: number },
  telegram: TelegramApi,
  postgres: Postgres,
): Promise<void> {
  for (;;) {
    const { lost } = check(storm, telegram.shown, await postgres.untilBack(() => outboxOf(postgres)))
    if (lost.length === 0 && telegram.pending.length === 0) return
    // To read the whole outbox takes a good part of a second.
    await pause(1_000)
  }
}

/** Everything that was accepted has come to an end, and everything was said. */
async function overIn(storm: MachineStorm, telegram: TelegramApi, postgres: Postgres): Promise<void> {
  for (;;) {
    const [row] = await postgres.untilBack(() =>
      postgres.read<{ ended: number; open: number }>(
        `SELECT (SELECT count(*) FROM inbox WHERE state NOT IN ('waiting', 'running')) AS ended,
           (SELECT count(*) FROM outbox WHERE state NOT IN ('sent', 'dead')) AS open`,
      ),
    )
    const all = storm.chats * storm.each
    if (row!.ended >= all && row!.open === 0 && telegram.pending.length === 0) return
    await pause(200)
  }
}

async function endsIn(postgres: Postgres): Promise<Record<string, number>> {
  const rows = await postgres.read<{ state: string; n: number }>(
    'SELECT state, count(*) AS n FROM inbox GROUP BY state',
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

async function cutOffIn(postgres: Postgres): Promise<number> {
  const [row] = await postgres.read<{ n: number }>("SELECT count(*) AS n FROM turn WHERE end_kind = 'lost'")
  return row!.n
}

async function givenUpTooSoonIn(postgres: Postgres): Promise<string[]> {
  const rows = await postgres.read<{ key: string }>(
    "SELECT key FROM inbox WHERE state = 'given-up' AND asked < 2",
  )
  return rows.map(({ key }) => key)
}

async function outboxOf(postgres: Postgres): Promise<StormOutbox> {
  const rows = await postgres.read<StormRow>('SELECT id, state, record FROM outbox')
  return readOutbox(rows, await postgres.read<StormRow>(givenUpRows))
}

async function transcriptsIn(postgres: Postgres): Promise<string> {
  const rows = await postgres.read<{ line: string }>('SELECT line FROM transcript_entry')
  return rows.map(({ line }) => line).join('\n')
}

async function turnsOf(postgres: Postgres): Promise<Record<string, number>> {
  const rows = await postgres.read<{ machine: string; n: number }>(
    `SELECT split_part(owner, '/', 1) AS machine, count(*) AS n FROM turn WHERE end_kind = 'completed' GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ machine, n }) => [machine, n]))
}

/** A conversation with the real Claude binary that starts on one machine, which dies, and continues on another, and back. */
export async function conversationMoves(
  url: string,
): Promise<{ replies: string[]; seenLast: string; machines: string[] }> {
  const telegram = await TelegramApi.listen()
  const api = await startMessagesApi()
  const homes = [0, 1].map((n) => {
    const home = makeClaudeHome({ apiUrl: api.url, name: `talk-${n}` })
    home.variables['ROCKPOOL_DATABASE_URL'] = url
    const config = {
      ...configFor(telegram),
      claude: { maxRetries: 1 },
      agents: { defaults: { model: testModel } },
      store: 'postgres',
      machine: { name: `m${n}` },
    }
    writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
    return home
  })
  const postgres = new Postgres({ url, clock: systemClock, log: silentLog, maxConnections: 2 })
  const person = { id: 7, name: 'Ann' }
  const children: ChildProcess[] = []
  const say = async (text: string, answer: string): Promise<void> => {
    const words = `${text} ${inline({ text: answer })}`
    telegram.emit({ message: personMessage(telegram, person, { id: person.id }, words) })
    while (!telegram.shown.some((one) => one.text.includes(answer))) await pause(50)
  }
  const up = async (n: number): Promise<void> => {
    const { child, ready } = start(homes[n]!)
    children[n] = child
    await ready
  }
  try {
    await up(0)
    await say('the word is walnut', 'noted one')
    await up(1)
    await end(children[0]!, 'SIGKILL')
    await say('the colour is teal', 'noted two')
    await up(0)
    await end(children[1]!, 'SIGKILL')
    await say('what did I say', 'noted three')
    const turns = await postgres.read<{ machine: string }>(
      `SELECT split_part(owner, '/', 1) AS machine FROM turn WHERE end_kind = 'completed' ORDER BY started_at`,
    )
    const replies = telegram.shown.map((one) => one.text)
    return { replies, seenLast: api.calls().at(-1)!.text, machines: turns.map(({ machine }) => machine) }
  } finally {
    await Promise.all(children.map((child) => end(child, 'SIGTERM')))
    await postgres.close()
    await telegram.close()
    await api.close()
    for (const home of homes) home.remove()
  }
}
