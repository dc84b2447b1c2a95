// Seed 004 and the defects of the earlier implementations, row by row. The rows that need the real binary or a real
// gateway are in coding-claude.test.ts and coding-program.test.ts; those about finding and choosing sessions are named
// by their number in src/discovery.
import { rmSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { codingMetrics, formatStats } from '../src/coding/listing.ts'
import { formatDuration, generateSessionName } from '../src/coding/session/names.ts'
import { addressOfOrigin, resolveOriginChannel, withOriginMarker } from '../src/coding/session/origin.ts'
import {
  begun,
  directed,
  inTurn,
  open,
  passedOn,
  saidBy,
  sharedFolder,
  texts,
  until,
} from './support/coding-bench.ts'
import { directedAgent, init, usage } from './support/directed-agent.ts'
import { makeMovableClock } from './support/movable-clock.ts'

describe('status table', () => {
  test('starting: launched, and Claude has not said its id yet', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x')
    const session = await until(house, id, 'starting')
    expect(session).toMatchObject({ status: 'starting' })
    expect(session.sdkSessionId).toBeUndefined()
  })

  test('running: Claude has said its id', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x')
    await inTurn(claude)
    claude.emit(init)
    expect(await until(house, id, 'active')).toMatchObject({ status: 'running', model: 'm' })
    expect(house.pool.resolve(id).sdkSessionId).toBe('00000000-0000-4000-8000-000000000009')
  })

  test('completed: a single turn ended well', async () => {
    const house = open()
    const { id } = await house.launch('x', { multiTurn: false })
    expect(await until(house, id, 'ended')).toMatchObject({ status: 'completed', end: { reason: 'done' } })
  })

  test.each(['overloaded', 'context-full', 'budget-reached'])(
    'failed: the turn ended with %s',
    async (why) => {
      const house = open()
      const { id } = await house.launch(`[[offline: fail ${why}]]`)
      const reason = why === 'budget-reached' ? 'budget' : 'turn-failed'
      expect(await until(house, id, 'ended')).toMatchObject({ status: 'failed', end: { reason } })
    },
  )

  test('failed: Claude could not be started; that is reported and never silent (4.6 no. 4)', async () => {
    const claude = directedAgent()
    const runtime = { ...claude.runtime, open: () => Promise.reject(new Error('no such binary')) }
    const house = open({ runtime })
    const { id } = await house.launch('x')
    const session = await until(house, id, 'ended')
    expect(session).toMatchObject({
      status: 'failed',
      end: { reason: 'start-failed', message: 'no such binary' },
    })
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('❌'))).toHaveLength(1))
  })

  test('killed: by a person, once; a kill of one that is over changes nothing', async () => {
    const house = open()
    const { id } = await house.launch('[[offline: wait 60000]]')
    await until(house, id, 'active')
    expect((await house.pool.kill(id)).killed).toBe(true)
    expect((await house.pool.kill(id)).killed).toBe(false)
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('⛔'))).toHaveLength(1))
  })
})

