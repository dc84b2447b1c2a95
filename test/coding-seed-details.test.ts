// Seed 004's lifecycle details, spawn steps, kill, event texts and buffers, row by row; the tables are in
// coding-seed.test.ts.
import { describe, expect, test, vi } from 'vitest'
import type { PermissionAnswer } from '../src/domain/agent.ts'
import { begun, open, sharedFolder, texts, until } from './support/coding-bench.ts'
import { directedAgent } from './support/directed-agent.ts'
import { makeMovableClock } from './support/movable-clock.ts'

describe('lifecycle details', () => {
  test('1. construction: an id of eight, its own name, status starting, and when it was made', async () => {
    const clock = makeMovableClock()
    const house = open({ clock, runtime: directedAgent().runtime })
    const session = await house.launch('Fix the login bug')
    expect(session.id).toMatch(/^[A-Za-z][A-Za-z0-9]{7}$/)
    expect(session).toMatchObject({ name: 'fix-login-bug', status: 'starting', createdAt: clock.now() })
  })

  test('2. start: directory, model, mode, tools, system prompt, thinking and what to resume reach Claude', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000007', fork: true, atMessage: 'm1' }
    const workdir = house.repo('r')
    const asked = {
      model: 'haiku',
      permissionMode: 'acceptEdits',
      thinking: 'high',
      systemPrompt: 'Be kind.',
    } as const
    await house.launch('x', { ...asked, workdir, allowedTools: ['Read'], resume, name: 'n' })
    await vi.waitFor(() => expect(claude.opened).toHaveLength(1))
    expect(claude.opened[0]).toMatchObject({
      cwd: workdir,
      model: 'haiku',
      permissionMode: 'acceptEdits',
      allowedTools: ['Read'],
      thinkingLevel: 'high',
      systemPromptAppend: 'Be kind.',
      resume,
      title: 'n',
      tag: 'rockpool:main',
    })
  })

  test('3. messages: text and tools are kept under numbers, and the last 5,000 of them', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime, keepBlocks: 3 })
    const { id } = await house.launch('x')
    await begun(house, claude, id)
    for (const text of ['a', 'b', 'c']) claude.emit({ type: 'text', text })
    claude.emit({ type: 'tool-start', toolUseId: 't', name: 'Bash', input: { command: 'ls' } })
    await vi.waitFor(() =>
      expect(house.store.lastOutput(id, 9).map(({ seq, text }) => `${seq} ${text}`)).toEqual([
        '3 b',
        '4 c',
        '5 Bash: ls',
      ]),
    )
  })

  test('4. result: a budget that Claude itself reached is a failure that says so', async () => {
    const house = open()
    const { id, name } = await house.launch('[[offline: fail budget-reached]]')
    await until(house, id, 'ended')
    await vi.waitFor(() =>
      expect(texts(house).some((text) => text.startsWith(`❌ [${name}] failed`))).toBe(true),
    )
  })

  test('5. kill: all clocks stop; nothing is said afterwards, however long one waits', async () => {
    const clock = makeMovableClock()
    const claude = directedAgent()
    const house = open({ clock, runtime: claude.runtime })
    const { id } = await house.launch('x')
    await begun(house, claude, id)
    await house.pool.kill(id)
    const said = texts(house).length
    claude.emit({ type: 'text', text: 'late' })
    await clock.advance(2 * 3_600_000)
    expect(texts(house)).toHaveLength(said)
    expect(house.pool.resolve(id)).toMatchObject({ status: 'killed', end: { reason: 'user' } })
  })
})

