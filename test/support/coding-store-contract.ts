// The contract of the stores of coding sessions, approvals, spending, decisions and schedules, for every database. A
// store's own test calls this with a way to open the stores of two processes that share what is written.
import { expect, test } from 'vitest'
import type { Approval, CodingSession } from '../../src/domain/coding-session.ts'
import { RockpoolError } from '../../src/domain/errors.ts'
import { runId } from '../../src/domain/schedule.ts'
import type { Decision, Decisions } from '../../src/domain/selection.ts'
import type { ApprovalStore } from '../../src/store/sqlite/approval-store.ts'
import type { CodingStore } from '../../src/store/sqlite/coding-store.ts'
import type { Spend } from '../../src/store/sqlite/record-tables.ts'
import type { ScheduleStore } from '../../src/store/sqlite/schedule-store.ts'
import type { SpendStore } from '../../src/store/sqlite/spend-store.ts'

export interface CodingStores {
  coding: CodingStore
  approvals: ApprovalStore
  spend: SpendStore
  decisions: Decisions
  schedules: ScheduleStore
}

/** `other` is another process, perhaps on another machine: it knows what was written before it was asked for. */
export function codingStoreContract(
  open: () => Promise<{ here: CodingStores; other: () => Promise<CodingStores> }>,
): void {
  test('a coding session is kept as it is, changed as one step, and found by every name that it has', async () => {
    const { here, other } = await open()
    await here.coding.save(aCodingSession('aaaa1111', { sdkSessionId: 'cafe-1' }))
    await here.coding.save(aCodingSession('aaaa2222', { lifecycle: 'ended', name: 'second', createdAt: 2 }))
    await Promise.all(
      Array.from({ length: 10 }, () => here.coding.update('aaaa1111', (session) => session.turns++)),
    )
    const { coding } = await other()
    expect(coding.get('aaaa1111')).toMatchObject({ turns: 10, sdkSessionId: 'cafe-1' })
    expect(coding.list().map(({ id }) => id)).toEqual(['aaaa2222', 'aaaa1111'])
    expect(coding.list({ open: true }).map(({ id }) => id)).toEqual(['aaaa1111'])
    for (const ref of ['aaaa1111', 'first', 'cafe', 'aaaa1'])
      expect(coding.resolve(ref).map(({ id }) => id)).toEqual(['aaaa1111'])
    const named = await coding.add(aCodingSession('aaaa3333'), () => {})
    expect(named.name).toBe('first-2')
    const full = new RockpoolError('refused', 'full')
    const refuse = (): never => {
      throw full
    }
    await expect(coding.add(aCodingSession('aaaa4444'), refuse)).rejects.toBe(full)
    expect(coding.get('aaaa4444')).toBeUndefined()
    await expect(here.coding.update('none', () => {})).rejects.toMatchObject({ code: 'not-found' })
  })

  test('a title names all runs of a conversation, and the owner that writes its row does not lose it', async () => {
    const { here } = await open()
    const owned = aCodingSession('aaaa1111', { sdkSessionId: 'cafe-1' })
    await here.coding.save(owned)
    await here.coding.setTitle('cafe-1', 'The hanging one')
    await here.coding.save({ ...owned, turns: 2 })
    expect(here.coding.get('aaaa1111')).toMatchObject({ title: 'The hanging one', turns: 2 })
    const { request } = aCodingSession('aaaa2222')
    const resume = { sdkSessionId: 'cafe-1', fork: false }
    const again = aCodingSession('aaaa2222', { request: { ...request, resume }, createdAt: 2 })
    expect(await here.coding.add(again, () => {})).toMatchObject({ title: 'The hanging one' })
    const fork = { ...again, id: 'aaaa3333', request: { ...request, resume: { ...resume, fork: true } } }
    expect((await here.coding.add(fork, () => {})).title).toBeUndefined()
    await here.coding.save({ ...again, sdkSessionId: 'cafe-1' })
    for (const ref of ['The hanging one', 'the hang'])
      expect(here.coding.resolve(ref).map(({ id }) => id)).toEqual(['aaaa2222'])
  })

  test('of two machines that begin one scheduled run, one claims it and one launches its session; the other gets `conflict`', async () => {
    const { here, other } = await open()
    const id = runId('nightly', 5)
    const due = { id, scheduleId: 'nightly', dueAt: 5, beginAt: 5, writtenAt: 5, costUsd: 0 }
    await here.schedules.addRun({ ...due, state: 'due' })
    const there = await other()
    const claim = ({ schedules }: CodingStores, machine: string) =>
      schedules.changeRun(id, ({ state }) => (state === 'due' ? { state: 'begun', machine } : undefined))
    const claims = await Promise.all([claim(here, 'here'), claim(there, 'there')])
    const [claimed, ...further] = claims.filter((run) => run !== undefined)
    expect(further).toEqual([])
    const launch = ({ coding }: CodingStores, name: string) =>
      coding.add(aCodingSession('S1', { name }), () => {})
    const launches = await Promise.allSettled([launch(here, 'here'), launch(there, 'there')])
    const [won] = launches.filter((launched) => launched.status === 'fulfilled')
    const [lost] = launches.filter((launched) => launched.status === 'rejected')
    expect(lost?.reason).toMatchObject({ code: 'conflict' })
    const { schedules, coding } = await other()
    expect(schedules.run(id)).toEqual(claimed)
    expect(coding.list()).toEqual([won?.value])
  })

  test('the check of a new session learns which session has the conversation, in the same step', async () => {
    const { here, other } = await open()
    const launch = async (
      { coding }: CodingStores,
      id: string,
      fork: boolean,
    ): Promise<string | undefined> => {
      let holder: string | undefined
      const { request } = aCodingSession(id)
      const resume = { sdkSessionId: 'cafe-9', fork }
      await coding.add(
        aCodingSession(id, { request: { ...request, resume }, status: 'starting' }),
        (found) => {
          holder = found?.id
        },
      )
      return holder
    }
    expect(await launch(here, 'bbbb0000', true)).toBeUndefined()
    expect(await launch(here, 'bbbb1111', false)).toBeUndefined()
    expect(await launch(await other(), 'bbbb2222', false)).toBeDefined()
    expect(await launch(here, 'bbbb3333', true)).toBeUndefined()
    for (const id of ['bbbb1111', 'bbbb2222'])
      await here.coding.update(id, (session) => Object.assign(session, { status: 'completed' }))
    expect(await launch(here, 'bbbb4444', false)).toBeUndefined()
  })

  test('output is numbered, read from any place, and the oldest goes', async () => {
    const { here, other } = await open()
    const blocks = Array.from({ length: 8 }, (_, n) => ({
      at: n,
      kind: 'text' as const,
      text: `block ${n} \0 🦞`,
    }))
    expect(await here.coding.addOutput('a', blocks)).toBe(8)
    expect(await here.coding.addOutput('a', blocks.slice(0, 4))).toBe(12)
    const { coding } = await other()
    expect(coding.lastOutput('a', 3).map(({ seq }) => seq)).toEqual([10, 11, 12])
    expect(coding.outputAfter('a', 0)[0]).toMatchObject({ seq: 3, text: 'block 2 \0 🦞' })
    expect(coding.outputAfter('a', 11)).toEqual([{ seq: 12, ...blocks[3] }])
    await here.coding.addOutput('a', [{ at: 1, kind: 'prompt', text: 'not counted' }])
    expect(here.coding.lastOutput('a', 3).map(({ seq }) => seq)).toEqual([10, 11, 12, 13])
    expect(coding.outputAfter('b', 0)).toEqual([])
  })

  test('a chat that watches never sees less than it has seen', async () => {
    const { here, other } = await open()
    await here.coding.setWatch({ codingId: 'a', channel: 'telegram|1', seenSeq: 7, foreground: true })
    await here.coding.setWatch({ codingId: 'a', channel: 'telegram|1', seenSeq: 3, foreground: true })
    await here.coding.markSeen('a', 'telegram|1', 9)
    await here.coding.markSeen('a', 'telegram|1', 8)
    await here.coding.markSeen('a', 'telegram|2', 8)
    const { coding } = await other()
    expect(coding.watches('a')).toEqual([
      { codingId: 'a', channel: 'telegram|1', seenSeq: 9, foreground: true },
    ])
    expect(coding.watchedBy('telegram|1')).toEqual(['a'])
  })

  test('another process asks the owner, who answers in the same place', async () => {
    const { here, other } = await open()
    await here.coding.ask({ id: 'r1', codingId: 'a', action: 'kill', input: { n: 1 }, askedAt: 5 })
    const { coding } = await other()
    expect(coding.asked(['a', 'b'])).toEqual([
      { id: 'r1', codingId: 'a', action: 'kill', input: { n: 1 }, askedAt: 5 },
    ])
    const taken = await Promise.all([
      here.coding.answerFirst('r1', { by: 'here' }),
      coding.answerFirst('r1', { by: 'other' }),
    ])
    expect(new Set(taken)).toEqual(new Set([false, true]))
    await coding.answer('r1', { ok: true })
    await coding.markOwner('me', 7)
    const again = (await other()).coding
    expect([again.ownerSeenAt('me'), again.ownerSeenAt('nobody')]).toEqual([7, undefined])
    expect([again.asked(['a']), again.answerTo('r1')]).toEqual([[], { ok: true }])
  })

  test('of two answers to one question the first wins; a permission can be taken back', async () => {
    const { here, other } = await open()
    await here.approvals.add(anApproval('q1'))
    const there = (await other()).approvals
    expect(there.pending().map(({ id }) => id)).toEqual(['q1'])
    const answers = await Promise.all([
      here.approvals.settle('q1', 'allowed', { at: 1, by: 'ann' }),
      there.settle('q1', 'denied', { at: 1, by: 'bob' }),
    ])
    expect(answers.filter(Boolean)).toHaveLength(1)
    const won = answers[0] ? { state: 'allowed', answeredBy: 'ann' } : { state: 'denied', answeredBy: 'bob' }
    expect((await other()).approvals.get('q1')).toMatchObject(won)
    const grant = { id: 'g1', codingId: 'a', tool: 'Bash', pattern: 'ls', grantedAt: 1, grantedBy: 'ann' }
    await here.approvals.grant(grant)
    expect((await other()).approvals.grants()).toMatchObject([grant])
    expect(await there.revoke('g1')).toBe(true)
    expect(await there.revoke('g1')).toBe(false)
    expect((await other()).approvals.grants()).toEqual([])
  })

  test('a call is counted once, with the highest amount that was reported', async () => {
    const { here, other } = await open()
    await here.spend.add(aSpend('m1', 1))
    await here.spend.add(aSpend('m1', 3))
    await here.spend.add(aSpend('m1', 2))
    await (await other()).spend.add({ ...aSpend('m2', 4), day: '2026-01-02', repo: '/other' })
    const { spend } = await other()
    expect([
      spend.total({}),
      spend.total({ codingId: 'a' }, '2026-01-01'),
      spend.total({ repo: '/other' }),
    ]).toEqual([7, 3, 4])
    expect(spend.perDay()).toEqual([
      { day: '2026-01-01', usd: 3 },
      { day: '2026-01-02', usd: 4 },
    ])
  })

  test('a decision is found by its id and by every session that it weighed or led to', async () => {
    const { here, other } = await open()
    const id = await here.decisions.record(aDecision)
    await (await other()).decisions.became(id, 'became-1')
    const { decisions } = await other()
    for (const ref of [id, 'weighed', 'became-1'])
      expect(decisions.find(ref)).toEqual([{ ...aDecision, id, becameSessionId: 'became-1' }])
    expect(decisions.find('nobody')).toEqual([])
  })

  test('the output of sessions that ended long ago is forgotten, the sessions are not', async () => {
    const { here, other } = await open()
    const end = { reason: 'done' as const, message: '', at: 10 }
    await here.coding.save(aCodingSession('old', { lifecycle: 'ended', end }))
    await here.coding.save(aCodingSession('new', { name: 'new' }))
    for (const id of ['old', 'new']) await here.coding.addOutput(id, [{ at: 1, kind: 'text', text: id }])
    expect(await here.coding.forgetOutputBefore(100)).toBe(1)
    const { coding } = await other()
    expect([coding.lastOutput('old', 5), coding.lastOutput('new', 5).length]).toEqual([[], 1])
    expect(coding.get('old')).toBeDefined()
  })
}

