// Schedules as people and agents use them: add with words, see what comes, and what each kind does when it is due.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openApp } from '../../app.ts'
import { scheduleCommands } from '../../chat/schedule-commands.ts'
import { systemClock } from '../../domain/clock.ts'
import type { Schedule, ScheduleRun } from '../../domain/schedule.ts'
import { wakePrompt } from '../../flow/asked-input.ts'
import { withSystemLines } from '../../inbound/prompt-context.ts'
import { newRun } from '../../schedules/schedule-runner.ts'
import { readEnvironment } from '../../store/config-file.ts'
import type { Input } from '../../store/work-store.ts'
import { perform } from '../all.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { whyTurnFailed } from './schedule-actions.ts'
import { openScheduleRunner } from './schedule-world.ts'

const home = mkdtempSync(join(tmpdir(), 'rockpool-schedules-'))
const repo = join(home, 'repo')
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent: Caller = {
  via: 'mcp',
  scopes: ['read', 'write'],
  agentId: 'main',
  sessionKey: 'agent:main:main',
}
let app: App
let now = Date.parse('2026-11-17T08:00:00Z')

/** A call to the model that costs a dollar, for prompts that the offline agent knows. */
const usage = { input: 200_000, output: 0, cacheRead: 0, cacheWrite: 0 }
const costlyCall = { type: 'usage', messageId: 'm', model: 'claude-opus-4-5', subagent: false, usage }
const spends = `[[offline: emit ${JSON.stringify(costlyCall)}]]`
const offlineScripts: Record<string, string> = {
  'Spend much and continue': `${spends} [[offline: wait 60000]]`,
  'Spend much and end': spends,
}

type Row = Schedule & { nextTimes: number[]; times: string; spentUsd: number }

