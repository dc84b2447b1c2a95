// Sessions, their addresses and their mail, with a real database and the events that the plugin reports.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudeHookSchema } from '../domain/claude-hook.ts'
import { systemClock } from '../domain/clock.ts'
import { mailConfig } from '../domain/config/mail-settings.ts'
import { silentLog } from '../domain/log.ts'
import type { Mail } from '../domain/mail.ts'
import type { Database } from '../store/sqlite/database.ts'
import { sqliteSql } from '../store/sqlite/sql.ts'
import { openStateDatabase } from '../store/sqlite/state-database.ts'
import { MailStore } from '../store/tables/mail.ts'
import { MailCarrier, type CarrierActions, type RunningCoding } from './mail-carrier.ts'
import { mailHooks } from './mail-hooks.ts'
import { PostOffice } from './post-office.ts'

let folder: string
let database: Database
let store: MailStore
let now: number
let timers: Array<() => void>
let origins: Record<string, string>
let status: Record<string, 'busy' | 'idle'>
let rung: string[]
let coding: RunningCoding[]
let toCoding: string[]
let resumed: string[]
let config = mailConfig.parse({})
let dead: Set<string>
/** By session. */
let transcripts: Record<string, string>
/** What every look at the clock takes. */
let slow = 0

let elapsed = 0
const clock = {
  ...systemClock,
  now: () => now,
  monotonic: () => (elapsed += slow),
  after: (_ms: number, fn: () => void) => {
    timers.push(fn)
    return () => void timers.splice(timers.indexOf(fn), 1)
  },
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-mail-'))
  database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  store = new MailStore(sqliteSql(database))
  now = 1_000_000
  timers = []
  origins = {}
  status = {}
  rung = []
  coding = []
  toCoding = []
  resumed = []
  dead = new Set()
  transcripts = {}
  config = mailConfig.parse({})
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** Writes happen in order: after this one, all earlier ones are done. */
const written = (): Promise<void> => database.write(() => {})

const actions: CarrierActions = {
  runningCoding: async () => coding,
  sendToCoding: async (_id, text) => void toCoding.push(text),
  isDone: () => true,
  transcriptOf: async (session) => transcripts[session],
  statusOf: (session) => status[session],
  ring: (session) => void rung.push(session),
  canResume: async () => true,
  resume: async (mail) => {
    resumed.push(mail.id)
    return 'M1'
  },
  post: async () => 'sent',
}

/** A gateway process. */
function openOffice(holder = 'p1', machine = 'm') {
  const basis = { store, clock, machine, holder, config }
  const office = new PostOffice({
    ...basis,
    originOf: async (session) => origins[session],
    isRunningCoding: () => false,
    whyNotGive: async () => undefined,
    onWork: () => {},
    onChange: () => {},
  })
  const carrier = new MailCarrier({
    ...basis,
    office,
    actions,
    log: silentLog,
    holderLives: async (line) => !dead.has(line),
    machineLives: async (name) => !dead.has(name),
  })
  const hooks = mailHooks(() => office, clock)
  /** What the session gets as the answer to an event; it arrives unless the gateway dies. */
  const event = async (name: string, session: string, more: object = {}, arrives = true): Promise<string> => {
    const parsed = claudeHookSchema.parse({ hook_event_name: name, session_id: session, ...more })
    const answer = await hooks.answer(parsed, new AbortController().signal)
    if (arrives) answer?.onSent?.()
    await written()
    return answer?.additionalContext ?? ''
  }
  const look = async (): Promise<void> => {
    // A look right after another one would wait.
    elapsed += 1_000
    carrier.start()
    elapsed += 1_000
    await carrier.look()
    await carrier.stop()
  }
  return { office, event, look, hooks }
}

const a = '0a18c6e2-d9e3-4169-87ec-d96fcc228ff1'
const b = '0b18c6e2-d9e3-4169-87ec-d96fcc228ff1'
const c = '0c18c6e2-d9e3-4169-87ec-d96fcc228ff1'

async function send(office: PostOffice, more: Partial<Mail> = {}, from?: string): Promise<string> {
  const names = { senderName: 'x', recipientName: 'y' }
  const sender = from === undefined ? 'owner' : `session:${from}`
  const giver = { mayApprove: from === undefined }
  const mail = { sender, recipient: `session:${a}`, ...names, body: 'hello', resume: false, giver, ...more }
  return (await office.send(mail, { session: from })).id
}

const stateOf = async (id: string) => (await store.find(id))[0]!

test('a working session gets its mail after its tools, once, and has read it when its turn ends', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a, { source: 'startup' })
  const id = await send(office)
  expect(await event('PostToolBatch', a, { agent_id: 'sub' })).toBe('')
  expect(await event('PostToolBatch', a)).toContain('> hello')
  expect(await event('PostToolBatch', a)).toBe('')
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', deliveredTo: a, repeats: 0 })
  await event('Stop', a)
  expect(await stateOf(id)).toMatchObject({ state: 'read', readAt: now })
})

