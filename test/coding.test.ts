// The life of a coding session, with the offline agent: turns, waiting, approvals, the end, and its notices.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { systemClock } from '../src/domain/clock.ts'
import { needsYou, sessionState, stateText } from '../src/domain/coding-state.ts'
import type { CodingHouse } from './support/coding-house.ts'
import { makeMovableClock } from './support/movable-clock.ts'
import { RockpoolError } from '../src/domain/errors.ts'
import { StoreUnavailable } from '../src/store/store-unavailable.ts'
import { answerOnly, deadProcess, open, sharedFolder, texts, until } from './support/coding-bench.ts'

test('a multi-turn session stays running after its turn and waits for input; the chat gets one notice', async () => {
  const house = open()
  const { id, name } = await house.launch('Fix the login bug in the parser')
  expect(name).toBe('fix-login-bug')
  const session = await until(house, id, 'awaiting-input')
  expect(session).toMatchObject({ status: 'running', turns: 1, waiting: { for: 'input' } })
  await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('🔔'))).toHaveLength(1))
})

test('a single-turn session completes, and its end is reported', async () => {
  const house = open()
  const { id } = await house.launch('List the files', { multiTurn: false })
  expect(await until(house, id, 'ended')).toMatchObject({ status: 'completed', end: { reason: 'done' } })
  await vi.waitFor(() => expect(texts(house).some((text) => text.startsWith('✅ [list-files]'))).toBe(true))
})

test('a failed turn makes the session failed with a message, and that is reported', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: fail overloaded]]')
  expect(await until(house, id, 'ended')).toMatchObject({ status: 'failed', end: { reason: 'turn-failed' } })
  await vi.waitFor(() => expect(texts(house).some((text) => text.startsWith('❌'))).toBe(true))
})

test('a session that a usage limit stops is kept, says until when, and continues with its next message', async () => {
  const house = open({ config: { continueAfterLimit: false } })
  const resetsAt = Date.now() + 3_600_000
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000007', fork: false }
  const { id } = await house.launch(`[[offline: say half]] [[offline: limit ${resetsAt}]]`, { resume })
  const limited = await until(house, id, 'suspended')
  expect(limited).toMatchObject({ end: { reason: 'usage-limit', limit: { until: resetsAt } } })
  expect([sessionState(limited), needsYou(limited)]).toEqual(['limited', false])
  expect(texts(house).at(-1)).toMatch(/⏳ \[.*\] limited .*asked to fail: rate-limited/)
  await house.pool.respond(id, '[[offline: say rest]]', { userInitiated: true })
  expect(await until(house, id, 'awaiting-input')).toMatchObject({ lastWords: 'rest' })
})

test('the owner is asked once whether sessions continue by themselves, whatever chats they have, also after a restart', async () => {
  const folder = sharedFolder()
  const limitIn = async (house: CodingHouse, originChannel: string): Promise<void> => {
    const resume = { sdkSessionId: randomUUID(), fork: false }
    const { id } = await house.launch(`[[offline: limit ${Date.now() + 3_600_000}]]`, {
      resume,
      originChannel,
    })
    await until(house, id, 'suspended')
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('⏳'))).not.toEqual([]))
  }
  const first = open({ folder })
  await limitIn(first, 'telegram|1')
  const questions = (house: CodingHouse): string[] =>
    texts(house).filter((text) => text.includes('continue by themselves'))
  await vi.waitFor(() => expect(first.store.list()[0]!.askedToContinue).toBe(true))
  expect(questions(first)).toHaveLength(1)
  await limitIn(first, 'telegram|2')
  await first.close()
  const second = open({ folder })
  await limitIn(second, 'telegram|3')
  await second.close()
  expect([...questions(first), ...questions(second)]).toHaveLength(1)
})

test('a session that waits to be started is started once, however many look for it at the same time', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: say one]]')
  const session = await until(house, id, 'awaiting-input')
  const queued = {
    lifecycle: 'queued' as const,
    status: 'starting' as const,
    inbox: ['[[offline: say two]]'],
  }
  const copy = { ...session, ...queued, id: 'AbCdEfGh', name: 'waiting', owner: undefined, turns: 0 }
  await house.store.save(copy)
  await Promise.all([house.pool.takeOver(), house.pool.takeOver(), house.pool.takeOver()])
  expect(await until(house, copy.id, 'awaiting-input')).toMatchObject({ turns: 1, inbox: [] })
  const said = house.store.lastOutput(copy.id, 20).map(({ text }) => text)
  expect(said.filter((text) => text === 'two')).toHaveLength(1)
})

test('after the reset limited sessions continue by themselves, once and one after another, if the owner wants it', async () => {
  const clock = makeMovableClock()
  const house = open({ clock, config: { continueAfterLimit: true } })
  const resetsAt = clock.now() + 600_000
  const limited = async (n: number, name: string): Promise<string> => {
    const resume = { sdkSessionId: `00000000-0000-4000-8000-00000000001${n}`, fork: false }
    const { id } = await house.launch(`[[offline: limit ${resetsAt}]]`, { resume, name })
    await until(house, id, 'suspended')
    await clock.advance(1_000)
    return id
  }
  const ids = [await limited(1, 'older'), await limited(2, 'newer')]
  await house.pool.recover()
  await clock.advance(500_000)
  expect(ids.map((id) => sessionState(house.pool.resolve(id)))).toEqual(['limited', 'limited'])
  const resumed = (): string[] => texts(house).filter((text) => text.startsWith('▶️'))
  await clock.advance(135_000)
  await vi.waitFor(() => expect(resumed()).toHaveLength(1))
  expect(resumed()[0]).toContain("[older] Resumed: Claude's usage limit is reset")
  // While Claude says that the window is used up, the next one waits.
  const report = {
    id: 'five_hour',
    used: 1,
    isRejected: true,
    at: clock.now(),
    resetsAt: clock.now() + 300_000,
  }
  await house.usage.report(report)
  await clock.advance(200_000)
  expect(resumed()).toHaveLength(1)
  await clock.advance(200_000)
  await vi.waitFor(() => expect(resumed()).toHaveLength(2))
  await clock.advance(600_000)
  expect(resumed()).toHaveLength(2)
})