describe('spawn, kill, killAll', () => {
  test('spawn returns before Claude has started, and the launch is reported', async () => {
    const claude = directedAgent()
    const runtime = { ...claude.runtime, open: () => new Promise<never>(() => {}) }
    const house = open({ runtime })
    const { name } = await house.launch('x')
    expect(texts(house)).toEqual([`🚀 [${name}] Launched: x`])
  })

  test('kill: the chat gets one notice; the agent that launched the session is not woken for it', async () => {
    const house = open()
    const { id } = await house.launch('[[offline: wait 60000]]', { originSessionKey: 'agent:main:main' })
    await until(house, id, 'active')
    await house.pool.kill(id)
    expect(texts(house).filter((text) => text.startsWith('⛔'))).toHaveLength(1)
    expect(house.woken).toEqual([])
  })

  test('killAll, when Rockpool stops: every running session is suspended, stored and reported, and can be resumed', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000008', fork: false }
    const { id } = await before.launch('[[offline: wait 60000]]', { resume })
    await until(before, id, 'active')
    await before.pool.drain()
    expect(texts(before).filter((text) => text.startsWith('💤'))).toHaveLength(1)
    await before.close()
    const after = open({ folder })
    expect(after.pool.resolve(id)).toMatchObject({ lifecycle: 'suspended', end: { reason: 'shutdown' } })
    expect((await after.pool.resume(id, 'go on')).request.resume).toMatchObject(resume)
  })

  test('a message to a session that takes one turn joins that turn', async () => {
    const claude = directedAgent()
    claude.steers = true
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x', { multiTurn: false })
    await begun(house, claude, id)
    await house.pool.respond(id, 'and this', { userInitiated: true })
    expect(claude.steered).toEqual(['and this'])
    claude.finish()
    expect(await until(house, id, 'ended')).toMatchObject({ status: 'completed', turns: 1 })
  })
})

test('two sub-agents ask at once: it waits until both are answered, and the time counts once', async () => {
  const clock = makeMovableClock()
  const claude = directedAgent()
  const house = open({ clock, runtime: claude.runtime })
  const { id } = await house.launch('x')
  await begun(house, claude, id)
  const { signal } = new AbortController()
  const ask = (command: string): Promise<PermissionAnswer> => {
    const request = { requestId: command, kind: 'tool', toolName: 'Bash', input: { command } } as const
    return claude.opened[0]!.askPermission(request, signal)
  }
  const answers = [ask('make one'), ask('make two')]
  await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(2))
  await until(house, id, 'awaiting-approval')
  await clock.advance(60_000)
  const [one, two] = house.approvals.pending().toSorted((a, b) => a.shown.localeCompare(b.shown))
  await house.approvals.answer(one!.id, { behavior: 'allow', by: 'ada' })
  const still = { lifecycle: 'awaiting-approval', waiting: { about: two!.shown, approvalId: two!.id } }
  await vi.waitFor(() => expect(house.pool.resolve(id)).toMatchObject(still))
  await clock.advance(60_000)
  await house.approvals.answer(two!.id, { behavior: 'deny', by: 'ada' })
  expect(await until(house, id, 'active')).toMatchObject({ waitedMs: 120_000 })
  expect((await Promise.all(answers)).map(({ behavior }) => behavior)).toEqual(['allow', 'deny'])
})

describe('a question that outlives its turn', () => {
  const request = { requestId: 'r', kind: 'tool', toolName: 'Bash', input: { command: 'make' } } as const

  test('withdrawn after the turn has ended: the session still waits for a message', async () => {
    const claude = directedAgent()
    const house = open({ runtime: claude.runtime })
    const { id } = await house.launch('x')
    await begun(house, claude, id)
    const withdrawn = new AbortController()
    const answer = claude.opened[0]!.askPermission(request, withdrawn.signal)
    await until(house, id, 'awaiting-approval')
    claude.finish()
    await until(house, id, 'awaiting-input')
    withdrawn.abort()
    expect(await answer).toMatchObject({ behavior: 'deny' })
    expect(house.pool.resolve(id)).toMatchObject({ lifecycle: 'awaiting-input', waiting: { for: 'input' } })
  })

  test('asked by a background sub-agent between turns: answered, the session waits for a message again', async () => {
    const clock = makeMovableClock()
    const claude = directedAgent()
    const house = open({ clock, runtime: claude.runtime })
    const { id } = await house.launch('x', { timeoutSeconds: 60 })
    await begun(house, claude, id)
    claude.finish()
    await until(house, id, 'awaiting-input')
    const answer = claude.opened[0]!.askPermission(request, new AbortController().signal)
    await until(house, id, 'awaiting-approval')
    await house.approvals.answer(house.approvals.pending()[0]!.id, { behavior: 'allow', by: 'ada' })
    expect(await answer).toMatchObject({ behavior: 'allow' })
    expect(house.pool.resolve(id)).toMatchObject({ lifecycle: 'awaiting-input', waiting: { for: 'input' } })
    await clock.advance(120_000)
    expect(house.pool.resolve(id)).toMatchObject({ lifecycle: 'awaiting-input' })
  })
})

