// Which process a coding session belongs to, what becomes of it when that process is gone, and who comes first when
// several want the same.
import { hostname } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { asOwner, nameOfOwner, ownerCheck } from '../src/coding/machines/owner.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { CodingOwner, CodingSession } from '../src/domain/coding-session.ts'
import { sessionState } from '../src/domain/coding-state.ts'
import { identifyProcess } from '../src/store/disk/process-identity.ts'
import {
  begun,
  deadProcess,
  inTurn,
  open,
  saidBy,
  sharedFolder,
  texts,
  until,
} from './support/coding-bench.ts'
import { directedAgent, init } from './support/directed-agent.ts'
import { makeMovableClock } from './support/movable-clock.ts'

const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000001', fork: false }
const self = identifyProcess(process.pid)!

describe('does its owner live?', () => {
  const lives = (owner: Partial<CodingOwner>, seenAt?: number): boolean =>
    ownerCheck(
      { ownerSeenAt: () => seenAt },
      { now: () => 1_000_000 },
    )({
      owner: { ...asOwner(self), ...owner },
    } as CodingSession)

  test('the process decides, not the name of the machine: that may change', () => {
    expect(asOwner(self).host).toBe(hostname())
    expect(lives({ host: 'called-otherwise-now' })).toBe(true)
    expect(lives({ ...deadProcess, host: 'called-otherwise-then' })).toBe(false)
  })

  test('an earlier boot of this machine has ended everything', () => {
    const earlier = { domain: 'linux:earlier:pid:[1]', machine: asOwner(self).machine || 'm' }
    if (asOwner(self).machine === '') return expect(lives(earlier)).toBe(false)
    expect(lives(earlier, 999_999)).toBe(false)
  })

  test('another container is believed as long as it gives signs of life', () => {
    const beside = { domain: `${self.domain.split(':').slice(0, 2).join(':')}:pid:[1]`, machine: '' }
    expect(lives(beside, 990_000)).toBe(true)
    expect(lives(beside, 900_000)).toBe(false)
    expect(lives(beside)).toBe(false)
  })

  test('the process that runs a session sends heartbeats, and stops when the session ends', async () => {
    const clock = makeMovableClock()
    const house = open({ clock })
    const { id, owner } = await house.launch('x')
    const seenAt = (): number => house.store.ownerSeenAt(nameOfOwner(owner!))!
    const first = seenAt()
    await vi.waitFor(async () => {
      await clock.advance(10_000)
      expect(seenAt()).toBeGreaterThan(first)
    })
    await house.pool.kill(id)
    await clock.advance(20_000)
    const last = seenAt()
    await clock.advance(60_000)
    expect(seenAt()).toBe(last)
  })
})