test('two events of a session at the same moment bring a message once, also if the carrier looks meanwhile', async () => {
  const { office, event, look } = openOffice()
  await event('SessionStart', a, { source: 'startup' })
  const id = await send(office)
  const [first, second] = await Promise.all([office.collect(a), office.collect(a)])
  expect([first, second].filter(Boolean)).toHaveLength(1)
  now += 5_000
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'accepted', repeats: 0 })
  await (first ?? second)!.arrived()
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', repeats: 0 })
})

/** Writes a transcript with these records, and returns its path. */
function record(...records: object[]): string {
  const path = join(folder, 'transcript.jsonl')
  writeFileSync(path, records.map((each) => `${JSON.stringify(each)}\n`).join(''))
  return path
}

test('a message is read when the model has answered, also if the end of the turn was not reported', async () => {
  const { office, event, look } = openOffice()
  await event('SessionStart', a)
  status[a] = 'idle'
  const id = await send(office)
  const text = await event('FileChanged', a)
  transcripts[a] = record({ type: 'queue-operation', content: text }, { type: 'assistant' })
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'delivered' })
  record({ type: 'user', message: text }, { type: 'assistant' })
  now += 5_000
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'read', readAt: now })
})

test('a message that was sent but did not get into the transcript comes again, marked', async () => {
  const { office, event, look } = openOffice()
  const transcript_path = record({ type: 'assistant' })
  await event('SessionStart', a)
  const id = await send(office)
  await event('PostToolBatch', a)
  // Claude Code may not have written it yet.
  await event('Stop', a, { transcript_path })
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', repeats: 0 })
  now += 20_000
  await event('Stop', a, { transcript_path })
  expect(await stateOf(id)).toMatchObject({ state: 'accepted', repeats: 1 })
  const text = await event('PostToolBatch', a)
  expect(text).toContain('possibly repeated')
  // Also without a further turn.
  now += 20_000
  transcripts[a] = transcript_path
  status[a] = 'idle'
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'accepted', repeats: 2 })
  await event('FileChanged', a)
  record({ type: 'attachment', content: text }, { type: 'assistant' })
  now += 20_000
  await event('Stop', a, { transcript_path })
  expect(await stateOf(id)).toMatchObject({ state: 'read' })
})

test('a message that the session has, and that its model has not answered, comes again only when it has ended', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  const id = await send(office)
  const text = await event('PostToolBatch', a)
  const limit = { type: 'assistant', isApiErrorMessage: true }
  const transcript_path = record({ type: 'assistant' }, { type: 'attachment', content: text }, limit)
  now += 20_000
  await event('Stop', a, { transcript_path })
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', repeats: 0 })
  await event('SessionEnd', a)
  expect(await event('SessionStart', a, { source: 'resume' })).toContain('possibly repeated')
})

test('an ended session gets its mail when it starts again', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  await event('SessionEnd', a)
  await send(office)
  expect(await event('SessionStart', a, { source: 'resume' })).toContain('> hello')
})