describe('timers', () => {
  test('idle timeout: killed with the reason, stored, reported and resumable (4.6 no. 3)', async () => {
    const { clock, claude, house, id } = await directed({ config: { idleTimeoutMinutes: 30 } })
    claude.emit(init)
    claude.finish({ sdkSessionId: init.sdkSessionId })
    await until(house, id, 'awaiting-input')
    await clock.advance(29 * 60_000)
    expect(house.pool.resolve(id).lifecycle).toBe('awaiting-input')
    await clock.advance(2 * 60_000)
    const session = await until(house, id, 'suspended')
    expect(session).toMatchObject({ status: 'killed', end: { reason: 'idle-timeout' } })
    expect(codingMetrics(house.store, house.spend, Date.now()).sessionsByStatus.killed).toBe(1)
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('💤'))).toHaveLength(1))
    expect((await house.pool.resume(id, 'go on')).sdkSessionId).toBe(session.sdkSessionId)
  })

  test('a message puts the idle timeout off', async () => {
    const { clock, claude, house, id } = await directed({ config: { idleTimeoutMinutes: 30 } })
    claude.finish()
    await until(house, id, 'awaiting-input')
    await clock.advance(29 * 60_000)
    await house.pool.respond(id, 'more', { userInitiated: true })
    await inTurn(claude)
    claude.finish()
    await vi.waitFor(() => expect(house.pool.resolve(id).turns).toBe(2))
    await clock.advance(29 * 60_000)
    expect(house.pool.resolve(id).status).toBe('running')
  })

  test('safety net: 15 s of silence while nothing works means waiting; said once', async () => {
    const { clock, claude, house, id } = await directed()
    claude.emit(init)
    await until(house, id, 'active')
    claude.busy = false
    await clock.advance(14_000)
    expect(house.pool.resolve(id).lifecycle).toBe('active')
    await clock.advance(2_000)
    await until(house, id, 'awaiting-input')
    await clock.advance(60_000)
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('🔔'))).toHaveLength(1))
  })

  test('safety net: every sign of Claude puts it off, and it ends with the turn', async () => {
    const { clock, claude, house, id } = await directed()
    await begun(house, claude, id)
    claude.busy = false
    for (let i = 0; i < 4; i++) {
      await clock.advance(10_000)
      claude.emit({ type: 'thinking', text: '…' })
    }
    expect(house.pool.resolve(id).lifecycle).toBe('active')
    claude.finish()
    await until(house, id, 'awaiting-input')
    await clock.advance(60_000)
    await vi.waitFor(() => expect(texts(house).filter((text) => text.startsWith('🔔'))).toHaveLength(1))
  })

  test('safety net: a tool that runs for ten minutes is no silence (4.6 no. 7)', async () => {
    const { clock, claude, house, id } = await directed()
    claude.emit(init)
    claude.emit({ type: 'tool-start', toolUseId: 't1', name: 'Bash', input: { command: 'make' } })
    claude.busy = false
    await clock.advance(600_000)
    expect(house.pool.resolve(id).lifecycle).toBe('active')
    expect(texts(house).some((text) => text.startsWith('🔔'))).toBe(false)
  })

  test('long-running: reminded at ten minutes, once', async () => {
    const { clock, claude, house } = await directed()
    claude.emit(init)
    await clock.advance(9 * 60_000 + 59_000)
    expect(texts(house).some((text) => text.startsWith('⏱️'))).toBe(false)
    await clock.advance(2_000)
    await clock.advance(30 * 60_000)
    expect(texts(house).filter((text) => text.startsWith('⏱️'))).toEqual(['⏱️ [session] running for 10m0s'])
  })

  test('waiting is reported at most once in 5 s, and then once more if it still waits', async () => {
    const { clock, claude, house, id } = await directed()
    const bells = (): number => texts(house).filter((text) => text.startsWith('🔔')).length
    const turnOver = async (turns: number): Promise<void> => {
      await inTurn(claude)
      claude.finish()
      const over = { turns, lifecycle: 'awaiting-input' }
      await vi.waitFor(() => expect(house.pool.resolve(id)).toMatchObject(over))
    }
    const more = (): Promise<unknown> => house.pool.respond(id, 'more', { userInitiated: true })
    await turnOver(1)
    await vi.waitFor(() => expect(bells()).toBe(1))
    await more()
    await turnOver(2)
    await more()
    await turnOver(3)
    expect(bells()).toBe(1)
    await vi.waitFor(async () => {
      await clock.advance(6_000)
      expect(bells()).toBe(2)
    })
    await clock.advance(60_000)
    expect(bells()).toBe(2)
  })

  test('foreground: text and tool lines are gathered for 500 ms and sent as one', async () => {
    const { clock, claude, house, id } = await directed()
    await house.pool.foreground(id, 'telegram|7', 30)
    const streamed = (): string[] =>
      house.delivered.flatMap((each) => (each.address.to === '7' ? [each.reply.text!] : []))
    claude.emit({ type: 'text', text: 'one' })
    await passedOn(house, 'one')
    await clock.advance(400)
    claude.emit({ type: 'tool-start', toolUseId: 't1', name: 'Bash', input: { command: 'ls' } })
    await passedOn(house, 'Bash: ls')
    await clock.advance(400)
    expect(streamed()).toEqual([])
    await clock.advance(200)
    expect(streamed()).toEqual(['one\n🔧 Bash: ls'])
  })

  test('foreground: a session that never pauses is passed on in pieces', async () => {
    const { claude, house, id } = await directed()
    await house.pool.foreground(id, 'telegram|7', 30)
    for (let i = 0; i < 120; i++) claude.emit({ type: 'text', text: `line ${i}` })
    await vi.waitFor(() => expect(house.delivered.filter((each) => each.address.to === '7')).toHaveLength(2))
  })
})