test('a limited session that could not continue because the store was away is tried again', async () => {
  const clock = makeMovableClock()
  const house = open({ clock, config: { continueAfterLimit: true } })
  const resume = { sdkSessionId: randomUUID(), fork: false }
  const { id } = await house.launch(`[[offline: limit ${clock.now() + 60_000}]]`, { resume })
  await until(house, id, 'suspended')
  const update = house.store.update.bind(house.store)
  let failures = 0
  house.store.update = async (...about) => {
    if (failures++ === 0) throw new StoreUnavailable('The database is away.')
    return update(...about)
  }
  await house.pool.recover()
  const resumed = (): string[] => texts(house).filter((text) => text.startsWith('▶️'))
  await clock.advance(120_000)
  expect([failures, resumed()]).toEqual([1, []])
  await clock.advance(300_000)
  await vi.waitFor(() => expect(resumed()).toHaveLength(1))
})

test('a limited session that a person had to resume continues by itself after its next limit', async () => {
  const clock = makeMovableClock()
  const house = open({ clock, config: { continueAfterLimit: true } })
  const resume = { sdkSessionId: randomUUID(), fork: false }
  const { id } = await house.launch(`[[offline: limit ${clock.now() + 60_000}]]`, { resume })
  await until(house, id, 'suspended')
  const update = house.store.update.bind(house.store)
  let failures = 0
  house.store.update = async (...about) => {
    if (failures++ === 0) throw new RockpoolError('refused', 'The directory is gone.')
    return update(...about)
  }
  await house.pool.recover()
  await clock.advance(120_000)
  expect(failures).toBe(1)
  await house.pool.resume(id, `[[offline: limit ${clock.now() + 600_000}]]`)
  await until(house, id, 'suspended')
  const continued = (): string[] =>
    texts(house).filter((text) => text.includes("Resumed: Claude's usage limit is reset"))
  expect(continued()).toEqual([])
  await clock.advance(700_000)
  await vi.waitFor(() => expect(continued()).toHaveLength(1))
})

test('a limited session in which a question waits for a person continues before an older one; without the switch none does', async () => {
  const clock = makeMovableClock()
  const house = open({ clock, config: { continueAfterLimit: false } })
  const resetsAt = clock.now() + 60_000
  for (const name of ['older', 'asking']) {
    const resume = { sdkSessionId: randomUUID(), fork: false }
    const { id } = await house.launch(`[[offline: limit ${resetsAt}]]`, { resume, name })
    await until(house, id, 'suspended')
    await clock.advance(1_000)
  }
  await house.pool.recover()
  await clock.advance(200_000)
  const resumed = (): string[] => texts(house).filter((text) => text.startsWith('▶️'))
  expect(resumed()).toEqual([])
  const expired = { about: 'Bash: npm publish', at: clock.now(), text: 'expired' }
  await house.store.update(house.pool.resolve('asking').id, (row) => (row.expired = expired))
  house.config.continueAfterLimit = true
  await clock.advance(10_000)
  await vi.waitFor(() => expect(resumed()[0]).toContain('[asking] Resumed'))
  await clock.advance(60_000)
  await vi.waitFor(() => expect(resumed()[1]).toContain('[older] Resumed'))
  expect(resumed()).toHaveLength(2)
})

test('while only the reserve of a usage window is left, a new session waits for the reset, unless a person wants it at once', async () => {
  const clock = makeMovableClock()
  const house = open({ clock, config: { reserve: { percent: 10, launches: 'wait' } } })
  const resetsAt = clock.now() + 60_000
  await house.usage.report({ id: 'five_hour', used: 0.93, isRejected: false, at: clock.now(), resetsAt })
  const { id } = await house.launch('[[offline: say later]]')
  const { id: now } = await house.launch('[[offline: say now]]', { despiteReserve: true })
  await until(house, now, 'awaiting-input')
  const waiting = house.pool.resolve(id)
  expect([waiting.lifecycle, house.pool.placeInQueue(waiting, undefined).waitsFor]).toEqual([
    'queued',
    ['the reset of the usage window'],
  ])
  await clock.advance(61_000)
  await until(house, id, 'awaiting-input')
})

test('a session that cannot start is failed and reported, never silent', async () => {
  const house = open()
  await expect(house.launch('x', { workdir: '/does/not/exist' })).rejects.toThrow(/not a directory/)
})

test('a message to a waiting session starts its next turn; to one that is over it is refused with a remedy', async () => {
  const house = open()
  const { id } = await house.launch('one')
  await until(house, id, 'awaiting-input')
  await house.pool.respond(id, 'two', { userInitiated: true })
  await vi.waitFor(() => expect(house.pool.resolve(id).turns).toBe(2))
  await house.pool.kill(id)
  await expect(house.pool.respond(id, 'three')).rejects.toThrow(/has ended \(stopped\); it takes no messages/)
})

test('the end of a session is taken back: nothing is sent, and its next message continues it', async () => {
  const house = open()
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000001', fork: false }
  const { id } = await house.launch('one', { resume })
  await until(house, id, 'awaiting-input')
  await expect(house.pool.reopen(id)).rejects.toThrow(/was not ended by a person/)
  await house.pool.kill(id)
  expect(sessionState(await house.pool.reopen(id))).toBe('ready')
  expect(house.pool.resolve(id)).toMatchObject({ status: 'completed', turns: 1 })
  await house.pool.respond(id, 'two', { userInitiated: true })
  await vi.waitFor(() => expect(house.pool.resolve(id).turns).toBe(2))
})

