import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import { silentLog } from '../domain/log.ts'
import type { Schedule, ScheduleRun } from '../domain/schedule.ts'
import { ScheduleStore } from '../store/sqlite/schedule-store.ts'
import { openStateDatabase } from '../store/sqlite/state-database.ts'
import { newRun, ScheduleRunner, type RunOutcome } from './schedule-runner.ts'

const start = Date.parse('2026-11-17T08:00:00Z')
const minute = 60_000
const hour = 60 * minute

interface Bench {
  store: ScheduleStore
  /** How long the timer was asked to wait, each time. */
  delays: number[]
  /** Time passes while no runner is awake. */
  sleep(ms: number): void
  /** Time passes; the runner wakes up at least every ten minutes. */
  pass(ms: number): Promise<void>
  /** What began, under its run, once each. */
  begun: Map<string, Schedule>
  /** Each step of a run, as `<machine> <run>`. */
  steps: string[]
  told: string[]
  stopped: string[]
  outcome: (run: ScheduleRun) => RunOutcome | undefined
  /** Happens while the runner asks whether the schedule may run. */
  beforeBegin: (schedule: Schedule) => Promise<void>
  runner: ScheduleRunner
  /** The runner of a process or machine that has just started. */
  another(machine?: string, alive?: boolean): ScheduleRunner
  add(more?: Partial<Schedule>): Promise<Schedule>
  log(schedule: Schedule): string[]
}

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function open(): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-schedules-'))
  const database = openStateDatabase(join(folder, 'rockpool.sqlite'), { durability: 'relaxed' })
  let now = start
  const delays: number[] = []
  const clock: Clock = {
    now: () => now,
    monotonic: () => now - start,
    after(ms) {
      delays.push(ms)
      return () => {}
    },
  }
  const store = new ScheduleStore(database)
  const begun = new Map<string, Schedule>()
  const steps: string[] = []
  const [told, stopped]: [string[], string[]] = [[], []]
  const runners: ScheduleRunner[] = []
  const bench: Bench = {
    store,
    delays,
    sleep: (ms) => void (now += ms),
    async pass(ms) {
      for (let left = ms; left > 0; left -= 10 * minute) {
        now += Math.min(left, 10 * minute)
        await bench.runner.look()
        await bench.runner.look()
      }
    },
    begun,
    steps,
    told,
    stopped,
    outcome: () => ({ state: 'ended', note: 'done', costUsd: 1 }),
    beforeBegin: async () => {},
    runner: undefined as unknown as ScheduleRunner,
    another(machine = 'here', alive = false) {
      const runner = new ScheduleRunner({
        store,
        clock,
        machine,
        log: silentLog,
        lives: async () => alive,
        actions: {
          async refusal(schedule) {
            await bench.beforeBegin(schedule)
            return undefined
          },
          async advance(schedule, run) {
            begun.set(run.id, schedule)
            steps.push(`${machine} ${run.id}`)
            return bench.outcome(run)
          },
          stop: async (_schedule, run) => void stopped.push(run.id),
          tell: async (_schedule, _run, text) => void told.push(text),
        },
      })
      runners.push(runner)
      return runner
    },
    add: (more = {}) =>
      store.add({
        name: `s${store.list().length}`,
        agentId: 'main',
        author: 'owner',
        when: { kind: 'every', everyMs: hour, from: start },
        action: { kind: 'turn', text: 'hello' },
        jitterSeconds: 0,
        missed: 'once',
        overlap: 'skip',
        createdAt: start,
        nextDue: start + hour,
        ...more,
      }),
    log: (schedule) =>
      store
        .runs({ scheduleId: schedule.id, limit: 100 })
        .toReversed()
        .map(({ state, dueAt }) => `${new Date(dueAt).toISOString().slice(11, 16)} ${state}`),
  }
  bench.runner = bench.another()
  closing.push(async () => {
    for (const runner of runners) await runner.stop()
    await database.close()
    rmSync(folder, { recursive: true })
  })
  return bench
}

test('a schedule runs at each of its times, once, with receipts', async () => {
  const bench = open()
  const schedule = await bench.add()
  await bench.pass(3 * hour + minute)
  expect(bench.log(schedule)).toEqual(['09:00 ended', '10:00 ended', '11:00 ended'])
  expect(bench.begun.size).toBe(3)
  const [run] = bench.store.runs({ scheduleId: schedule.id, limit: 1 })
  const receipts = [run!.dueAt, run!.writtenAt, run!.begunAt!, run!.endedAt!, run!.toldAt!]
  expect(receipts).toEqual(receipts.toSorted((a, b) => a - b))
  expect(bench.store.spentUsd(schedule.id)).toBe(3)
  expect(bench.told).toEqual([])
})