describe('event texts', () => {
  const lines = Array.from({ length: 9 }, (_, i) => `line ${i} ${'x'.repeat(120)}`)
  const say = lines.map((line) => `[[offline: say ${line}]]`).join('')

  test('finished: name, the last five lines in at most 500 characters, and how to read more', async () => {
    const house = open()
    const { id, name } = await house.launch(say, { multiTurn: false, originSessionKey: 'agent:main:main' })
    await until(house, id, 'ended')
    await vi.waitFor(() => expect(house.woken).toHaveLength(1))
    const { text } = house.woken[0]!
    expect(text).toMatch(new RegExp(`^✅ \\[${name}\\] finished`))
    expect(text).toContain(`claude_output(session="${id}")`)
    expect(text).toContain('line 8')
    expect(text).not.toContain('line 3')
    const preview = text.split('\n').slice(1, -1).join('\n')
    expect(preview.length).toBeLessThanOrEqual(501)
  })

  test('waiting: what kind of session, its name and id, the last lines, and how to answer', async () => {
    const house = open()
    const { id, name } = await house.launch('[[offline: say which colour?]]', {
      originSessionKey: 'agent:main:main',
    })
    await until(house, id, 'awaiting-input')
    await vi.waitFor(() => expect(house.woken).toHaveLength(1))
    const { text, sessionKey } = house.woken[0]!
    expect(sessionKey).toBe('agent:main:main')
    expect(text).toContain(`[${name}] finished its turn`)
    expect(text).toContain('which colour?')
    expect(text).toContain(`A multi-turn session that waits for input (${id})`)
    expect(text).toContain(`claude_respond(session="${id}"`)
    expect(text).toContain(`claude_output(session="${id}")`)
  })
})

describe('output and foreground', () => {
  test('each chat has its own mark, and it is still there after a restart', async () => {
    const folder = sharedFolder()
    const before = open({ folder })
    const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000010', fork: false }
    const { id } = await before.launch('[[offline: say one]]', { resume })
    await until(before, id, 'awaiting-input')
    await before.pool.foreground(id, 'telegram|7', 30)
    await before.pool.background('telegram|7', id)
    await before.pool.respond(id, '[[offline: say two]]', { userInitiated: true })
    await vi.waitFor(() => expect(before.pool.resolve(id).turns).toBe(2))
    await before.close()
    const after = open({ folder })
    const seen = async (channel: string): Promise<string[]> =>
      (await after.pool.foreground(id, channel, 30)).blocks.flatMap(({ kind, text }) =>
        kind === 'text' ? [text] : [],
      )
    expect(await seen('telegram|7')).toEqual(['two'])
    expect(await seen('telegram|8')).toEqual(['one', 'two'])
  })

  test('claude_output gives the last lines that were asked for', async () => {
    const house = open()
    const { id } = await house.launch('[[offline: say one]][[offline: say two]][[offline: say three]]')
    await until(house, id, 'awaiting-input')
    expect(house.pool.output(id, 2).blocks.map(({ text }) => text)).toEqual(['two', 'three'])
  })
})