test.each([
  ['in its turn', '[[offline: wait 60000]]', 'active', 'during its turn'],
  ['while it asks', '[[offline: ask Bash {"command":"make"}]]', 'awaiting-approval', 'request is withdrawn'],
] as const)(
  'a session that was ended %s comes back stopped, says what it lost, and waits',
  async (_, prompt, at, text) => {
    const house = open()
    const { id } = await house.launch('[[offline: say earlier words]]')
    await until(house, id, 'awaiting-input')
    await house.pool.respond(id, prompt, { userInitiated: true })
    await until(house, id, at)
    await house.pool.kill(id)
    expect(house.approvals.pending()).toEqual([])
    const back = await house.pool.reopen(id)
    expect([sessionState(back), back.lifecycle, back.turns]).toEqual(['stopped', 'suspended', 1])
    expect(stateText(back)).toContain(text)
    expect(stateText(back)).toContain('Send a message to continue.')
    // The same after a second end.
    await house.pool.kill(id)
    expect(stateText(await house.pool.reopen(id))).toContain(text)
    await house.pool.respond(id, '[[offline: say more]]', { userInitiated: true })
    await vi.waitFor(() => expect(house.pool.resolve(id)).toMatchObject({ turns: 2, lastWords: 'more' }))
  },
)

test('the end of a session that has no conversation yet cannot be undone, and the error says so', async () => {
  const house = open()
  const workdir = house.repo('shared')
  const first = await house.launch('[[offline: wait 60000]]', { workdir })
  await until(house, first.id, 'active')
  const { id } = await house.launch('x', { workdir })
  await house.pool.kill(id)
  await expect(house.pool.reopen(id)).rejects.toThrow('no conversation')
})

test('an agent may answer only so often without a person; a person resets the count', async () => {
  const house = open({ config: { maxAutoResponds: 2 } })
  const { id } = await house.launch('one')
  await until(house, id, 'awaiting-input')
  await house.pool.respond(id, 'a')
  await house.pool.respond(id, 'b')
  await expect(house.pool.respond(id, 'c')).rejects.toThrow(/Auto-respond limit reached \(2\/2\)/)
  await house.pool.respond(id, 'd', { userInitiated: true })
  await expect(house.pool.respond(id, 'e')).resolves.toBeDefined()
})

test('kill ends a running session, and what still arrives is ignored', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: wait 300]] [[offline: say late]]')
  await until(house, id, 'active')
  const { killed } = await house.pool.kill(id)
  expect(killed).toBe(true)
  expect(house.pool.resolve(id)).toMatchObject({
    status: 'killed',
    lifecycle: 'ended',
    end: { reason: 'user' },
  })
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(house.store.lastOutput(id, 50).map((block) => block.text)).not.toContain('late')
  expect(house.pool.resolve(id).status).toBe('killed')
  expect((await house.pool.kill(id)).killed).toBe(false)
})

test('beyond the limit of sessions a launch waits in the queue and begins when a place is free; a full queue refuses', async () => {
  const house = open({ config: { maxSessions: 1, maxQueued: 1 } })
  const first = await house.launch('[[offline: wait 60000]]')
  await until(house, first.id, 'active')
  const second = await house.launch('second task')
  expect(house.pool.resolve(second.id).lifecycle).toBe('queued')
  await expect(house.launch('third task')).rejects.toThrow('1 coding sessions wait in the queue already')
  await house.pool.kill(first.id)
  await until(house, second.id, 'awaiting-input')
})

test('sessions that wait for a message hold no place: their processes are parked for others, and start again with the next message', async () => {
  const runtime = makeOfflineAgent({ clock: systemClock, directions: true })
  const house = open({ runtime, config: { maxSessions: 2 } })
  const ids: string[] = []
  for (const name of ['one', 'two', 'three', 'four']) {
    const { id } = await house.launch(name)
    ids.push(id)
    expect(await until(house, id, 'awaiting-input')).toMatchObject({ status: 'running' })
  }
  const idle = ids.map((id) => house.pool.resolve(id))
  expect(idle.map(({ lifecycle }) => lifecycle)).toEqual(ids.map(() => 'awaiting-input'))
  const withProcess = (): string[] => ids.filter((id) => runtime.live(`coding:${id}`))
  expect(withProcess()).toEqual(ids.slice(2))
  const conversation = idle[0]!.sdkSessionId
  await house.pool.respond(ids[0]!, '[[offline: say still here]]', { userInitiated: true })
  await vi.waitFor(() =>
    expect(house.pool.resolve(ids[0]!)).toMatchObject({ turns: 2, lifecycle: 'awaiting-input' }),
  )
  expect(house.pool.resolve(ids[0]!).sdkSessionId).toBe(conversation)
  expect(saidIn(house, ids[0]!)).toContain('still here')
  expect(withProcess()).toHaveLength(2)
})

test('one session works in a repository and one waits for it; a third is refused; the queued one is never lost', async () => {
  const house = open({ config: { perRepo: { running: 1, queued: 1 } } })
  const workdir = house.repo('shared')
  const first = await house.launch('[[offline: wait 60000]] alpha', { workdir, multiTurn: false })
  await until(house, first.id, 'active')
  const second = await house.launch('beta', { workdir, multiTurn: false })
  const queued = house.pool.resolve(second.id)
  expect(queued.lifecycle).toBe('queued')
  expect(house.pool.placeInQueue(queued, undefined)).toEqual({ place: 1, waitsFor: [first.name] })
  await expect(house.launch('gamma', { workdir })).rejects.toThrow(/works in it, and 1 more wait for it/)
  await house.pool.kill(first.id)
  await until(house, second.id, 'ended')
  expect(house.pool.resolve(first.id).end!.at).toBeLessThanOrEqual(house.pool.resolve(second.id).startedAt!)
})