test.each([
  ['skip', ['09:00 skipped', '10:00 skipped', '11:00 skipped'], 3, /did not run: Missed/],
  ['once', ['11:00 ended'], 1, /ran late.*2 earlier/],
  ['all', ['09:00 ended', '10:00 ended', '11:00 ended'], 3, /ran late/],
] as const)('after a sleep over three times with %s', async (missed, log, notices, says) => {
  const bench = open()
  const schedule = await bench.add({ missed })
  bench.sleep(3 * hour + 30 * minute)
  await bench.pass(10_000)
  expect(bench.log(schedule)).toEqual(log)
  expect(bench.told).toHaveLength(notices)
  expect(bench.told.at(-1)).toMatch(says)
  // The next time is not affected.
  await bench.pass(30 * minute)
  expect(bench.log(schedule).at(-1)).toBe('12:00 ended')
})

test.each([
  ['skip', ['09:00 begun', '10:00 skipped'], 0],
  ['queue', ['09:00 begun', '10:00 due'], 0],
  ['replace', ['09:00 ended', '10:00 begun'], 1],
] as const)('a run that is due while the one before works: %s', async (overlap, log, stopped) => {
  const bench = open()
  const schedule = await bench.add({ overlap })
  bench.outcome = () => undefined
  await bench.pass(2 * hour + minute)
  expect(bench.log(schedule)).toEqual(log)
  expect(bench.stopped).toHaveLength(stopped)
  bench.outcome = () => ({ state: 'ended', note: '', costUsd: 0 })
  await bench.pass(2 * minute)
  expect(bench.log(schedule).every((line) => /ended|skipped/.test(line))).toBe(true)
})

test('a run that waits when its schedule is paused does not begin; one that a person asks for does', async () => {
  const bench = open()
  const schedule = await bench.add({ overlap: 'queue' })
  bench.outcome = () => undefined
  await bench.pass(2 * hour + minute)
  expect(bench.log(schedule)).toEqual(['09:00 begun', '10:00 due'])
  await bench.store.change(schedule.id, () => ({ paused: 'Paused by the owner.' }))
  bench.outcome = () => ({ state: 'ended', note: '', costUsd: 0 })
  await bench.pass(2 * hour)
  expect(bench.log(schedule)).toEqual(['09:00 ended', '10:00 skipped'])
  const now = start + 4 * hour + minute
  await bench.store.addRun({ ...newRun(schedule, now, now), manual: true, byOwner: true })
  await bench.runner.look()
  expect(bench.log(schedule)).toEqual(['09:00 ended', '10:00 skipped', '12:01 ended'])
})

test('a run that a program asks for does not begin once the owner has paused the schedule', async () => {
  const bench = open()
  const schedule = await bench.add({ overlap: 'queue' })
  bench.outcome = () => undefined
  await bench.pass(hour)
  const now = start + hour + minute
  bench.sleep(minute)
  // It waits for the run of 09:00.
  await bench.store.addRun({ ...newRun(schedule, now, now), manual: true })
  await bench.runner.look()
  expect(bench.log(schedule)).toEqual(['09:00 begun', '09:01 due'])
  await bench.store.change(schedule.id, () => ({ paused: 'Paused by the owner.' }))
  bench.outcome = () => ({ state: 'ended', note: '', costUsd: 0 })
  await bench.pass(minute)
  expect(bench.log(schedule)).toEqual(['09:00 ended', '09:01 skipped'])
  // What a program paused, a program may run.
  await bench.store.change(schedule.id, () => ({ paused: 'Paused by a program.' }))
  await bench.store.addRun({ ...newRun(schedule, now + 1, now + 1), manual: true })
  await bench.runner.look()
  expect(bench.log(schedule).at(-1)).toBe('09:01 ended')
})

test.each(['paused', 'removed'])(
  'a run does not begin when its schedule is %s at the same moment',
  async (what) => {
    const bench = open()
    const schedule = await bench.add()
    bench.beforeBegin = async ({ id }) => {
      if (what === 'removed') await bench.store.remove(id)
      else await bench.store.change(id, () => ({ paused: 'Paused by the owner.' }))
    }
    await bench.pass(hour)
    expect([...bench.begun]).toEqual([])
    expect(bench.log(schedule)).toEqual(['09:00 skipped'])
  },
)

test('a stop between the row and the start, or after the start, repeats nothing; another machine takes over', async () => {
  const bench = open()
  const schedule = await bench.add()
  bench.outcome = () => undefined
  await bench.pass(hour)
  expect(bench.log(schedule)).toEqual(['09:00 begun'])
  await bench.runner.stop()
  const watching = bench.another('there', true)
  bench.outcome = () => ({ state: 'ended', note: '', costUsd: 0 })
  await watching.look()
  // Its machine is alive and follows it.
  expect(bench.log(schedule)).toEqual(['09:00 begun'])
  await bench.another('there', false).look()
  expect(bench.log(schedule)).toEqual(['09:00 ended'])
  expect([...bench.begun.keys()]).toEqual([`${schedule.id}|${start + hour}`])
})

