// Budgets of a session, a repository, an agent and a day: each is metered while a turn runs, sub-agents included, holds the
// next call, and continues when it is raised. Each call costs a dollar here.
import { describe, expect, test, vi } from 'vitest'
import type { CodingConfig } from '../src/domain/config/coding-settings.ts'
import type { CodingSession } from '../src/domain/coding-session.ts'
import { begun, open, until } from './support/coding-bench.ts'
import type { CodingHouse } from './support/coding-house.ts'
import { directedAgent, usage } from './support/directed-agent.ts'
import type { DirectedAgent } from './support/directed-agent.ts'
import { makeMovableClock } from './support/movable-clock.ts'

interface Running {
  id: string
  claude: DirectedAgent
  /** A call of the model that wants a tool; resolves when the tool may run, or to why not. */
  call(subagent?: boolean): Promise<string | undefined>
}

let calls = 0

function openWith(budgets: CodingConfig['budgets'], clock?: ReturnType<typeof makeMovableClock>) {
  const claudes: DirectedAgent[] = []
  // Each session gets a Claude of its own, in the order of their launches.
  const runtime = {
    ...directedAgent().runtime,
    open: (options: Parameters<DirectedAgent['runtime']['open']>[0]) => {
      const claude = directedAgent()
      claudes.push(claude)
      return claude.runtime.open(options)
    },
  }
  const config = { budgets, maxSessions: 10, perRepo: { running: 5, queued: 1 } }
  const house = open({ runtime, config, priceOf: () => 1, ...(clock ? { clock } : {}) })
  const start = async (more: Parameters<CodingHouse['launch']>[1] = {}): Promise<Running> => {
    const { id } = await house.launch('x', { budgetUsd: 100, ...more })
    await vi.waitFor(() => expect(claudes.length).toBeGreaterThan(0))
    const claude = claudes.pop()!
    await begun(house, claude, id)
    const call = (subagent = false): Promise<string | undefined> => {
      claude.emit({ ...usage(`m${calls++}`), subagent } as ReturnType<typeof usage>)
      return claude.opened[0]!.beforeTool!({ name: 'Read' }, new AbortController().signal)
    }
    return { id, claude, call }
  }
  return { house, start }
}

const answer = (house: CodingHouse, session: CodingSession, text: string): Promise<unknown> =>
  house.approvals.answer(session.waiting!.approvalId!, { behavior: 'allow', text, by: 'ada' })

describe.each([
  ['session', {}, { budgetUsd: 2 }, 'its budget'],
  ['repository', { repoUsdPerDay: 2 }, {}, "today's budget of the repository"],
  ['agent', { agentUsdPerDay: 2 }, {}, "today's budget of the agent"],
  ['day', { usdPerDay: 2 }, {}, "today's budget"],
] as const)('the limit of the %s', (of, budgets, more, words) => {
  test('is metered in the turn, over sub-agents; blocks the next call, and continues when it is raised', async () => {
    const { house, start } = openWith(budgets)
    const one = await start(more)
    expect(await one.call()).toBeUndefined()
    const held = one.call(true)
    const waits = await until(house, one.id, 'awaiting-budget')
    expect(waits.waiting!.about).toContain(`${words} is used up: $2.00 of $2.00`)
    await answer(house, waits, '1')
    expect(await held).toBeUndefined()
    await until(house, one.id, 'active')
    void one.call()
    expect((await until(house, one.id, 'awaiting-budget')).costUsd).toBe(3)
  })

  test('a no ends the session, with the reason', async () => {
    const { house, start } = openWith(budgets)
    const one = await start(more)
    await one.call()
    const held = one.call()
    const waits = await until(house, one.id, 'awaiting-budget')
    await house.approvals.answer(waits.waiting!.approvalId!, { behavior: 'deny', by: 'ada' })
    expect(await held).toContain('is used up')
    expect(await until(house, one.id, 'ended')).toMatchObject({ status: 'failed', end: { reason: 'budget' } })
  })

  test('counts what it is for, and nothing else', async () => {
    const { house, start } = openWith(budgets)
    const workdir = house.repo('shared')
    const first = await start({ ...more, workdir, agentId: 'a' })
    await first.call()
    const others = {
      session: { ...more, workdir, agentId: 'a' },
      repository: { workdir: house.repo('elsewhere'), agentId: 'a' },
      agent: { workdir, agentId: 'b' },
      day: undefined,
    }[of]
    if (others) expect(await (await start(others)).call()).toBeUndefined()
    const alike = {
      session: undefined,
      repository: { workdir, agentId: 'c' },
      agent: { agentId: 'a' },
      day: {},
    }
    const same = alike[of]
    if (!same) return
    const second = await start(same)
    void second.call()
    await until(house, second.id, 'awaiting-budget')
  })
})