test('after /clear the process has the same address, and what was not read is delivered again, marked', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a, { source: 'startup', claude_pid: '7' })
  await send(office)
  expect(await event('UserPromptSubmit', a)).toContain('> hello')
  await event('SessionEnd', a, { reason: 'clear' })
  const text = await event('SessionStart', b, { source: 'clear', claude_pid: '7' })
  expect(text).toContain('possibly repeated')
  expect(await office.rootOf(b)).toBe(a)
  // Another process in the same folder is another address.
  await event('SessionStart', c, { source: 'startup', claude_pid: '8' })
  expect(await office.rootOf(c)).toBe(c)
})

test('after /clear the address is the same if the first prompt is reported before the start', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a, { source: 'startup', claude_pid: '7' })
  await event('UserPromptSubmit', b)
  await event('SessionStart', b, { source: 'clear', claude_pid: '7' })
  expect(await office.rootOf(b)).toBe(a)
  await send(office)
  expect(await event('PostToolBatch', b)).toContain('> hello')
})

test('a fork has the address of its origin; the session that was named has priority while it lives', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  // The transcript of a fork names its origin from the first turn on.
  await event('SessionStart', b, { source: 'fork' })
  origins[b] = a
  await office.recogniseForks()
  expect((await store.session(b))?.root).toBe(a)
  const toA = await send(office, { session: a })
  expect(await event('PostToolBatch', b)).toBe('')
  await event('SessionEnd', a)
  expect(await event('PostToolBatch', b)).toContain(toA)
})

test('a session that moved to another machine keeps its address, and is served there', async () => {
  const here = openOffice('p1', 'm1')
  const there = openOffice('p2', 'm2')
  await here.event('SessionStart', a)
  await here.event('SessionEnd', a)
  await there.event('SessionStart', a, { source: 'resume' })
  await send(here.office)
  status[a] = 'idle'
  expect(await there.event('PostToolBatch', a)).toContain('> hello')
  expect(await store.session(a)).toMatchObject({ machine: 'm2', root: a })
})

test('a gateway that dies before the answer was sent loses nothing: the message comes again, marked', async () => {
  const first = openOffice('p1')
  await first.event('SessionStart', a)
  const id = await send(first.office)
  expect(await first.event('PostToolBatch', a, {}, false)).toContain('> hello')
  const second = openOffice('p2')
  await second.look()
  expect(await second.event('PostToolBatch', a)).toBe('')
  dead.add('p1')
  now += 5_000
  status[a] = 'busy'
  await second.look()
  expect(await second.event('PostToolBatch', a)).toContain('possibly repeated')
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', repeats: 1 })
})

test('an answer that was dropped is delivered with the next event, marked', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  await send(office)
  await event('PostToolBatch', a, {}, false)
  for (const timer of timers.splice(0)) timer()
  await written()
  expect(await event('PostToolBatch', a)).toContain('possibly repeated')
})

test('an answer to a session that had gone before was surely not sent: the message comes again without a mark', async () => {
  const { office, event, hooks } = openOffice()
  await event('SessionStart', a)
  await send(office)
  const batch = claudeHookSchema.parse({ hook_event_name: 'PostToolBatch', session_id: a })
  const answer = await hooks.answer(batch, new AbortController().signal)
  answer?.onDropped?.()
  await written()
  const text = await event('PostToolBatch', a)
  expect(text).toContain('> hello')
  expect(text).not.toContain('possibly repeated')
})

test('a session that could not be answered in time gets the message with its next event, without a mark', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  await send(office)
  slow = 300
  expect(await event('PostToolBatch', a)).toBe('')
  slow = 0
  const text = await event('PostToolBatch', a)
  expect(text).toContain('> hello')
  expect(text).not.toContain('possibly repeated')
})

test('a message that was too late for an event waits again when no other event follows', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  const id = await send(office)
  slow = 300
  await event('PostToolBatch', a)
  slow = 0
  expect(await store.held()).toMatchObject([{ id }])
  for (const timer of timers.splice(0)) timer()
  await written()
  expect(await store.held()).toEqual([])
  expect(await stateOf(id)).toMatchObject({ state: 'accepted', repeats: 0 })
})