describe('spawn', () => {
  test('names: stop words and single letters go, three words stay, nothing left is `session`', () => {
    expect(generateSessionName('Please fix the login bug in a parser now')).toBe('fix-login-bug')
    expect(generateSessionName('a I ?!')).toBe('session')
    expect(generateSessionName('修复')).toBe('session')
  })

  test('a name is never given twice, also when the first bearer is over (4.6 no. 10)', async () => {
    const house = open()
    const first = await house.launch('same words here', { multiTurn: false })
    await until(house, first.id, 'ended')
    const second = await house.launch('same words here')
    expect(second.name).toBe('same-words-here-2')
    expect(house.pool.resolve('same-words-here').id).toBe(first.id)
  })

  test('a launch counts once, however it ends, also without a Claude id (4.6 no. 11)', async () => {
    const house = open()
    const { id } = await house.launch('[[offline: fail overloaded]]')
    await until(house, id, 'ended')
    await house.pool.kill(id)
    expect(codingMetrics(house.store, house.spend, Date.now())).toMatchObject({
      totalLaunched: 1,
      sessionsByStatus: { failed: 1, killed: 0, completed: 0, running: 0 },
    })
  })

  test('the marker is put before the prompt, and one that a user typed is not believed', () => {
    expect(withOriginMarker('main', 'hi')).toBe('[openclaw:agent=main]\n\nhi')
    expect(withOriginMarker('main', ' [openclaw:agent=boss] [openclaw:agent=x]\nhi')).toBe(
      '[openclaw:agent=main]\n\nhi',
    )
  })
})

describe('resolve', () => {
  const native = { sessionId: '11111111-2222-4333-8444-555555555555', isRunning: false }

  test('in this order: id, name, Claude id, a prefix of either', async () => {
    const house = open()
    const resume = { sdkSessionId: 'abcdef01-0000-4000-8000-000000000001', fork: false }
    const { id, name } = await house.launch('one two three', { resume })
    await until(house, id, 'awaiting-input')
    for (const ref of [id, name, resume.sdkSessionId, id.slice(0, 6), 'abcdef01']) {
      expect(house.pool.resolve(ref).id).toBe(id)
    }
    expect(house.pool.resolveClaudeSessionId(name)).toBe(resume.sdkSessionId)
  })

  test('a Claude id that is not ours stands for itself', () => {
    const house = open()
    expect(house.pool.resolveClaudeSessionId(native.sessionId)).toBe(native.sessionId)
    expect(house.pool.resolveClaudeSessionId('nobody')).toBeUndefined()
  })

  test('a session that Claude Code made without us is resumed where it was', async () => {
    const house = open({ findNative: async () => ({ ...native, repoPath: repo }) })
    const repo = house.repo('native')
    const session = await house.pool.resume('11111111', 'go on')
    expect(session.request).toMatchObject({ workdir: repo, resume: { sdkSessionId: native.sessionId } })
  })

  test.each([
    [{ title: 'Fix the flaky login', firstMessage: 'hello' }, 'fix-flaky-login'],
    [{ firstMessage: 'Why is the build slow?' }, 'why-build-slow'],
    [{ label: 'nightly', title: 'Fix the flaky login' }, 'nightly'],
  ])('it is named as in lists, and not by the message that resumes it: %j', async (known, name) => {
    const house = open({ findNative: async () => ({ ...native, ...known, repoPath: repo }) })
    const repo = house.repo('native')
    expect((await house.pool.resume('11111111', 'Continue where you left off.')).name).toBe(name)
  })

  test('one that runs elsewhere is only forked', async () => {
    const house = open({ findNative: async () => ({ ...native, isRunning: true, repoPath: repo, pid: 7 }) })
    const repo = house.repo('native')
    await expect(house.pool.resume('11111111', 'go on')).rejects.toThrow(/open in process 7/)
    const fork = await house.pool.resume('11111111', 'go on', { fork: true, atMessage: 'uuid-1' })
    expect(fork.request.resume).toMatchObject({ fork: true, atMessage: 'uuid-1' })
  })

  test('resume never falls back to another directory (4.6 no. 9)', async () => {
    const house = open()
    const resume = { sdkSessionId: native.sessionId, fork: false }
    const workdir = house.repo('gone')
    const { id } = await house.launch('x', { workdir, resume })
    await until(house, id, 'awaiting-input')
    await house.pool.kill(id)
    rmSync(workdir, { recursive: true })
    await expect(house.pool.resume(id, 'go on')).rejects.toThrow(`${workdir} is not a directory`)
  })
})