test('the session for a queued task is chosen when its turn comes', async () => {
  const chosen: string[] = []
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000002', fork: false }
  const house = open({
    choose: async ({ id }) => {
      chosen.push(`${id} ${house.pool.resolve(first.id).lifecycle}`)
      return { action: 'resume', resume }
    },
  })
  const workdir = house.repo('shared')
  const first = await house.launch('[[offline: wait 60000]] alpha', { workdir, multiTurn: false })
  await until(house, first.id, 'active')
  const second = await house.launch('beta', { workdir, multiTurn: false, chooseWhenFree: true })
  expect(chosen).toEqual([])
  await house.pool.kill(first.id)
  await until(house, second.id, 'ended')
  expect(chosen).toEqual([`${second.id} ended`])
  expect(house.pool.resolve(second.id).request).toMatchObject({ resume, chooseWhenFree: false })
  const [prompt] = house.store.outputAfter(second.id, 0)
  expect(prompt!.text).toBe('beta')
})

test('a queued task keeps waiting while the session that it should continue is busy', async () => {
  const busy = { action: 'queue', sdkSessionId: '00000000-0000-4000-8000-000000000003' } as const
  const house = open({
    config: { perRepo: { running: 2, queued: 1 } },
    choose: async () => (house.pool.resolve(first.id).lifecycle === 'active' ? busy : { action: 'fresh' }),
  })
  const workdir = house.repo('shared')
  const resume = { sdkSessionId: busy.sdkSessionId, fork: false }
  const first = await house.launch('[[offline: wait 300]] alpha', { workdir, resume, multiTurn: false })
  await until(house, first.id, 'active')
  const second = await house.launch('beta', { workdir, multiTurn: false, chooseWhenFree: true })
  await until(house, second.id, 'ended')
  expect(house.pool.resolve(second.id).startedAt!).toBeGreaterThanOrEqual(
    house.pool.resolve(first.id).end!.at,
  )
})

test('a conversation that is taken is refused if the launch names it, and chosen again if Rockpool chose it', async () => {
  const house = open({
    config: { perRepo: { running: 2, queued: 1 } },
    choose: async () => ({ action: 'fresh' }),
  })
  const workdir = house.repo('shared')
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000004', fork: false }
  const first = await house.launch('[[offline: wait 60000]]', { workdir, resume, multiTurn: false })
  await expect(house.launch('beta', { workdir, resume })).rejects.toMatchObject({ code: 'conflict' })
  const again = { ...first.request, prompt: 'beta', resume }
  const second = await house.pool.spawn(again, { isChosen: true })
  expect(second.request).toMatchObject({ resume: undefined, chooseWhenFree: true })
  await until(house, second.id, 'ended')
  // A fork shares nothing.
  await house.launch('gamma', { workdir, resume: { ...resume, fork: true } })
  await house.pool.kill(first.id)
})

test('names are unique, and a session is found by id, name, prefix; an unclear reference lists the candidates', async () => {
  const house = open()
  const a = await house.launch('same words here')
  const b = await house.launch('same words here')
  expect([a.name, b.name]).toEqual(['same-words-here', 'same-words-here-2'])
  expect(house.pool.resolve(a.name).id).toBe(a.id)
  expect(house.pool.resolve(b.id.slice(0, 7)).id).toBe(b.id)
  const c = await house.launch('other words')
  expect(house.pool.resolve('oth').id).toBe(c.id)
  expect(() => house.pool.resolve('same-w')).toThrow(
    new RegExp(`Several coding sessions match "same-w": .*${a.id} \\(same-words-here\\)`),
  )
  expect(() => house.pool.resolve('nope')).toThrow(/no coding session "nope"/)
})

test('a permission request waits for a person with the whole command; yes lets it run', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: ask Bash {"command":"npm publish --access public"}]]')
  const session = await until(house, id, 'awaiting-approval')
  expect(session.waiting).toMatchObject({ for: 'approval', about: 'npm publish --access public' })
  const [approval] = house.approvals.pending()
  await house.approvals.answer(approval!.id, { behavior: 'allow', by: 'ada' })
  await until(house, id, 'awaiting-input')
  expect(house.store.lastOutput(id, 10).map((block) => block.text)).toContain('allowed Bash')
  expect(house.pool.resolve(id).waitedMs).toBeGreaterThan(0)
  for (const ref of [approval!.id, approval!.id.slice(0, 4)])
    await expect(house.approvals.answer(ref, { behavior: 'deny', by: 'bob' })).rejects.toThrow(
      /already allowed by ada/,
    )
})

test('an answer to "all" without an id, or with the beginning of several ids, names no request', async () => {
  const house = open()
  for (const command of ['ls', 'npm publish']) {
    const { id } = await house.launch(`[[offline: ask Bash {"command":"${command}"}]]`)
    await until(house, id, 'awaiting-approval')
  }
  const [first, second] = house.approvals.pending()
  const unclear = { code: 'ambiguous', message: expect.stringContaining('Which one?') }
  expect(() => house.approvals.named('')).toThrow(/Which one/)
  const yes = { behavior: 'allow', by: 'ada' } as const
  await expect(house.approvals.answerTogether('', [second!.id], yes)).rejects.toMatchObject(unclear)
  // Ids are random: two that begin with the same letters, and an answered one.
  await house.approvalStore.add({ ...first!, id: 'same-1' })
  await house.approvalStore.add({ ...second!, id: 'same-2' })
  await house.approvalStore.add({ ...second!, id: 'same-3', state: 'denied', answeredBy: 'bob' })
  expect(() => house.approvals.named('same')).toThrow(/Which one/)
  await expect(house.approvals.answer('same', yes)).rejects.toMatchObject(unclear)
  await expect(house.approvals.answerTogether('same', ['same-2'], yes)).rejects.toMatchObject(unclear)
  expect(house.approvals.pending()).toHaveLength(4)
})