test('an idle session is woken by the owner, and by others only if the owner allows it', async () => {
  const { office, event, look } = openOffice()
  await event('SessionStart', a)
  status[a] = 'idle'
  const id = await send(office, {}, b)
  await look()
  expect(rung).toEqual([])
  expect((await stateOf(id)).note).toContain('Only the owner')
  await store.setWakePolicy(a, 'anyone')
  await look()
  expect(rung).toEqual([a])
  expect((await stateOf(id)).wokeAt).toBe(now)
  // Rung again only after a while, and not counted again.
  await look()
  now += 6_000
  await look()
  expect(rung).toEqual([a, a])
  expect(await event('FileChanged', a)).toContain('> hello')
  now += 6_000
  await look()
  expect(rung).toHaveLength(2)
  expect(await store.wakes(0)).toBe(1)
})

test('two sessions that answer each other wake each other up to the depth limit, and mail still arrives', async () => {
  config = mailConfig.parse({ wake: 'anyone' })
  const { office, event, look } = openOffice()
  for (const session of [a, b]) {
    await event('SessionStart', session)
    status[session] = 'idle'
  }
  const wakes: number[] = []
  let [from, to] = [a, b]
  await event('UserPromptSubmit', a)
  for (let turn = 0; turn < 6; turn++) {
    const id = await send(office, { recipient: `session:${to}` }, from)
    now += 10_000
    rung = []
    await look()
    wakes.push(rung.length)
    expect(await event('FileChanged', to)).toContain(id)
    await event('Stop', to)
    ;[from, to] = [to, from]
  }
  expect(wakes).toEqual([1, 1, 1, 0, 0, 0])
  // A prompt of a person begins a new chain.
  await event('UserPromptSubmit', a)
  expect((await stateOf(await send(office, { recipient: `session:${b}` }, a))).depth).toBe(0)
})

test('a working coding session gets mail through its input; an idle one is woken by it', async () => {
  const { office, look } = openOffice()
  coding = [{ id: 'C1', root: a, session: a, isIdle: false }]
  const id = await send(office, {}, b)
  await look()
  expect(toCoding).toHaveLength(1)
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', deliveredTo: 'coding:C1' })
  coding[0]!.isIdle = true
  const second = await send(office, {}, b)
  await look()
  expect(toCoding).toHaveLength(1)
  expect((await stateOf(second)).note).toContain('Only the owner')
  expect(await stateOf(id)).toMatchObject({ state: 'delivered' })
  now += 5_000
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'read' })
})

test('an ended session is resumed only if the message asks for it, and never while it lives somewhere', async () => {
  const { office, event, look } = openOffice()
  await send(office)
  await look()
  expect(resumed).toEqual([])
  await event('SessionStart', a)
  status[a] = 'busy'
  const id = await send(office, { resume: true })
  await look()
  expect(resumed).toEqual([])
  delete status[a]
  now += 20_000
  await look()
  expect(resumed).toEqual([id])
  expect(await stateOf(id)).toMatchObject({ state: 'delivered', deliveredTo: 'coding:M1' })
})

test('a killed session has ended, and mail that it did not read waits for the next one', async () => {
  const { office, event, look } = openOffice()
  await event('SessionStart', a)
  status[a] = 'busy'
  const id = await send(office)
  await event('PostToolBatch', a)
  delete status[a]
  now += 20_000
  await look()
  expect(await stateOf(id)).toMatchObject({ state: 'accepted', repeats: 1 })
  expect((await store.session(a))?.endedAt).toBe(now)
})

test('a session whose start was not reported is known from its next event on', async () => {
  const { office, event } = openOffice()
  await send(office)
  expect(await event('PostToolBatch', a)).toContain('> hello')
  expect(await store.session(a)).toMatchObject({ machine: 'm' })
})

test('more mail than fits into one text is delivered in parts, in order', async () => {
  const { office, event } = openOffice()
  await event('SessionStart', a)
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    ids.push(await send(office, { body: `${i}${'x'.repeat(4_000)}` }))
    now++
  }
  const texts = [await event('PostToolBatch', a), await event('PostToolBatch', a)]
  expect(texts.map((text) => ids.filter((id) => text.includes(`Message ${id}`)).length)).toEqual([2, 1])
  expect(texts[1]).toContain(ids[2])
})