describe('cost and metrics', () => {
  test('a killed session has cost what its interrupted turn used (4.6 no. 6), counted once (3.9 no. 3)', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime, priceOf: () => 1.5 })
    const { id } = await house.launch('x')
    await inTurn(claude)
    for (const event of [init, usage('m1'), usage('m1'), usage('m2')]) claude.emit(event)
    await until(house, id, 'active')
    await house.pool.kill(id)
    const metrics = codingMetrics(house.store, house.spend, Date.now())
    expect(metrics).toMatchObject({ totalCostUsd: 3, mostExpensive: { id, costUsd: 3 } })
    expect(Object.values(metrics.costPerDay)).toEqual([3])
  })

  test("Claude's own total is the truth when a turn is over", async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime, priceOf: () => 1 })
    const { id } = await house.launch('x')
    await inTurn(claude)
    for (const event of [init, usage('m1'), usage('m2')]) claude.emit(event)
    claude.finish({ costUsd: 2.25 })
    expect(await until(house, id, 'awaiting-input')).toMatchObject({ costUsd: 2.25 })
    expect(house.spend.total({}, new Date().toISOString().slice(0, 10))).toBeCloseTo(2.25)
  })

  test('average duration, states and the most expensive one, from disk, after a restart (4.6 no. 2)', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const { id } = await before.launch('x', { multiTurn: false })
    await until(before, id, 'ended')
    const metrics = codingMetrics(before.store, before.spend, Date.now())
    await before.close()
    const after = open({ folder })
    expect(codingMetrics(after.store, after.spend, Date.now())).toEqual(metrics)
    expect(metrics).toMatchObject({ totalLaunched: 1, sessionsWithDuration: 1 })
  })

  test('the text counts states as the lists do: a session that is ready stays ready after a restart', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const { id } = await before.launch('x')
    await until(before, id, 'awaiting-input')
    const textOf = ({ store, spend }: typeof before) => formatStats(codingMetrics(store, spend, Date.now()))
    expect(textOf(before)).toMatch(/^Launched 1, 1 ready\nWaits for people,/)
    await before.close()
    expect(textOf(open({ folder }))).toMatch(/^Launched 1, 1 ready\nAverage duration/)
  })

  test('metrics table: every row of it, over three sessions and two days', async () => {
    const clock = makeMovableClock(Date.parse('2026-03-01T12:00:00Z'))
    const house = open({ clock, priceOf: (model) => Number(model) })
    const spend = (usd: number): string =>
      `[[offline: emit ${JSON.stringify({ ...usage(`m${usd}`), model: String(usd) })}]]`
    const done = await house.launch(spend(2), { multiTurn: false })
    await until(house, done.id, 'ended')
    await clock.advance(24 * 3_600_000)
    const failed = await house.launch(`${spend(3)}[[offline: fail overloaded]]`)
    await until(house, failed.id, 'ended')
    const killed = await house.launch('[[offline: wait 600000]]')
    await until(house, killed.id, 'active')
    await clock.advance(60_000)
    await house.pool.kill(killed.id)
    await house.launch('[[offline: wait 600000]]')
    const metrics = house.pool.getMetrics()
    expect(metrics.totalCostUsd).toBe(5)
    expect(metrics.costPerDay).toEqual({ '2026-03-01': 2, '2026-03-02': 3 })
    expect(metrics.sessionsByStatus).toEqual({ completed: 1, failed: 1, killed: 1, running: 1 })
    expect(metrics.totalLaunched).toBe(4)
    expect(metrics.totalDurationMs).toBeGreaterThanOrEqual(60_000)
    expect(metrics.sessionsWithDuration).toBe(3)
    expect(metrics.averageDurationMs).toBe(Math.round(metrics.totalDurationMs / 3))
    const { id, name, request } = house.pool.resolve(failed.id)
    expect(metrics.mostExpensive).toEqual({ id, name, costUsd: 3, prompt: request.prompt.slice(0, 80) })
  })

  test('durations are short', () => {
    expect([5_000, 62_000, 3_720_000].map(formatDuration)).toEqual(['5s', '1m2s', '1h2m'])
  })
})