beforeAll(async () => {
  mkdirSync(join(repo, '.claude'), { recursive: true })
  mkdirSync(join(home, '.rockpool'), { recursive: true })
  const config = {
    timeZone: 'Europe/Berlin',
    claude: { credential: 'none' },
    coding: { repos: { shop: repo } },
  }
  writeFileSync(join(home, '.rockpool', 'rockpool.json'), JSON.stringify(config))
  const variables = { HOME: home, CLAUDE_CONFIG_DIR: join(home, 'claude'), PATH: process.env['PATH'] }
  const clock = { ...systemClock, now: () => now }
  app = await openApp(readEnvironment(variables), { version: 'test', clock, offlineScripts })
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

const call = <T>(name: string, input: Record<string, unknown>, caller = operator): Promise<T> =>
  perform(app, `schedules.${name}`, input, caller) as Promise<T>

/** The clock shows this time, and the runner looks until the run is over. */
async function runAt(moment: number, schedule: string): Promise<ScheduleRun> {
  now = moment
  return vi.waitFor(async () => {
    await app.schedules().look()
    const { runs } = await call<{ runs: ScheduleRun[] }>('log', { schedule })
    expect(runs[0]?.toldAt).toBeDefined()
    return runs[0]!
  }, 20_000)
}

test('a schedule is added with words, and shows its next five times', async () => {
  const row = await call<Row>('add', {
    when: 'weekdays 9:00',
    text: 'Summarize my pull requests',
    do: 'wake',
  })
  expect(row).toMatchObject({
    name: 'summarize-my-pull-requests',
    times: 'weekdays 9:00 (Europe/Berlin)',
    missed: 'once',
  })
  expect(row.nextTimes.map((time) => new Date(time).toISOString().slice(5, 13))).toEqual([
    '11-18T08',
    '11-19T08',
    '11-20T08',
    '11-23T08',
    '11-24T08',
  ])
  const paused = await call<Row>('pause', { schedule: row.id })
  expect([paused.paused, paused.nextTimes]).toEqual(['Paused by the owner.', []])
  expect((await call<Row>('resume', { schedule: row.name })).paused).toBeUndefined()
  for (const when of ['in 2500000000 hours', 'every 99999999999999999 days'])
    await expect(call('add', { when, text: 'x' })).rejects.toMatchObject({
      code: 'input-invalid',
      message: `${when} is more than ten years away.`,
    })
  await expect(call('add', { when: 'weekdays 9', text: 'x' })).rejects.toMatchObject({
    code: 'input-invalid',
  })
  await expect(call('add', { when: 'daily 9:00', text: 'x', timeZone: 'Mars/Base' })).rejects.toMatchObject({
    message: '"Mars/Base" is not a time zone.',
    hint: expect.stringContaining('Europe/Berlin') as string,
  })
  await expect(call('add', { when: 'daily 9:00', text: 'x', name: row.name })).rejects.toMatchObject({
    code: 'conflict',
  })
  await call('remove', { schedule: row.name })
  await expect(call('show', { schedule: row.name })).rejects.toMatchObject({ code: 'not-found' })
})

/** Transactions in the write-ahead log: the header of the last frame of each has a size. */
function commitsInLog(path: string): number {
  const log = readFileSync(path)
  const salts = log.subarray(16, 24)
  const frames = Math.floor((log.length - 32) / (24 + 4_096))
  const headers = Array.from({ length: frames }, (_, n) => log.subarray(32 + n * (24 + 4_096)))
  return headers.filter((frame) => frame.readUInt32BE(4) > 0 && frame.subarray(8, 16).equals(salts)).length
}

test('adding a schedule takes one commit', async () => {
  const path = join(home, '.rockpool', 'rockpool.sqlite-wal')
  await call('add', { when: 'daily 9:00', text: 'x', name: 'before' })
  const before = commitsInLog(path)
  await call('add', { when: 'daily 9:00', text: 'x', name: 'one-commit' })
  expect(commitsInLog(path)).toBe(before + 1)
  for (const schedule of ['before', 'one-commit']) await call('remove', { schedule })
})

test('a turn of an agent is taken once, and its run has every receipt', async () => {
  const { name, nextDue } = await call<Row>('add', { text: 'in 5 minutes Say hello', name: 'hello' })
  const run = await runAt(nextDue!, name)
  expect(run).toMatchObject({ state: 'ended', dueAt: nextDue, note: 'The agent took its turn.' })
  const turns = await app.storage.work.lanes.history({ lane: 'agent:main:main' })
  await app.schedules().look()
  expect(turns).toHaveLength(1)
  expect((await call<Row>('show', { schedule: name })).nextTimes).toEqual([])
})

test('the budget of a run stops the turn of an agent, and no more than the rest of the total is spent', async () => {
  const add = (text: string): Promise<Row> =>
    call('add', { when: 'in 5 minutes', text, name: text, runBudgetUsd: 50, totalBudgetUsd: 0.5 })
  const { nextDue: first } = await add('Spend much and continue')
  expect(await runAt(first!, 'Spend much and continue')).toMatchObject({
    state: 'failed',
    note: 'The turn reached its budget and was stopped.',
  })
  // A turn that ends with the call that reaches the budget is complete.
  const { nextDue: second } = await add('Spend much and end')
  expect(await runAt(second!, 'Spend much and end')).toMatchObject({ state: 'ended' })
})

test('a wake starts a turn of the agent for the text, once', async () => {
  const { nextDue } = await call<Row>('add', { when: 'in 5 minutes', text: 'Mail came', do: 'wake' })
  expect(await runAt(nextDue!, 'mail-came')).toMatchObject({ state: 'ended' })
  const turns = await app.storage.work.lanes.history({ lane: 'agent:main:main', since: nextDue })
  expect(turns.map(({ kind }) => kind)).toEqual(['heartbeat'])
})

test('the budget of a run stops the turn of a wake, and what the turn has cost is part of the total', async () => {
  const input = { when: 'in 5 minutes', text: 'Much mail', do: 'wake', runBudgetUsd: 0.5, totalBudgetUsd: 5 }
  const { id, nextDue } = await call<Row>('add', input)
  const prompt = withSystemLines(wakePrompt, [], [{ text: 'Much mail', at: nextDue! }], 'Europe/Berlin')
  offlineScripts[prompt] = offlineScripts['Spend much and continue']!
  expect(await runAt(nextDue!, id)).toMatchObject({
    state: 'failed',
    note: 'The turn reached its budget and was stopped.',
    costUsd: 1,
  })
  expect(await call<Row>('show', { schedule: id })).toMatchObject({ spentUsd: 1 })
})

test('a run that began before the inbox and the outbox forgot its key is not repeated, and says so', async () => {
  const { id } = await call<Row>('add', { when: 'daily 9:00', text: 'x', name: 'old' })
  const dueAt = now - 7 * 86_400_000
  const run = {
    id: `${id}|${dueAt}`,
    scheduleId: id,
    dueAt,
    beginAt: dueAt,
    writtenAt: dueAt,
    begunAt: dueAt,
  }
  await app.storage.schedules.addRun({ ...run, state: 'begun', machine: 'gone', costUsd: 0 })
  const ended = await vi.waitFor(async () => {
    await app.schedules().look()
    expect(app.storage.schedules.run(run.id)?.toldAt).toBeDefined()
    return app.storage.schedules.run(run.id)!
  })
  expect([ended.state, ended.note]).toEqual(['failed', expect.stringContaining('It is not repeated.')])
  await call('remove', { schedule: 'old' })
})

test('a message is left in the outbox once', async () => {
  const input = { text: 'in 5 minutes Stand-up', do: 'message', to: 'telegram|42', name: 'stand-up' }
  const { nextDue } = await call<Row>('add', input)
  expect(await runAt(nextDue!, 'stand-up')).toMatchObject({ state: 'ended' })
  const rows = await app.storage.work.outbox.list({ limit: 10 })
  expect(rows.filter(({ delivery }) => delivery.reply.text === 'Stand-up')).toHaveLength(1)
})

test('a coding session is started under an id that follows from the run, and its end is the end of the run', async () => {
  const input = {
    when: 'in 5 minutes',
    text: 'Fix it',
    do: 'coding',
    workdir: 'shop',
    runBudgetUsd: 2,
    name: 'fix',
  }
  const { nextDue } = await call<Row>('add', input)
  const run = await runAt(nextDue!, 'fix')
  expect(run).toMatchObject({ state: 'ended' })
  const [session, ...others] = app.storage.coding.list()
  expect(others).toEqual([])
  expect(session).toMatchObject({
    status: 'completed',
    budgetUsd: 2,
    request: { workdir: repo, prompt: 'Fix it' },
  })
})

test('a coding session in a folder that does not exist is not scheduled', async () => {
  const input = { when: 'daily 9:00', text: 'Fix it', do: 'coding', workdir: `${repo}-gone`, name: 'nowhere' }
  await expect(call('add', input)).rejects.toMatchObject({
    code: 'not-found',
    message: `There is no directory "${repo}-gone".`,
    hint: expect.stringContaining('--workdir') as string,
  })
  expect(app.storage.schedules.list().map(({ name }) => name)).not.toContain('nowhere')
})

test.each(['constructor', '__proto__'])('no repository is called %s', async (workdir) => {
  const input = { when: 'daily 9:00', text: 'Fix it', do: 'coding', workdir }
  await expect(call('add', input)).rejects.toMatchObject({ message: `There is no directory "${workdir}".` })
  await expect(call('add', input, agent)).rejects.toMatchObject({ code: 'refused' })
})

test.each(['workdir', 'session', 'model'])(
  '%s is refused where no coding session is started',
  async (field) => {
    const input = { when: 'daily 9:00', text: 'Fix it', name: 'nowhere', [field]: repo }
    await expect(call('add', input)).rejects.toMatchObject({
      message: `${field} is for a coding session, and this schedule starts none.`,
      hint: expect.stringContaining('--do coding') as string,
    })
  },
)

test('a coding session that continues a named one has its conversation; when there is no such session, the run fails and says so', async () => {
  const sdkSessionId = '00000000-0000-4000-8000-00000000000a'
  const [earlier] = app.storage.coding.list()
  await app.storage.coding.update(earlier!.id, (row) => Object.assign(row, { sdkSessionId }))
  const add = (name: string, session: string): Promise<Row> =>
    call('add', { when: 'in 5 minutes', text: 'Fix the rest', do: 'coding', workdir: 'shop', name, session })
  const { nextDue: first } = await add('rest', earlier!.name)
  const run = await runAt(first!, 'rest')
  expect(run).toMatchObject({ state: 'ended' })
  expect(app.storage.coding.get(run.codingId!)).toMatchObject({
    sdkSessionId,
    request: { prompt: 'Fix the rest', resume: { sdkSessionId, fork: false } },
  })
  const before = app.storage.coding.list().length
  const { nextDue: second } = await add('gone', 'heron')
  expect(await runAt(second!, 'gone')).toMatchObject({
    state: 'failed',
    note: 'There is no session "heron".',
  })
  expect(app.storage.coding.list()).toHaveLength(before)
})

test.each([
  ['turn', 'ask:schedule:'],
  ['wake', 'wake:schedule:'],
  ['coding', undefined],
])(
  'two machines that begin the same run (%s): one of them does nothing, and the run has one effect',
  async (kind, prefix) => {
    const name = `twice-${kind}`
    const where = kind === 'coding' ? { workdir: repo } : {}
    const schedule = await call<Row>('add', { when: 'daily 9:00', text: name, do: kind, name, ...where })
    // A machine that was taken for dead wakes up: two runners follow the run, and neither has begun its work.
    const run = { ...newRun(schedule, now, now), state: 'begun', begunAt: now, machine: hostname() } as const
    await app.storage.schedules.addRun(run)
    const other = openScheduleRunner(app)
    await Promise.all([app.schedules().look(), other.look()])
    expect(await runAt(now, name)).toMatchObject({ id: run.id, state: 'ended' })
    await other.stop()
    const { lanes, systemEvents } = app.storage.work
    const effects = prefix
      ? await lanes.history({ inputKey: prefix + run.id })
      : app.storage.coding.list().filter(({ request }) => request.prompt === name)
    expect(effects).toHaveLength(1)
    // The next turn must not read the event of the wake again.
    expect(await systemEvents.waiting('agent:main:main')).toEqual([])
    await call('remove', { schedule: name })
  },
)

test('with `reserve: ask` a launch near the end of a usage window is refused, unless a person wants it; a scheduled one waits', async () => {
  app.config.coding.reserve = { percent: 10, launches: 'ask' }
  const resetsAt = now + 3_600_000
  await app.storage.usage.report({ id: 'five_hour', used: 0.95, resetsAt, isRejected: false, at: now })
  const launch = (more: object, caller = operator): Promise<unknown> =>
    perform(app, 'coding.launch', { prompt: 'x', workdir: repo, fresh: true, ...more }, caller)
  await expect(launch({})).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(
      /Only the reserve of Claude's usage window is left; it resets at/,
    ) as string,
    hint: expect.stringContaining('--despite-reserve') as string,
  })
  await expect(launch({ despiteReserve: true }, agent)).rejects.toMatchObject({ code: 'refused' })
  const { id } = (await launch({ despiteReserve: true })) as { id: string }
  await vi.waitFor(() => expect(app.storage.coding.get(id)?.lifecycle).toBe('awaiting-input'))
  await perform(app, 'coding.kill', { session: id }, operator)
  const reserved = { when: 'in 5 minutes', text: 'Reserved', do: 'coding', workdir: repo, name: 'reserved' }
  const { nextDue } = await call<Row>('add', reserved)
  now = nextDue!
  await app.schedules().look()
  const [queued] = app.storage.coding.list({ running: true })
  expect([queued?.lifecycle, queued?.request.prompt]).toEqual(['queued', 'Reserved'])
  // After the reset it runs.
  expect(await runAt(resetsAt + 1, 'reserved')).toMatchObject({ state: 'ended' })
  app.config.coding.reserve = { percent: 0, launches: 'wait' }
})