test('rows that were written before a stop are not written again', async () => {
  const bench = open()
  const schedule = await bench.add({ missed: 'all' })
  bench.sleep(2 * hour + minute)
  const due = { scheduleId: schedule.id, state: 'due', writtenAt: start, costUsd: 0 } as const
  const dueAt = start + hour
  await bench.store.addRun({ ...due, id: `${schedule.id}|${dueAt}`, dueAt, beginAt: dueAt })
  await bench.runner.look()
  expect(bench.log(schedule)).toEqual(['09:00 ended', '10:00 ended'])
})

test('two machines that look at the same moment begin each run once', async () => {
  const bench = open()
  const schedule = await bench.add()
  bench.sleep(hour)
  const [one, two] = [bench.another('one', true), bench.another('two', true)]
  await Promise.all([one.look(), two.look()])
  expect(bench.log(schedule)).toEqual(['09:00 ended'])
  // One machine claims the run and takes every step of it.
  expect(bench.steps).toHaveLength(1)
})

test('a due time that another machine has written keeps its run', async () => {
  const bench = open()
  const schedule = await bench.add()
  await bench.pass(hour)
  const [run] = bench.store.runs({ scheduleId: schedule.id, limit: 1 })
  expect(await bench.store.addRun(newRun(schedule, run!.dueAt, start))).toBe(false)
  expect(bench.store.run(run!.id)).toEqual(run)
})

test('a budget that is used up pauses the schedule and says so; a failure is reported; an outage delays the run', async () => {
  const bench = open()
  const schedule = await bench.add({ totalBudgetUsd: 1.5 })
  let isAway = true
  bench.outcome = () => {
    if (isAway) throw new RockpoolError('unavailable', 'away')
    return { state: 'ended', note: '', costUsd: 1 }
  }
  await bench.pass(hour + minute)
  expect(bench.log(schedule)).toEqual(['09:00 begun'])
  isAway = false
  await bench.pass(4 * hour)
  expect(bench.log(schedule)).toEqual(['09:00 ended', '10:00 ended', '11:00 skipped'])
  expect(bench.store.get(schedule.id)?.paused).toMatch(/\$2.00 of \$1.50/)
  expect(bench.told.at(-1)).toMatch(/did not run: Its budget is used up/)
  const fails = await bench.add()
  bench.outcome = () => {
    throw new RockpoolError('not-found', 'There is no repository.')
  }
  await bench.pass(hour + minute)
  expect(bench.log(fails)).toEqual(['13:00 failed', '14:00 failed'])
  expect(bench.told.at(-1)).toMatch(/failed: There is no repository/)
})

test('a clock that jumps back runs nothing twice, and forward is a sleep', async () => {
  const bench = open()
  const schedule = await bench.add()
  bench.sleep(hour)
  await bench.runner.look()
  const earlier = open()
  const copy = await earlier.add()
  // The clock of the other bench still shows 8:00; the run of 9:00 exists there, too.
  await earlier.store.addRun({
    ...bench.store.runs({ limit: 1 })[0]!,
    id: `${copy.id}|${start + hour}`,
    scheduleId: copy.id,
  })
  earlier.sleep(hour + minute)
  await earlier.runner.look()
  expect(earlier.log(copy)).toEqual(['09:00 ended'])
  expect(bench.log(schedule)).toEqual(['09:00 ended'])
  expect(earlier.begun.size).toBe(0)
})

test('the timer waits for the next due time, and looks every few seconds in case that a clock jumps', async () => {
  const bench = open()
  await bench.add({ nextDue: start + 3_000 })
  await bench.add({ nextDue: start + 4_000 })
  bench.runner.start()
  await bench.runner.look()
  expect(bench.delays.at(-1)).toBe(3_000)
  await bench.store.change(bench.store.list()[0]!.id, () => ({ paused: 'test' }))
  await bench.runner.look()
  expect(bench.delays.at(-1)).toBe(4_000)
  await bench.store.change(bench.store.list()[0]!.id, () => ({ paused: 'test' }))
  await bench.runner.look()
  expect(bench.delays.at(-1)).toBe(5_000)
})

test('a schedule that is removed leaves no run behind that waits', async () => {
  const bench = open()
  const schedule = await bench.add()
  bench.outcome = () => undefined
  await bench.pass(hour)
  expect(bench.log(schedule)).toEqual(['09:00 begun'])
  await bench.store.remove(schedule.id)
  await bench.runner.look()
  expect(bench.log(schedule)).toEqual(['09:00 ended'])
  expect(bench.store.unfinished()).toEqual([])
})