describe('an owner that died, and no gateway', () => {
  test('kill and respond deal with its sessions at once', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess })
    const [a, b] = [
      await gone.launch('[[offline: wait 60000]]', { resume }),
      await gone.launch('x', { resume: { ...resume, sdkSessionId: '00000000-0000-4000-8000-000000000002' } }),
    ]
    await vi.waitFor(() => expect(gone.pool.resolve(a.id).sdkSessionId).toBeDefined())
    await until(gone, b.id, 'awaiting-input')
    const here = open({ folder })
    const began = performance.now()
    expect(await here.pool.respond(a.id, '[[offline: wait 60000]]')).toMatchObject({ id: a.id, name: a.name })
    expect(await here.pool.kill(b.id)).toMatchObject({ killed: true, session: { lifecycle: 'ended' } })
    expect(performance.now() - began).toBeLessThan(20_000)
    await expect(here.pool.resume(a.id, 'go on')).rejects.toThrow(/still runs/)
  })

  test('a task that never got to Claude waits for the next gateway, and takes messages meanwhile', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess })
    const workdir = gone.repo('shared')
    const other = await gone.launch('[[offline: wait 60000]]', { workdir, resume })
    await vi.waitFor(() => expect(gone.pool.resolve(other.id).sdkSessionId).toBeDefined())
    const { id } = await gone.launch('[[offline: say first]]', { workdir })
    const here = open({ folder })
    await here.pool.respond(id, '[[offline: say second]]', { userInitiated: true })
    expect(here.pool.resolve(id).lifecycle).toBe('queued')
    expect(here.pool.resolve(id).owner).toBeUndefined()
    const gateway = open({ folder })
    await gateway.pool.recover()
    await vi.waitFor(() => expect(saidBy(gateway, id)).toEqual(['first', 'second']))
  })

  test('a session that had answered stays ready, and its task is not given to the agent again', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess })
    const { id } = await gone.launch('[[offline: say done]]')
    await until(gone, id, 'awaiting-input')
    const after = open({ folder })
    await after.pool.recover()
    expect(sessionState(after.pool.resolve(id))).toBe('ready')
    expect(after.pool.resolve(id)).toMatchObject({ lifecycle: 'suspended', inbox: [], given: [] })
    expect(after.pool.resolve(id).status).toBe('completed')
    expect(after.pool.list({ status: 'killed' })).toEqual([])
    // Nothing was cut off, so there is no alarm.
    expect(after.pool.resolve(id).end?.message).toBe('')
    expect(texts(after)).toEqual([])
    await after.pool.respond(id, '[[offline: say more]]', { userInitiated: true })
    await vi.waitFor(() => expect(saidBy(after, id)).toEqual(['done', 'more']))
  })

  test('an orderly stop reports a session whose turn it cuts off, and none that only waits', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const waits = await before.launch('[[offline: say done]]')
    await until(before, waits.id, 'awaiting-input')
    const works = await before.launch('[[offline: wait 60000]]', { resume })
    await until(before, works.id, 'active')
    const looked = await before.launch('[[offline: say done]]')
    await until(before, looked.id, 'awaiting-input')
    await before.pool.markSeen(looked.id)
    await before.close()
    const suspended = texts(before).filter((text) => text.startsWith('💤'))
    expect(suspended).toEqual([expect.stringContaining(`[${works.name}]`)])
    const after = open({ folder })
    expect(sessionState(after.pool.resolve(waits.id))).toBe('ready')
    expect(after.pool.resolve(waits.id).end).toMatchObject({ reason: 'shutdown', message: '' })
    expect(sessionState(after.pool.resolve(looked.id))).toBe('idle')
    const statuses = [waits, works, looked].map(({ id }) => after.pool.resolve(id).status)
    expect(statuses).toEqual(['completed', 'killed', 'completed'])
  })

  test('two processes find it: it is reported once, and a live one is left alone', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess })
    const { id } = await gone.launch('[[offline: wait 60000]]', { resume })
    await vi.waitFor(() => expect(gone.pool.resolve(id).sdkSessionId).toBeDefined())
    const houses = [open({ folder }), open({ folder })]
    await Promise.all(houses.map((house) => house.pool.recoverOrphans()))
    expect(houses.flatMap(texts).filter((text) => text.startsWith('💤'))).toHaveLength(1)
  })
})