test('two people answer at the same moment from two processes: one of them wins, the other gets a message', async () => {
  const folder = sharedFolder()
  const here = open({ folder })
  const there = open({ folder })
  const { id } = await here.launch('[[offline: ask Bash {"command":"ls"}]]')
  await until(here, id, 'awaiting-approval')
  const [asked] = here.approvals.pending()
  const answers = await Promise.allSettled([
    here.approvals.answer(asked!.id, { behavior: 'allow', by: 'ada' }),
    there.approvals.answer(asked!.id, { behavior: 'deny', by: 'bob' }),
  ])
  expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const { state, answeredBy } = here.approvalStore.get(asked!.id)!
  expect([state, answeredBy]).toEqual(
    answers[0].status === 'fulfilled' ? ['allowed', 'ada'] : ['denied', 'bob'],
  )
})

test('an answer for another input than the one that was shown is refused', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: ask Bash {"command":"ls"}]]')
  await until(house, id, 'awaiting-approval')
  const [approval] = house.approvals.pending()
  await expect(
    house.approvals.answer(approval!.id, { behavior: 'allow', by: 'ada' }, 'other-hash'),
  ).rejects.toThrow(/something else than what was shown/)
  expect(house.approvals.pending()).toHaveLength(1)
})

test('where a limit is set, no answer in time means no, and the session shows it until a person has looked', async () => {
  const house = open({ config: { approvalTimeoutMinutes: 0.3 / 60 } })
  const { id } = await house.launch('[[offline: ask Bash {"command":"ls"}]]')
  const session = await until(house, id, 'awaiting-input')
  const said = house.store.lastOutput(id, 10).map((block) => block.text)
  expect(said.some((text) => text.includes('Expired, no answer in'))).toBe(true)
  expect([sessionState(session), stateText(session)]).toEqual([
    'needs you',
    expect.stringMatching(/^expired, no answer in \d+ s: ls$/),
  ])
  expect(sessionState(await house.pool.markSeen(id))).toBe('idle')
})

test('without a limit a question waits', async () => {
  const clock = makeMovableClock()
  const house = open({ clock })
  const { id } = await house.launch('[[offline: ask Bash {"command":"ls"}]]')
  await until(house, id, 'awaiting-approval')
  await clock.advance(30 * 24 * 3_600_000)
  expect(house.approvals.pending()).toMatchObject([{ state: 'pending' }])
  expect(house.approvals.pending()[0]).not.toHaveProperty('expiresAt')
})

test('a finished session is ready until a person has looked at it or sent a message, a failed one needs a person', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: say all done]]')
  const session = await until(house, id, 'awaiting-input')
  expect([sessionState(session), session.lastWords]).toEqual(['ready', 'all done'])
  const looked = await house.pool.markSeen(id)
  // A look is no activity: the age of the session stays.
  expect([sessionState(looked), looked.lastActivityAt]).toEqual(['idle', session.lastActivityAt])
  await house.pool.respond(id, '[[offline: fail overloaded]]', { userInitiated: true })
  const failed = await until(house, id, 'ended')
  expect([sessionState(failed), needsYou(failed)]).toEqual(['failed', true])
  expect(needsYou(await house.pool.markSeen(id))).toBe(false)
})

describe('a restart', () => {
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000009', fork: false }

  test.each(['stop', 'kill -9'])(
    'with %s keeps the question, and its answer resumes the session under its name',
    async (how) => {
      const folder = sharedFolder()
      const before = open({ folder, self: how === 'stop' ? undefined : deadProcess })
      const { id, name } = await before.launch('[[offline: ask Bash {"command":"make"}]]', { resume })
      await until(before, id, 'awaiting-approval')
      const [asked] = before.approvals.pending()
      if (how === 'stop') await before.close()
      const after = open({ folder })
      await after.pool.recover()
      const session = after.pool.resolve(id)
      expect(session).toMatchObject({ lifecycle: 'suspended', waiting: { for: 'approval', about: 'make' } })
      expect(sessionState(session)).toBe('needs you')
      await after.approvals.answer(asked!.id, { behavior: 'allow', by: 'ada' })
      const again = await until(after, id, 'awaiting-input')
      expect([again.name, sessionState(again), again.turns]).toEqual([name, 'ready', 1])
      const prompts = after.store.lastOutput(id, 10).filter(({ kind }) => kind === 'prompt')
      expect(prompts.at(-1)!.text).toMatch(/A person allowed: make\nDo it now/)
      expect(after.approvals.pending()).toEqual([])
      expect(after.pool.list()).toHaveLength(1)
    },
  )

  test.each([
    [
      'a raised budget',
      { behavior: 'allow', text: '$4' } as const,
      { lifecycle: 'awaiting-input', budgetUsd: 7 },
    ],
    [
      'a budget that is not raised',
      { behavior: 'deny' } as const,
      { lifecycle: 'ended', end: { reason: 'budget' } },
    ],
  ])('keeps the question about the budget: %s', async (_which, answer, then) => {
    const folder = sharedFolder()
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
    const spend = `[[offline: emit ${JSON.stringify({ type: 'usage', messageId: 'm1', model: 'x', usage, subagent: false })}]]`
    const before = open({ folder, priceOf: () => 3 })
    const { id } = await before.launch(spend, { budgetUsd: 2, resume })
    await until(before, id, 'awaiting-input')
    await before.pool.respond(id, 'more', { userInitiated: true })
    await until(before, id, 'awaiting-budget')
    await before.close()
    const after = open({ folder, priceOf: () => 3 })
    await after.pool.recover()
    expect(sessionState(after.pool.resolve(id))).toBe('needs you')
    await answerOnly(after, { ...answer, by: 'ada' })
    await vi.waitFor(() => expect(after.pool.resolve(id)).toMatchObject(then))
    expect(after.approvals.pending()).toEqual([])
  })

  test('of a session that never reached Claude starts it again: it asks again, once', async () => {
    const folder = sharedFolder()
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
    const spend = `[[offline: emit ${JSON.stringify({ type: 'usage', messageId: 'm1', model: 'x', usage, subagent: false })}]]`
    const options = { folder, priceOf: () => 3, config: { budgets: { usdPerDay: 1 } } }
    const before = open(options)
    await until(before, (await before.launch(spend)).id, 'awaiting-input')
    const { id } = await before.launch('second')
    await until(before, id, 'awaiting-budget')
    await before.close()
    const after = open(options)
    await after.pool.recover()
    await until(after, id, 'awaiting-budget')
    expect(after.approvals.pending().filter(({ codingId }) => codingId === id)).toHaveLength(1)
  })

  test('keeps what is ready, and a message continues it at once', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const { id } = await before.launch('[[offline: say my last words]]', { resume })
    await until(before, id, 'awaiting-input')
    await before.close()
    const after = open({ folder })
    const session = after.pool.resolve(id)
    expect([sessionState(session), stateText(session)]).toEqual(['ready', 'my last words'])
    await after.pool.respond(id, '[[offline: say more]]', { userInitiated: true })
    await until(after, id, 'awaiting-input')
    expect(after.store.lastOutput(id, 10).map(({ text }) => text)).toContain('more')
  })
})