describe('routing', () => {
  const config = {
    agentChannels: { '/r': 'discord|1', '/r/deep': 'discord|2' },
    fallbackChannel: 'telegram|9',
  }

  test('origin: explicit, the calling chat, the longest directory, the fallback, unknown', () => {
    const asked = { originChannel: 'a|1', messageChannel: 'b|2', workdir: '/r/deep/x' }
    expect(resolveOriginChannel(asked, config)).toBe('a|1')
    expect(resolveOriginChannel({ ...asked, originChannel: undefined }, config)).toBe('b|2')
    expect(resolveOriginChannel({ workdir: '/r/deep/x' }, config)).toBe('discord|2')
    expect(resolveOriginChannel({ workdir: '/r/deeper' }, config)).toBe('discord|1')
    expect(resolveOriginChannel({ workdir: '/elsewhere' }, config)).toBe('telegram|9')
    expect(resolveOriginChannel({ workdir: '/x' }, { agentChannels: {} })).toBe('unknown')
  })

  test('three segments, two segments, and what delivers nowhere', () => {
    expect(addressOfOrigin('telegram|work|12|34')).toEqual({
      channel: 'telegram',
      accountId: 'work',
      to: '12|34',
    })
    expect(addressOfOrigin('telegram|-100')).toEqual({
      channel: 'telegram',
      accountId: 'default',
      to: '-100',
    })
    for (const origin of ['unknown', 'gateway', '', '|', 'telegram|', 'telegram|a|']) {
      expect(addressOfOrigin(origin)).toBeUndefined()
    }
  })

  test('no chat can be reached: the agent is woken for what it does not know yet, once', async () => {
    const house = open()
    const { id } = await house.launch('x', { originChannel: 'unknown', multiTurn: false })
    await until(house, id, 'ended')
    await vi.waitFor(() => expect(house.woken.map(({ text }) => text.slice(0, 2))).toEqual(['✅ ']))
  })
})