describe('messages are on disk before they are acknowledged', () => {
  test('a message for a session whose repository is taken waits, is shown as queued, and survives kill -9', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess })
    const workdir = gone.repo('shared')
    const first = await gone.launch('x', { workdir, resume })
    await until(gone, first.id, 'awaiting-input')
    const other = await gone.launch('[[offline: wait 60000]]', { workdir })
    await until(gone, other.id, 'active')
    await gone.pool.respond(first.id, '[[offline: say kept]]', { userInitiated: true })
    expect(await until(gone, first.id, 'queued')).toMatchObject({ inbox: ['[[offline: say kept]]'] })
    const after = open({ folder })
    await after.pool.recover()
    await after.pool.kill(other.id)
    // As after an orderly stop, the message is delivered without a person, and once.
    await vi.waitFor(() => expect(saidBy(after, first.id)).toContain('kept'))
    expect(await until(after, first.id, 'awaiting-input')).toMatchObject({ inbox: [], given: [], turns: 2 })
    expect(texts(after).filter((text) => text.startsWith(`💤 [${first.name}]`))).toEqual([])
    await after.pool.respond(first.id, '[[offline: say new]]', { userInitiated: true })
    await vi.waitFor(() => expect(saidBy(after, first.id).slice(-2)).toEqual(['kept', 'new']))
  })

  test('what waits in the queue of a machine that dies is delivered when the machine is back, though another one suspended it', async () => {
    const folder = sharedFolder()
    const gone = open({ folder, self: deadProcess, machine: 'a' })
    const workdir = gone.repo('shared')
    const first = await gone.launch('x', { workdir, resume })
    await until(gone, first.id, 'awaiting-input')
    const other = await gone.launch('[[offline: wait 60000]]', { workdir })
    await until(gone, other.id, 'active')
    await gone.pool.respond(first.id, '[[offline: say kept]]', { userInitiated: true })
    await until(gone, first.id, 'queued')
    const elsewhere = open({ folder, machine: 'b' })
    await elsewhere.pool.recover()
    expect(elsewhere.pool.resolve(first.id)).toMatchObject({ lifecycle: 'suspended' })
    expect(texts(elsewhere).join()).toContain('Its last message is delivered when a is back')
    await elsewhere.pool.kill(other.id)
    const back = open({ folder, machine: 'a' })
    await back.pool.recover()
    await vi.waitFor(() => expect(saidBy(back, first.id)).toContain('kept'))
    expect(await until(back, first.id, 'awaiting-input')).toMatchObject({ inbox: [], given: [], turns: 2 })
  })

  test('a machine that only slept runs a session once that another machine has queued again', async () => {
    const folder = sharedFolder()
    const house = open({ folder, machine: 'a' })
    const workdir = house.repo('shared')
    const other = await house.launch('[[offline: wait 60000]]', { workdir })
    await until(house, other.id, 'active')
    const { id } = await house.launch('[[offline: say once]]', { workdir })
    await until(house, id, 'queued')
    // As the other machine does with a session whose owner sends no heartbeat.
    await house.store.update(id, (stored) => Object.assign(stored, { owner: undefined }))
    await house.pool.takeOver()
    await house.pool.kill(other.id)
    await vi.waitFor(async () => {
      await house.pool.takeOver()
      expect(house.store.get(id)).toMatchObject({ lifecycle: 'awaiting-input', turns: 1 })
    })
    expect(saidBy(house, id).filter((text) => text === 'once')).toHaveLength(1)
  })

  test('what Claude has got is not said again', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('once')
    expect(house.store.get(id)!.inbox).toEqual(['once'])
    await begun(house, claude, id)
    await vi.waitFor(() => expect(house.store.get(id)!.inbox).toEqual([]))
    const [message] = house.store.get(id)!.given
    claude.finish({ prompts: [message!.uuid] })
    await vi.waitFor(() => expect(house.store.get(id)!.given).toEqual([]))
  })

  test('what joined a turn is on disk; after kill -9 exactly that is said again which Claude has not written down', async () => {
    const folder = sharedFolder()
    const claude = directedAgent()
    claude.steers = true
    const gone = open({ folder, self: deadProcess, runtime: claude.runtime })
    const { id } = await gone.launch('first')
    await begun(gone, claude, id)
    await vi.waitFor(() => expect(gone.store.get(id)!.sdkSessionId).toBeDefined())
    await gone.pool.respond(id, '[[offline: say got]]', { userInitiated: true })
    await gone.pool.respond(id, '[[offline: say lost]]', { userInitiated: true })
    expect(claude.steered).toEqual(['[[offline: say got]]', '[[offline: say lost]]'])
    await vi.waitFor(() => expect(gone.passed).toContain('[[offline: say lost]]'))
    const given = gone.store.get(id)!.given.map(({ uuid }) => uuid)
    expect(given).toHaveLength(3)
    const offline = makeOfflineAgent({ clock: systemClock, directions: true })
    const after = open({ folder, runtime: { ...offline, received: async () => new Set(given.slice(0, 2)) } })
    await after.pool.recover()
    expect(texts(after).join()).toContain('Messages sent while it worked are delivered again')
    const resumed = await after.pool.resume(id, '[[offline: say new]]')
    await vi.waitFor(() => expect(saidBy(after, resumed.id)).toEqual(['lost', 'new']))
    await vi.waitFor(() => expect(after.pool.resolve(id)).toMatchObject({ given: [], inbox: [] }))
  })

  test('a message that comes when the turn ends begins the next one; a command never joins one', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('first')
    await begun(house, claude, id)
    await house.pool.respond(id, 'too late to join', { userInitiated: true })
    claude.steers = true
    await house.pool.respond(id, '/compact', { userInitiated: true })
    expect(claude.steered).toEqual([])
    expect(house.store.get(id)).toMatchObject({
      inbox: ['too late to join', '/compact'],
      given: [{ text: 'first' }],
    })
  })

  test('what waits when a person ends the session is not said when it is resumed one day', async () => {
    const house = open()
    const workdir = house.repo('shared')
    const first = await house.launch('x', { workdir, resume })
    await until(house, first.id, 'awaiting-input')
    const other = await house.launch('[[offline: wait 60000]]', { workdir })
    await until(house, other.id, 'active')
    await house.pool.respond(first.id, 'dropped', { userInitiated: true })
    await house.pool.kill(first.id)
    await house.pool.kill(other.id)
    const resumed = await house.pool.resume(first.id, '[[offline: say new]]')
    await until(house, resumed.id, 'awaiting-input')
    expect(saidBy(house, resumed.id).slice(1)).toEqual(['new'])
  })
})