test('an agent schedules only for itself: its sessions, directories, chats and budget; the owner sees it', async () => {
  const refuse = async (input: Record<string, unknown>, code = 'refused'): Promise<void> =>
    expect(call('add', { when: 'daily 9:00', text: 'x', ...input }, agent)).rejects.toMatchObject({ code })
  await refuse({ agent: 'other' })
  await refuse({ sessionKey: 'agent:other:main' })
  await refuse({ do: 'coding', workdir: '/etc' })
  await refuse({ do: 'coding', workdir: 'shop', runBudgetUsd: 500 })
  await refuse({ do: 'message', to: 'telegram|42' }, 'forbidden')
  await refuse({ tell: 'telegram|42' }, 'forbidden')
  const row = await call<Row>('add', { when: 'daily 9:00', text: 'Look at the mail', name: 'own' }, agent)
  expect(row).toMatchObject({ byAgent: true, agentId: 'main', runBudgetUsd: 5, author: 'program' })
  const { schedules } = await call<{ schedules: Row[] }>('list', {})
  expect(schedules.map(({ name }) => name)).toContain('own')
  // The owner's pause holds, also after a pause by the agent.
  await call('pause', { schedule: 'own' }, agent)
  expect((await call<Row>('pause', { schedule: 'own' })).paused).toBe('Paused by the owner.')
  for (const act of ['resume', 'run'])
    await expect(call(act, { schedule: 'own' }, agent)).rejects.toMatchObject({ code: 'refused' })
  const stranger: Caller = { ...agent, agentId: 'other' }
  await expect(call('show', { schedule: 'own' }, stranger)).rejects.toMatchObject({ code: 'not-found' })
  await call('remove', { schedule: 'own' })
})