test('"always" covers the same command of the same session, nothing else, and can be listed', async () => {
  const house = open()
  const asks =
    '[[offline: ask Bash {"command":"ls"}]][[offline: ask Bash {"command":"ls"}]][[offline: ask Bash {"command":"ls -la"}]]'
  const { id } = await house.launch(asks)
  await until(house, id, 'awaiting-approval')
  await answerOnly(house, { behavior: 'allow', always: true, by: 'ada' })
  await vi.waitFor(() => expect(house.approvals.pending()[0]?.shown).toMatch(/^ls -la\n/))
  expect(house.approvals.pending()).toHaveLength(1)
})

test('"always" holds in the session that it was said in, and for no question, plan or budget', async () => {
  const house = open()
  const ask = '[[offline: ask Bash {"command":"ls"}]]'
  const first = await house.launch(ask)
  await until(house, first.id, 'awaiting-approval')
  await answerOnly(house, { behavior: 'allow', always: true, by: 'ada' })
  await until(house, first.id, 'awaiting-input')
  const second = await house.launch(ask)
  await until(house, second.id, 'awaiting-approval')
  const request = {
    requestId: 'r',
    kind: 'plan',
    toolName: 'ExitPlanMode',
    input: { plan: '1. do' },
  } as const
  const stop = new AbortController()
  const settled = house.approvals.settle({ agentId: 'main', request }, stop.signal, ({ id }) => {
    const always = house.approvals.answer(id, { behavior: 'allow', always: true, by: 'ada' })
    void expect(always)
      .rejects.toThrow(/is a plan; it cannot be allowed always/)
      .finally(() => stop.abort())
  })
  expect(await settled).toMatchObject({ state: 'expired' })
  expect(house.approvalStore.grants()).toHaveLength(1)
})

test('a rule for a command covers it in every session of the repository, and the recorded answer names the rule', async () => {
  const house = open()
  const workdir = house.repo('rules')
  const first = await house.launch('[[offline: ask Bash {"command":"npm test"}]]', { workdir })
  await until(house, first.id, 'awaiting-approval')
  await answerOnly(house, { behavior: 'allow', rule: 'command', lasts: { forAll: true }, by: 'ada' })
  await until(house, first.id, 'awaiting-input')
  const asks =
    '[[offline: ask Bash {"command":"npm  test","description":"Again"}]][[offline: ask Bash {"command":"npm test && id"}]]'
  const second = await house.launch(asks, { workdir })
  await until(house, second.id, 'awaiting-approval')
  expect(house.approvals.pending()).toMatchObject([{ input: { command: 'npm test && id' } }])
  const [rule] = house.approvalStore.grants()
  expect(rule).toMatchObject({ kind: 'command', pattern: 'npm test', folder: workdir })
  const passed = house.approvalStore.recent(10).find(({ answeredBy }) => answeredBy === `rule ${rule!.id}`)
  expect(passed).toMatchObject({ codingId: second.id, state: 'allowed', answer: `npm test in ${workdir}` })
  const said = house.store.lastOutput(second.id, 10).map(({ text }) => text)
  expect(said).toContain(`allowed by rule ${rule!.id}: npm test in ${workdir}`)
  await house.approvalStore.revoke(rule!.id)
  const third = await house.launch('[[offline: ask Bash {"command":"npm test"}]]', {
    workdir: house.repo('other'),
  })
  await until(house, third.id, 'awaiting-approval')
})

test('"always" ends when the script has changed', async () => {
  const house = open()
  const workdir = house.repo('scripts')
  writeFileSync(join(workdir, 'build.sh'), 'echo harmless')
  const ask = '[[offline: ask Bash {"command":"sh build.sh"}]]'
  const { id } = await house.launch(ask, { workdir })
  await until(house, id, 'awaiting-approval')
  const [first] = house.approvals.pending()
  expect(first!.shown).toMatch(
    /^sh build\.sh\ndirectory: ".*scripts-\w+"\nscript: "build\.sh" sha256 [0-9a-f]{12}$/,
  )
  await answerOnly(house, { behavior: 'allow', always: true, by: 'ada' })
  await until(house, id, 'awaiting-input')
  await house.pool.respond(id, ask, { userInitiated: true })
  await vi.waitFor(() =>
    expect(house.pool.resolve(id)).toMatchObject({ turns: 2, lifecycle: 'awaiting-input' }),
  )
  expect(house.approvals.pending()).toEqual([])
  writeFileSync(join(workdir, 'build.sh'), 'rm -rf ~')
  await house.pool.respond(id, ask, { userInitiated: true })
  await until(house, id, 'awaiting-approval')
  expect(house.approvals.pending()[0]!.inputHash).not.toBe(first!.inputHash)
})