describe('at the same moment', () => {
  test('launches never work beyond maxSessions, and never get the same name', async () => {
    const house = open({ config: { maxSessions: 3 } })
    const launches = Array.from({ length: 6 }, () => house.launch('[[offline: wait 60000]] same words here'))
    const sessions = await Promise.all(launches)
    expect(new Set(sessions.map(({ name }) => name)).size).toBe(6)
    const states = (): string[] => house.pool.list().map(({ lifecycle }) => lifecycle)
    await vi.waitFor(() => expect(states().filter((state) => state === 'active')).toHaveLength(3))
    expect(states().filter((state) => state === 'queued')).toHaveLength(3)
  })

  test('from two processes neither: names are unique, and the queue is one', async () => {
    const folder = sharedFolder()
    const config = { maxSessions: 1, maxQueued: 3 }
    const houses = [open({ folder, config }), open({ folder, config })]
    const settled = await Promise.allSettled(
      Array.from({ length: 6 }, (_, i) => houses[i % 2]!.launch('[[offline: wait 60000]] same words here')),
    )
    const names = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value.name] : []))
    expect(new Set(names).size).toBe(3)
    expect(names).toHaveLength(3)
  })

  test('one works in a repository and one waits, however many come', async () => {
    const house = open({ config: { maxSessions: 10, perRepo: { running: 1, queued: 1 } } })
    const workdir = house.repo('shared')
    const settled = await Promise.allSettled(
      Array.from({ length: 4 }, () => house.launch('[[offline: wait 60000]]', { workdir })),
    )
    expect(settled.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ])
  })
})