test('/remind and /schedule act in the chat in which they were written', async () => {
  const [remind, schedule, list] = scheduleCommands(app)
  const address = { channel: 'telegram', accountId: 'default', to: '42' }
  const input = { lane: 'agent:main:telegram:direct:42', message: { address, sender: { id: '42' } } } as Input
  expect((await remind!.run('tomorrow 9:00 call Bob', input))?.text).toMatch(/^⏰ call-bob: once\nNext: /)
  expect((await schedule!.run('weekdays 9:00 What is new?', input))?.text).toContain(
    'weekdays 9:00 (Europe/Berlin)',
  )
  const { schedules } = await call<{ schedules: Row[] }>('list', {})
  const actionOf = (name: string) => schedules.find((each) => each.name === name)?.action
  expect(actionOf('call-bob')).toEqual({
    kind: 'message',
    text: 'call Bob',
    to: expect.stringMatching(/^telegram.*42$/) as string,
  })
  expect(actionOf('what-is-new')).toMatchObject({ kind: 'turn', sessionKey: input.lane })
  expect((await list!.run('', input))?.text).toContain('call-bob')
  expect(await remind!.run('someday call Bob', input)).toMatchObject({ isError: true })
})

test('a program does not resume a schedule that the owner pauses at the same moment', async () => {
  const { id } = await call<Row>('add', { when: 'daily 9:00', text: 'Look', name: 'held' })
  const program: Caller = { via: 'rpc', scopes: ['read', 'write'], name: 'token:deploy' }
  await call('pause', { schedule: id }, program)
  const [, resumed] = await Promise.allSettled([
    call('pause', { schedule: id }),
    call('resume', { schedule: id }, program),
  ])
  expect(resumed).toMatchObject({ status: 'rejected', reason: { code: 'refused' } })
  expect((await call<Row>('show', { schedule: id })).paused).toBe('Paused by the owner.')
  await call('remove', { schedule: id })
})