test('a script that changes while a person decides is asked about again', async () => {
  const house = open()
  const workdir = house.repo('scripts')
  writeFileSync(join(workdir, 'build.sh'), 'echo harmless')
  const { id } = await house.launch('[[offline: ask Bash {"command":"sh build.sh"}]]', { workdir })
  await until(house, id, 'awaiting-approval')
  const [first] = house.approvals.pending()
  writeFileSync(join(workdir, 'build.sh'), 'rm -rf ~')
  await answerOnly(house, { behavior: 'allow', by: 'ada' })
  await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(1))
  expect(house.approvals.pending()[0]!.inputHash).not.toBe(first!.inputHash)
  await answerOnly(house, { behavior: 'allow', by: 'ada' })
  await until(house, id, 'awaiting-input')
})

test('a question is not answered by a yes; several choices are given by their labels', async () => {
  const house = open()
  const options = [{ label: 'Red' }, { label: 'Green' }, { label: 'Blue' }]
  const input = { questions: [{ question: 'Which colors?', options, multiSelect: true }] }
  const request = { requestId: 'r', kind: 'question', toolName: 'AskUserQuestion', input } as const
  const told = house.approvals.ask({ agentId: 'main', request }, new AbortController().signal, () => {})
  await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(1))
  const say = (text?: string): Promise<unknown> => answerOnly(house, { behavior: 'allow', text, by: 'ada' })
  await expect(say()).rejects.toThrow(/needs an answer/)
  await expect(say('4')).rejects.toThrow(/no choice 4/)
  expect(house.approvals.pending()).toHaveLength(1)
  await say('1,3')
  expect(await told).toMatchObject({ updatedInput: { answers: { 'Which colors?': 'Red, Blue' } } })
})

test('the same command in two repositories is asked about twice', async () => {
  const house = open()
  const asks = '[[offline: ask Bash {"command":"sh build.sh"}]]'
  const ids = [await house.launch(asks), await house.launch(asks)]
  for (const { id } of ids) await until(house, id, 'awaiting-approval')
  const [first, second] = house.approvals.pending()
  expect(first!.inputHash).not.toBe(second!.inputHash)
  const together = house.approvals.answerTogether(first!.id, [second!.id], { behavior: 'allow', by: 'ada' })
  await expect(together).rejects.toMatchObject({ code: 'input-invalid' })
  expect(house.approvals.pending()).toEqual([first, second])
})

test('the same question of several sessions in one directory is answered together, but not for one that asks it later', async () => {
  const house = open({ config: { perRepo: { running: 3, queued: 1 } } })
  const workdir = house.repo('same')
  const launch = async (): Promise<string> => {
    const { id } = await house.launch('[[offline: ask Bash {"command":"make"}]]', { workdir })
    await until(house, id, 'awaiting-approval')
    return id
  }
  const ids = [await launch(), await launch()]
  const [first, second] = house.approvals.pending()
  const later = await launch()
  const yes = { behavior: 'allow', by: 'ada' } as const
  const settled = await house.approvals.answerTogether(first!.id, [second!.id], yes, first!.inputHash)
  expect(settled).toHaveLength(2)
  for (const id of ids) await until(house, id, 'awaiting-input')
  expect(house.approvals.pending()).toMatchObject([{ codingId: later, inputHash: first!.inputHash }])
})

test('one session at a time works in a repository, also in a folder of it; a worktree is a place of its own', async () => {
  const house = open()
  const workdir = house.repo('shop')
  const git = (...args: string[]): unknown => execFileSync('git', ['-C', workdir, ...args], { stdio: 'pipe' })
  git('init', '-q')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first')
  const worktree = `${workdir}-tree`
  git('worktree', 'add', '-q', worktree)
  const sub = join(workdir, 'src', 'deep')
  mkdirSync(sub, { recursive: true })
  const ask = '[[offline: ask Bash {"command":"ls"}]]'
  const first = await house.launch(ask, { workdir })
  await until(house, first.id, 'awaiting-approval')
  const inside = await house.launch(ask, { workdir: sub })
  const beside = await house.launch(ask, { workdir: worktree })
  await until(house, beside.id, 'awaiting-approval')
  expect(house.pool.resolve(inside.id).lifecycle).toBe('queued')
  const [asked] = house.approvals.pending().filter(({ codingId }) => codingId === first.id)
  await house.approvals.answer(asked!.id, { behavior: 'allow', by: 'ada' })
  await until(house, inside.id, 'awaiting-approval')
})

test('a chat that comes back to the foreground gets exactly what it missed', async () => {
  const house = open()
  const { id } = await house.launch('[[offline: say one]][[offline: say two]]')
  await until(house, id, 'awaiting-input')
  const first = await house.pool.foreground(id, 'telegram|7', 30)
  expect(first.blocks.filter((block) => block.kind === 'text').map((block) => block.text)).toEqual([
    'one',
    'two',
  ])
  await house.pool.background('telegram|7', id)
  await house.pool.respond(id, '[[offline: say three]]', { userInitiated: true })
  await vi.waitFor(() => expect(house.pool.resolve(id).turns).toBe(2))
  const again = await house.pool.foreground(id, 'telegram|7', 30)
  expect(again.blocks.filter((block) => block.kind === 'text').map((block) => block.text)).toEqual(['three'])
})