export function aCodingSession(id: string, over: Partial<CodingSession> = {}): CodingSession {
  const request = {
    prompt: 'do it',
    workdir: '/repo',
    agentId: 'main',
    budgetUsd: 5,
    allowedTools: [],
    permissionMode: 'default' as const,
    multiTurn: true,
    originChannel: 'gateway',
    spawnDepth: 0,
  }
  return {
    id,
    name: 'first',
    request,
    status: 'running',
    lifecycle: 'active',
    createdAt: 1,
    lastActivityAt: 1,
    budgetUsd: 5,
    costUsd: 0,
    turns: 0,
    autoResponds: 0,
    waitedMs: 0,
    inbox: [],
    given: [],
    allowances: {},
    lastSeq: 0,
    ...over,
  }
}

function anApproval(id: string): Approval {
  const what = {
    kind: 'tool' as const,
    toolName: 'Bash',
    input: { command: 'ls' },
    inputHash: 'h',
    shown: 'ls',
  }
  return { id, codingId: 'a', agentId: 'main', ...what, state: 'pending', askedAt: 1, expiresAt: 9e15 }
}

function aSpend(id: string, usd: number): Spend {
  const whose = { codingId: 'a', repo: '/repo', agentId: 'main', model: 'm', subagent: false }
  return { id, at: 1, day: '2026-01-01', ...whose, usd }
}

const aDecision: Omit<Decision, 'id' | 'becameSessionId'> = {
  at: 5,
  task: 'mend it',
  repoPath: '/repo',
  selection: {
    action: 'resume',
    sessionId: 'chosen-1',
    reason: 'it fits',
    relevanceBy: 'keywords',
    scores: [{ sessionId: 'weighed-1' } as Decision['selection']['scores'][number]],
  },
}