describe('interrupt', () => {
  test('a session that waits for its repository is not running: it keeps waiting, and no slot is used', async () => {
    const house = open()
    const workdir = house.repo('shared')
    const first = await house.launch('[[offline: wait 60000]]', { workdir })
    await until(house, first.id, 'active')
    const second = await house.launch('[[offline: say task]]', { workdir })
    const more = { userInitiated: true, interrupt: true }
    await house.pool.respond(second.id, '[[offline: say and this]]', more)
    await expect(house.pool.interrupt(second.id)).rejects.toThrow('waits in the queue')
    expect(house.pool.resolve(second.id).lifecycle).toBe('queued')
    await house.pool.kill(first.id)
    await vi.waitFor(() => expect(saidBy(house, second.id)).toEqual(['task', 'and this']))
  })

  test('where no turn runs, the refusal says so, and its advice works', async () => {
    const folder = sharedFolder()
    const house = open({ folder })
    const { id, name } = await house.launch('[[offline: say done]]', { resume })
    await until(house, id, 'awaiting-input')
    const advice = { hint: `Continue it with a message: \`rockpool cc respond ${name} "…"\`.` }
    await expect(house.pool.interrupt(id)).rejects.toMatchObject({
      message: `${name} waits for its next message, so there is no turn to stop.`,
      ...advice,
    })
    await house.close()
    const after = open({ folder })
    await expect(after.pool.interrupt(id)).rejects.toMatchObject({
      message: `${name} is suspended, so there is no turn to stop.`,
      ...advice,
    })
    await after.pool.respond(id, '[[offline: say more]]', { userInitiated: true })
    await vi.waitFor(() => expect(saidBy(after, id)).toEqual(['done', 'more']))
    await after.pool.kill(id)
    await expect(after.pool.interrupt(id)).rejects.toThrow('has ended (stopped), so there is no turn to stop')
  })

  test('one that asks for its budget before a turn is stopped there, and waits for what is said next', async () => {
    const house = open({ priceOf: () => 3 })
    const usage = { type: 'usage', messageId: 'm', model: 'x', usage: {}, subagent: false }
    const { id } = await house.launch(`[[offline: emit ${JSON.stringify(usage)}]]`, { budgetUsd: 2 })
    await until(house, id, 'awaiting-input')
    await house.pool.respond(id, 'more', { userInitiated: true })
    await until(house, id, 'awaiting-budget')
    await house.pool.interrupt(id)
    expect(await until(house, id, 'awaiting-input')).toMatchObject({ status: 'running', turns: 1, inbox: [] })
    expect(house.approvals.pending()).toEqual([])
  })
})

describe('the time that people are waited for', () => {
  test('applies to the next message, also while the session continues', async () => {
    const clock = makeMovableClock()
    const house = open({ clock, config: { idleTimeoutMinutes: 60 } })
    const { id } = await house.launch('x')
    await until(house, id, 'awaiting-input')
    const began = clock.now()
    await clock.advance(600_000)
    const { waitsSince } = house.pool.resolve(id)
    expect(waitsSince).toBeLessThanOrEqual(began)
    await house.pool.respond(id, '[[offline: wait 60000]]', { userInitiated: true })
    expect((await until(house, id, 'active')).waitedMs).toBeGreaterThanOrEqual(600_000)
    expect(house.pool.resolve(id).waitsSince).toBeUndefined()
  })

  test.each(['killed', 'expired'])('counts for a question that is %s', async (how) => {
    const clock = makeMovableClock()
    const house = open({ clock, config: { approvalTimeoutMinutes: 5 } })
    const { id } = await house.launch('[[offline: ask Bash {"command":"ls"}]][[offline: wait 60000]]')
    await until(house, id, 'awaiting-approval')
    await clock.advance(how === 'killed' ? 120_000 : 301_000)
    if (how === 'killed') await house.pool.kill(id)
    else await until(house, id, 'active')
    const { waitedMs } = house.pool.resolve(id)
    expect(waitedMs).toBeGreaterThanOrEqual(how === 'killed' ? 120_000 : 300_000)
    expect(waitedMs).toBeLessThan(400_000)
  })
})

test('long-running: every turn that takes ten minutes is reminded of, once, with its own time', async () => {
  const clock = makeMovableClock()
  const claude = directedAgent()
  const house = open({ clock, runtime: claude.runtime })
  const { id } = await house.launch('x')
  await begun(house, claude, id)
  claude.finish({ sdkSessionId: init.sdkSessionId })
  await until(house, id, 'awaiting-input')
  await clock.advance(60_000)
  await house.pool.respond(id, 'more', { userInitiated: true })
  await inTurn(claude)
  claude.emit(init)
  await until(house, id, 'active')
  await clock.advance(11 * 60_000)
  await clock.advance(30 * 60_000)
  expect(texts(house).filter((text) => text.startsWith('⏱️'))).toHaveLength(1)
  expect(texts(house).join()).toMatch(/running for 10m\d+s/)
})