test('a program does not run a schedule that the owner pauses at the same moment', async () => {
  const { id } = await call<Row>('add', { when: 'daily 9:00', text: 'Look at once', name: 'held' })
  const program: Caller = { via: 'rpc', scopes: ['read', 'write'], name: 'token:deploy' }
  await Promise.all([
    call('pause', { schedule: id }),
    call('run', { schedule: id }, program).catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'refused' }),
    ),
  ])
  await app.schedules().look()
  const { runs } = await call<{ runs: ScheduleRun[] }>('log', { schedule: id })
  expect(runs.filter(({ state }) => state !== 'skipped')).toEqual([])
  // The owner may run it all the same.
  now += 1
  expect((await call<ScheduleRun>('run', { schedule: id })).begunAt).toBeDefined()
  await runAt(now, id)
  await call('remove', { schedule: id })
})

test('an agent has no more schedules than it may have, also if it adds many at the same moment', async () => {
  const own = (): number => app.storage.schedules.list('main').length
  const before = own()
  const added = await Promise.allSettled(
    Array.from({ length: 60 }, (_, n) =>
      call<Row>('add', { when: 'daily 9:00', text: 'Look', name: `many-${n}` }, agent),
    ),
  )
  expect(own()).toBe(50)
  const refused = added.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(60 - (50 - before))
  for (const each of refused) expect(each).toMatchObject({ reason: { code: 'refused' } })
  for (const each of added) if (each.status === 'fulfilled') await call('remove', { schedule: each.value.id })
})

test("Claude Code's own scheduled tasks and background jobs are listed", async () => {
  const task = { id: 't', cron: '0 9 * * *', prompt: 'Check the build', createdBySessionId: 's1' }
  writeFileSync(join(repo, '.claude', 'scheduled_tasks.json'), JSON.stringify({ tasks: [task] }))
  const sessionId = '00000000-0000-4000-8000-00000000000b'
  mkdirSync(join(home, 'claude/projects/-repo'), { recursive: true })
  mkdirSync(join(home, 'claude/jobs/ab12'), { recursive: true })
  const record = { type: 'user', sessionId, cwd: repo, timestamp: new Date(now).toISOString() }
  const line = { ...record, message: { role: 'user', content: 'Hello' } }
  writeFileSync(join(home, `claude/projects/-repo/${sessionId}.jsonl`), `${JSON.stringify(line)}\n`)
  const job = { state: 'working', name: 'tidy up', cwd: repo, sessionId: 's2' }
  writeFileSync(join(home, 'claude/jobs/ab12/state.json'), JSON.stringify(job))
  const { claude } = await call<{ claude: object[] }>('list', {})
  expect(claude).toEqual([
    { kind: 'task', times: '0 9 * * *', where: repo, what: 'Check the build', sessionId: 's1' },
    { kind: 'background job', times: 'working', where: repo, what: 'tidy up', sessionId: 's2' },
  ])
  expect(await call('list', {}, agent)).toMatchObject({ claude: [] })
})

test('a turn that a usage limit stops names the time of the reset', () => {
  expect(whyTurnFailed({ limitEnd: () => 'It ends at 13:12 (in about 12 min).' }, 'rate-limited')).toBe(
    "Claude's usage limit is reached. It ends at 13:12 (in about 12 min).",
  )
  expect(whyTurnFailed({ limitEnd: () => undefined }, 'rate-limited')).toBe(
    "Claude's usage limit is reached.",
  )
})