test('the agent that launched a session is woken instead of a notice in its chat', async () => {
  const house = open()
  const { id } = await house.launch('x', { originSessionKey: 'agent:main:telegram:direct:42' })
  await until(house, id, 'awaiting-input')
  await vi.waitFor(() => expect(house.woken).toHaveLength(1))
  expect(house.woken[0]).toMatchObject({ sessionKey: 'agent:main:telegram:direct:42', agentId: 'main' })
  expect(texts(house).some((text) => text.startsWith('🔔'))).toBe(false)
})

/** A session with a conversation and a message, which waits until another session leaves its repository. */
async function queuedBehindAnother(house: ReturnType<typeof open>) {
  const workdir = house.repo('shared')
  const resumeOf = (n: number) => ({ sdkSessionId: `00000000-0000-4000-8000-00000000000${n}`, fork: false })
  const waits = await house.launch('x', { workdir, resume: resumeOf(1) })
  await until(house, waits.id, 'awaiting-input')
  const runs = await house.launch('[[offline: wait 60000]]', { workdir, resume: resumeOf(2) })
  await until(house, runs.id, 'active')
  await house.pool.respond(waits.id, '[[offline: say my turn]]', { userInitiated: true })
  await until(house, waits.id, 'queued')
  return waits
}

test('after an orderly stop a message that waits for the repository of its session is delivered by the next process', async () => {
  const folder = sharedFolder()
  const before = open({ folder })
  const waits = await queuedBehindAnother(before)
  await before.pool.drain()
  const after = open({ folder })
  await after.pool.recover()
  await until(after, waits.id, 'awaiting-input')
  expect(after.store.lastOutput(waits.id, 5).map((block) => block.text)).toContain('my turn')
})

test('a session that was queued when all were ended stays ended; one with a conversation can be resumed', async () => {
  const folder = sharedFolder()
  const before = open({ folder })
  const known = await queuedBehindAnother(before)
  const fresh = await before.launch('[[offline: say new]]', { workdir: before.repo('shared') })
  await before.pool.killAll()
  const gateway = open({ folder })
  await gateway.pool.recover()
  expect(gateway.pool.resolve(known.id)).toMatchObject({ status: 'killed', lifecycle: 'suspended' })
  expect(gateway.pool.resolve(fresh.id)).toMatchObject({ status: 'killed', lifecycle: 'ended' })
  await gateway.pool.resume(known.id, '[[offline: say and this]]')
  await vi.waitFor(() =>
    expect(saidIn(gateway, known.id)).toEqual(expect.arrayContaining(['my turn', 'and this'])),
  )
})

test('after an orderly stop what was queued begins again, and what ran is suspended', async () => {
  const folder = sharedFolder()
  const before = open({ folder })
  const workdir = before.repo('shared')
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000001', fork: false }
  const ran = await before.launch('[[offline: wait 60000]]', { workdir, resume })
  await vi.waitFor(() => expect(before.pool.resolve(ran.id).sdkSessionId).toBe(resume.sdkSessionId))
  const waits = await before.launch('[[offline: say my turn]]', { workdir })
  await before.pool.drain()
  const after = open({ folder })
  await after.pool.recover()
  expect(after.pool.resolve(ran.id)).toMatchObject({ lifecycle: 'suspended', end: { reason: 'shutdown' } })
  await until(after, waits.id, 'awaiting-input')
  expect(after.store.lastOutput(waits.id, 5).map((block) => block.text)).toContain('my turn')
})

test('after a crash running sessions are suspended, reported once, and can be resumed; queued ones start', async () => {
  const folder = sharedFolder()
  const before = open({ folder, self: deadProcess })
  const workdir = before.repo('shared')
  const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000001', fork: false }
  const ran = await before.launch('[[offline: wait 60000]]', { workdir, resume })
  await vi.waitFor(() => expect(before.pool.resolve(ran.id).sdkSessionId).toBe(resume.sdkSessionId))
  const waits = await before.launch('[[offline: say my turn]]', { workdir })
  const after = open({ folder })
  const found = await after.pool.recover()
  expect(found.map((session) => session.id).toSorted()).toEqual([ran.id, waits.id].toSorted())
  expect(after.pool.resolve(ran.id)).toMatchObject({
    status: 'killed',
    lifecycle: 'suspended',
    end: { reason: 'crash' },
  })
  expect(texts(after).filter((text) => text.startsWith('💤'))).toHaveLength(1)
  await until(after, waits.id, 'awaiting-input')
  expect(after.store.lastOutput(waits.id, 5).map((block) => block.text)).toContain('my turn')
  expect(await after.pool.recover()).toEqual([])
  const resumed = await after.pool.resume(ran.id, 'go on')
  expect(resumed.request.resume).toMatchObject(resume)
})

test('at the budget the next turn waits and asks; raising it lets the session continue', async () => {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
  const spend = `[[offline: emit ${JSON.stringify({ type: 'usage', messageId: 'm1', model: 'x', usage, subagent: false })}]]`
  const house = open({ priceOf: () => 3 })
  const { id } = await house.launch(spend, { budgetUsd: 2 })
  await until(house, id, 'awaiting-input')
  expect(house.pool.resolve(id).costUsd).toBe(3)
  await house.pool.respond(id, 'more', { userInitiated: true })
  const held = await until(house, id, 'awaiting-budget')
  expect(held.waiting?.about).toContain('$3.00 of $2.00')
  await answerOnly(house, { behavior: 'allow', text: '$4', by: 'ada' })
  const session = await until(house, id, 'awaiting-input')
  expect(session).toMatchObject({ budgetUsd: 7, turns: 2 })
})

function saidIn(house: CodingHouse, id: string): string[] {
  return house.store.lastOutput(id, 50).map((block) => block.text)
}