describe('defects that are not here', () => {
  test('3.9 no. 1: a task that has to wait is on disk, and begins when its turn comes', async () => {
    const house = open()
    const workdir = house.repo('shared')
    const first = await house.launch('[[offline: wait 60000]]', { workdir, multiTurn: false })
    await until(house, first.id, 'active')
    const second = await house.launch('next', { workdir, multiTurn: false })
    expect(house.store.get(second.id)).toMatchObject({ lifecycle: 'queued', request: { prompt: 'next' } })
    await house.pool.kill(first.id)
    expect((await until(house, second.id, 'ended')).status).toBe('completed')
  })

  test('3.9 no. 2, 4.6 no. 8: nothing is approved by itself, in no mode; it waits for a person', async () => {
    const house = open()
    for (const permissionMode of ['default', 'plan', 'acceptEdits'] as const) {
      const { id } = await house.launch('[[offline: ask Bash {"command":"make"}]]', { permissionMode })
      expect((await until(house, id, 'awaiting-approval')).waiting).toMatchObject({ for: 'approval' })
      expect(saidBy(house, id)).toEqual([])
    }
  })

  test('3.9 no. 11: a session that stays for more is on disk at once, and its launch waits for no result', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x', { multiTurn: true })
    expect(house.store.get(id)).toMatchObject({ status: 'starting', request: { multiTurn: true } })
  })

  test('3.9 no. 14: a queued task begins when the one before it fails', async () => {
    const house = open()
    const workdir = house.repo('shared')
    const first = await house.launch('[[offline: wait 50]] [[offline: fail overloaded]]', { workdir })
    await until(house, first.id, 'active')
    const second = await house.launch('next', { workdir, multiTurn: false })
    expect((await until(house, second.id, 'ended')).status).toBe('completed')
  })

  test('3.9 no. 15: another process kills, answers and lists what this one runs', async () => {
    const folder = sharedFolder()
    const owner = open({ folder })
    const other = open({ folder })
    const { id } = await owner.launch('x')
    await until(other, id, 'awaiting-input')
    await other.pool.respond(id, '[[offline: say from afar]]', { userInitiated: true })
    await vi.waitFor(() => expect(saidBy(other, id)).toContain('from afar'))
    expect((await other.pool.kill(id)).killed).toBe(true)
    expect(owner.pool.resolve(id).status).toBe('killed')
  })

  test('3.9 no. 17: a process that dies is a failure, never a success', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x', { multiTurn: false })
    await inTurn(claude)
    claude.emit(init)
    claude.finish({ end: { kind: 'failed', why: 'process-died', message: 'It was killed.' } })
    expect(await until(house, id, 'suspended')).toMatchObject({ status: 'failed' })
  })

  test('4.6 no. 5: what a chat missed is exact after trimming, and a note says what is gone', async () => {
    const house = open({ keepBlocks: 10 })
    const { id } = await house.launch('[[offline: say first]]')
    await until(house, id, 'awaiting-input')
    await house.pool.foreground(id, 'telegram|7', 30)
    await house.pool.background('telegram|7', id)
    const many = Array.from({ length: 15 }, (_, i) => `[[offline: say n${i}]]`).join('')
    await house.pool.respond(id, many, { userInitiated: true })
    await vi.waitFor(() => expect(house.pool.resolve(id).turns).toBe(2))
    const { blocks } = await house.pool.foreground(id, 'telegram|7', 30)
    expect(blocks.map((block) => block.text)).toEqual([
      '(6 earlier blocks are no longer kept)',
      ...Array.from({ length: 10 }, (_, i) => `n${i + 5}`),
    ])
    expect((await house.pool.foreground(id, 'telegram|7', 30)).blocks).toEqual([])
  })
})

describe('cleanup', () => {
  test('the output of a session that ended 30 days ago goes, the session stays and is still found', async () => {
    const clock = makeMovableClock()
    const house = open({ clock })
    const { id, name } = await house.launch('[[offline: say words]]', { multiTurn: false })
    await until(house, id, 'ended')
    await clock.advance(29 * 86_400_000)
    expect(await house.pool.cleanup()).toBe(0)
    await clock.advance(2 * 86_400_000)
    await house.pool.cleanup()
    expect(house.store.lastOutput(id, 10)).toEqual([])
    expect(house.pool.resolve(name).id).toBe(id)
  })
})

describe('budgets', () => {
  test('five sessions share a limit: each makes at most one more call, and raising the limit lets one continue', async () => {
    const house = open({ priceOf: () => 1, config: { maxSessions: 5, budgets: { usdPerDay: 8 } } })
    const call = (n: string): string => `[[offline: emit ${JSON.stringify(usage(n))}]]`
    const launched = await Promise.all(
      Array.from({ length: 5 }, (_, i) => house.launch(call(`s${i}-0`), { budgetUsd: 100 })),
    )
    for (const { id } of launched) await until(house, id, 'awaiting-input')
    for (let round = 1; round <= 3; round++) {
      for (const [i, { id }] of launched.entries()) {
        if (house.pool.resolve(id).lifecycle !== 'awaiting-input') continue
        await house.pool.respond(id, call(`s${i}-${round}`), { userInitiated: true })
      }
      for (const { id } of launched) {
        await vi.waitFor(() =>
          expect(['awaiting-input', 'awaiting-budget']).toContain(house.pool.resolve(id).lifecycle),
        )
      }
    }
    const today = new Date().toISOString().slice(0, 10)
    expect(house.spend.total({}, today)).toBeLessThanOrEqual(8 + 5)
    const held = launched.filter(({ id }) => house.pool.resolve(id).lifecycle === 'awaiting-budget')
    expect(held.length).toBeGreaterThan(0)
    const [one] = held
    const { waiting } = house.pool.resolve(one!.id)
    await house.approvals.answer(waiting!.approvalId!, { behavior: 'allow', text: '2', by: 'ada' })
    await until(house, one!.id, 'awaiting-input')
  })
})