test('limits are raised one by one: what was allowed beyond one is not allowed beyond another', async () => {
  const { house, start } = openWith({ repoUsdPerDay: 1, agentUsdPerDay: 2, usdPerDay: 3 })
  const one = await start()
  const asked: string[] = []
  for (let i = 0; i < 3; i++) {
    const held = one.call()
    const waits = await until(house, one.id, 'awaiting-budget')
    asked.push(waits.waiting!.about)
    await answer(house, waits, '50')
    expect(await held).toBeUndefined()
    await until(house, one.id, 'active')
  }
  expect(asked.map((about) => about.split(' is used up')[0])).toEqual([
    "today's budget of the repository",
    "today's budget of the agent",
    "today's budget",
  ])
})

test('the question names the new total, and says when the amount is less than a call costs', async () => {
  const { house, start } = openWith({})
  const one = await start({ budgetUsd: 0.001 })
  void one.call()
  const { waiting } = await until(house, one.id, 'awaiting-budget')
  const { shown } = house.approvals.named(waiting!.approvalId!)
  expect(shown).toContain('Go on with $0.0010 more, $1.0010 in all,')
  expect(shown).toContain('The last call cost $1.00, so it asks again after the next one.')
})

test('an answer that is no clear amount is refused, and the session is still held', async () => {
  const { house, start } = openWith({ usdPerDay: 1 })
  const one = await start()
  const held = one.call()
  const waits = await until(house, one.id, 'awaiting-budget')
  for (const unclear of ['abc', '-1', '0', '1,000'])
    await expect(answer(house, waits, unclear)).rejects.toThrow(/is not an amount/)
  expect(house.pool.resolve(one.id).lifecycle).toBe('awaiting-budget')
  await answer(house, waits, '50 cents')
  expect(await held).toBeUndefined()
  expect(house.pool.resolve(one.id).allowances.day?.usd).toBeCloseTo(
    0.5 + house.pool.resolve(one.id).costUsd - 1,
  )
})

test('two limits that are reached at once are both asked for before the session continues', async () => {
  const { house, start } = openWith({ repoUsdPerDay: 1, usdPerDay: 1 })
  const one = await start()
  const held = one.call()
  await answer(house, await until(house, one.id, 'awaiting-budget'), '50')
  await vi.waitFor(() => expect(house.pool.resolve(one.id).waiting?.about).toMatch(/^today's budget is/))
  await answer(house, house.pool.resolve(one.id), '50')
  expect(await held).toBeUndefined()
})

test('what was allowed today is not allowed tomorrow', async () => {
  const clock = makeMovableClock()
  const { house, start } = openWith({ usdPerDay: 1 }, clock)
  const one = await start()
  const held = one.call()
  await answer(house, await until(house, one.id, 'awaiting-budget'), '50')
  await held
  await clock.advance(24 * 3_600_000)
  void one.call()
  expect((await until(house, one.id, 'awaiting-budget')).waiting!.about).toContain('$1.00 of $1.00')
})

test('at a limit a message joins no turn: it would be one more call', async () => {
  const { house, start } = openWith({})
  const one = await start({ budgetUsd: 1 })
  one.claude.steers = true
  void one.call()
  await until(house, one.id, 'awaiting-budget')
  await house.pool.respond(one.id, 'and more', { userInitiated: true })
  expect(one.claude.steered).toEqual([])
  expect(house.pool.resolve(one.id).inbox).toEqual(['and more'])
})
