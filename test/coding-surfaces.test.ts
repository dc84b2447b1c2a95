// The doors to coding sessions that others know by name: five RPC methods, eight chat commands, sessions_spawn, and the
// library's functions.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { commandToSay } from '../src/chat/coding-commands.ts'
import { findPrinter } from '../src/cli/printers.ts'
import { codingLibrary } from '../src/library/one-call.ts'
import type { CodingSession } from '../src/domain/coding-session.ts'
import { ownerGives } from '../src/domain/giver.ts'
import { deadProcess } from './support/coding-bench.ts'
import {
  home,
  newRepo,
  openGateway,
  parentKey,
  stranger,
  textOf,
  toolsOf,
  typed,
} from './support/coding-gateway.ts'
import type { ClaudeHome } from './support/claude-home.ts'
import { NativeTranscript } from './support/dashboard-house.ts'
import { rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'
import { rowsOf } from './support/state-rows.ts'

type Answer = Record<string, unknown>

const ask = async (house: House, method: string, params: object = {}): Promise<Answer> => {
  const { result, error } = await rpc(house, method, params)
  if (error) throw new Error(`${method}: ${error.message}`)
  return result as Answer
}

const untilLifecycle = async (
  house: House,
  ref: string,
  lifecycle: CodingSession['lifecycle'],
): Promise<CodingSession> => {
  const { pool } = house.app.coding()
  await vi.waitFor(() => expect(pool.resolve(ref).lifecycle).toBe(lifecycle))
  return pool.resolve(ref)
}

const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000007', fork: false }

/** One that Claude has given an id, as an earlier chat left it. */
const launchResumable = async (house: House, name: string, more: Partial<CodingSession['request']> = {}) => {
  const { id } = await house.app
    .coding()
    .givenBy(ownerGives)
    .spawn({
      prompt: 'x',
      name,
      workdir: newRepo(house),
      agentId: 'main',
      budgetUsd: 5,
      allowedTools: [],
      permissionMode: 'default',
      multiTurn: true,
      resume,
      originChannel: 'gateway',
      ...more,
    })
  return untilLifecycle(house, id, 'awaiting-input')
}

describe('the five RPC methods have the names, parameters and results of the plugin', () => {
  test('claude-code.launch, .sessions, .output, .kill, .stats', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const launched = await ask(house, 'claude-code.launch', {
      prompt: '[[offline: say one]][[offline: say two]]',
      name: 'mine',
      workdir,
      model: 'haiku',
      maxBudgetUsd: 2,
      systemPrompt: 'Be short.',
      allowedTools: ['Read'],
      multiTurnDisabled: false,
      originChannel: 'telegram|42',
    })
    expect(launched).toMatchObject({ name: 'mine', status: 'starting', workdir, model: 'haiku' })
    const id = String(launched['id'])
    expect((await untilLifecycle(house, id, 'awaiting-input')).request).toMatchObject({
      budgetUsd: 2,
      systemPrompt: 'Be short.',
      allowedTools: ['Read'],
      multiTurn: true,
      originChannel: 'telegram|42',
    })

    const listed = await ask(house, 'claude-code.sessions', { status: 'running' })
    expect(listed).toMatchObject({
      count: 1,
      sessions: [
        {
          id,
          name: 'mine',
          status: 'running',
          prompt: expect.any(String),
          workdir,
          model: expect.any(String),
          costUsd: 0,
          startedAt: expect.any(Number),
          durationMs: expect.any(Number),
          foreground: false,
          multiTurn: true,
          display: expect.stringContaining('mine'),
        },
      ],
    })
    expect(await ask(house, 'claude-code.sessions', { status: 'killed' })).toMatchObject({ count: 0 })

    for (const ref of [{ session: 'mine' }, { id }]) {
      expect(await ask(house, 'claude-code.output', { ...ref, lines: 1 })).toMatchObject({
        id,
        name: 'mine',
        status: 'running',
        costUsd: 0,
        durationMs: expect.any(Number),
        duration: expect.stringMatching(/^\d+s$/),
        lines: ['two'],
        lineCount: 1,
        result: expect.stringContaining('two'),
      })
    }
    const full = await ask(house, 'claude-code.output', { id, full: true })
    expect(full['lines']).toEqual(expect.arrayContaining(['one', 'two']))

    expect(await ask(house, 'claude-code.kill', { id })).toMatchObject({ status: 'killed', killed: true })
    expect(await ask(house, 'claude-code.kill', { session: 'mine' })).toMatchObject({ killed: false })
    expect(await ask(house, 'claude-code.sessions')).toMatchObject({
      sessions: [{ status: 'killed', completedAt: expect.any(Number) }],
    })

    expect(await ask(house, 'claude-code.stats')).toMatchObject({
      totalCostUsd: 0,
      costPerDay: {},
      sessionsByStatus: { completed: 0, failed: 0, killed: 1, running: 0 },
      totalLaunched: 1,
      averageDurationMs: expect.any(Number),
      display: expect.stringContaining('Launched 1'),
    })
  })

  test('both spellings, and a name to resume from is resolved', async () => {
    const house = await openGateway()
    await launchResumable(house, 'earlier')
    const launched = await ask(house, 'claude-code.launch', {
      prompt: 'x',
      workdir: newRepo(house),
      max_budget_usd: 3,
      system_prompt: 's',
      allowed_tools: ['Read'],
      resume_session_id: 'earlier',
      fork_session: true,
      multi_turn_disabled: true,
      permission_mode: 'plan',
      origin_channel: 'telegram|1',
    })
    expect(house.app.coding().pool.resolve(String(launched['id'])).request).toMatchObject({
      budgetUsd: 3,
      systemPrompt: 's',
      allowedTools: ['Read'],
      resume: { ...resume, fork: true },
      multiTurn: false,
      permissionMode: 'plan',
      originChannel: 'telegram|1',
    })
  })
})

describe('chat commands', () => {
  test('/claude, _sessions, _fg, _bg, _respond, _stats and _kill', async () => {
    const house = await openGateway()
    house.app.config.coding.defaultWorkdir = newRepo(house)
    expect(await typed(house, '/claude --name shed [[offline: say painted]]')).toMatch(/^Launched shed \[/)
    await untilLifecycle(house, 'shed', 'awaiting-input')
    expect(await typed(house, '/claude_sessions')).toMatch(
      /🔔 shed \[\w{8}\] \(\d+s\) — background, multi-turn/,
    )
    expect(await typed(house, '/claude_fg shed')).toContain('painted')
    expect(await typed(house, '/claude_sessions')).toContain('— foreground,')
    expect(await typed(house, '/claude_bg')).toBe('No longer streaming here.')
    expect(await typed(house, '/claude_bg shed')).toBe('No longer streaming here.')
    expect(await typed(house, '/claude_respond shed [[offline: wait 60000]]')).toMatch(/^Sent to shed/)
    await untilLifecycle(house, 'shed', 'active')
    expect(await typed(house, '/claude_respond --interrupt shed [[offline: say blue]]')).toMatch(
      /^Sent to shed/,
    )
    const last = (): string | undefined =>
      house.app.storage.coding.lastOutput(house.app.coding().pool.resolve('shed').id, 1)[0]?.text
    await vi.waitFor(() => expect(last()).toBe('blue'))
    expect(await typed(house, '/claude_stats')).toMatch(
      /^Launched 1, 1 [a-z ]+\n[\s\S]*Waits for people, added up over all sessions: \d+s/,
    )
    expect(await typed(house, '/claude_kill shed')).toMatch(/^⛔ shed \[\w{8}\] was ended/)
    expect(await typed(house, '/claude_kill shed')).toMatch(/is over already/)
    expect(await typed(house, '/claude_kill')).toBe('Please say which session.')
  })

  test('/claude takes a name, a repository and a machine; /claude_move wants both', async () => {
    const house = await openGateway()
    const repo = newRepo(house)
    expect(await typed(house, `/claude --repo ${repo} --name hut [[offline: say built]]`)).toMatch(
      new RegExp(`^Launched hut [^]*📁 ${repo}\n`),
    )
    expect(await typed(house, `/claude --machine moon --repo ${repo} build`)).toContain(
      'This Rockpool knows of no machine moon',
    )
    expect(await typed(house, '/claude_move hut')).toBe('Please say which machine.')
    expect(await typed(house, '/claude_move hut moon')).toContain('it shares no database')
  })

  test('a reply to a notice goes to the session that continues that conversation, and resumes it when none does', async () => {
    const house = await openGateway()
    const { pool } = house.app.coding()
    const { id } = await launchResumable(house, 'first')
    expect(commandToSay(house.app, id, 'more')).toBe(`/claude_respond ${id} more`)
    await pool.kill(id)
    expect(commandToSay(house.app, id, 'more')).toBe(`/claude_resume ${id} more`)
    const again = await house.app.coding().givenBy(ownerGives).resume(id, 'y')
    await untilLifecycle(house, again.id, 'awaiting-input')
    expect(commandToSay(house.app, id, 'more')).toBe(`/claude_respond ${again.id} more`)
  })

  test('/claude_resume continues the session, and its notices go to the chat of the command; --fork and --list', async () => {
    const house = await openGateway()
    const there = { ...stranger, threadId: '9' }
    const earlier = await launchResumable(house, 'shed', {
      originChannel: 'discord|1',
      originThreadId: '3',
      originSessionKey: 'agent:main:discord:direct:1',
    })
    await house.app.coding().pool.kill(earlier.id)
    expect(await typed(house, '/claude_resume --list', there)).toContain('shed')
    expect(await typed(house, '/claude_resume shed', there)).toMatch(/^Resumed shed \[/)
    const { request } = await untilLifecycle(house, 'shed', 'awaiting-input')
    expect(request).toMatchObject({ resume })
    expect(request).toMatchObject({ originChannel: 'telegram|7', originThreadId: '9' })
    expect(request.originSessionKey).toBeUndefined()
    expect(await typed(house, '/claude_resume --fork shed look again', there)).toMatch(/^Resumed shed-2 \[/)
    expect(house.app.coding().pool.resolve('shed-2').request).toMatchObject({
      prompt: 'look again',
      resume: { ...resume, fork: true },
    })
  })

  test('a resume from a terminal does not change where its notices go', async () => {
    const house = await openGateway()
    const earlier = await launchResumable(house, 'shed', { originChannel: 'discord|1', originThreadId: '3' })
    await house.app.coding().pool.kill(earlier.id)
    const { id } = await ask(house, 'claude-code.resume', { session: 'shed' })
    expect(house.app.coding().pool.resolve(String(id)).request).toMatchObject({
      originChannel: 'discord|1',
      originThreadId: '3',
    })
  })
})

test('coding.review shows what changed since the session began, and a session that was interrupted is resumed with all others', async () => {
  const house = await openGateway()
  const workdir = newRepo(house)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: workdir,
    })
  git('init', '-q', '-b', 'main')
  writeFileSync(join(workdir, 'a.txt'), 'one\n')
  git('add', '-A')
  git('commit', '-qm', 'First')
  await ask(house, 'coding.launch', {
    prompt: '[[offline: say I changed it]]',
    name: 'changer',
    workdir,
    fresh: true,
  })
  await untilLifecycle(house, 'changer', 'awaiting-input')
  writeFileSync(join(workdir, 'a.txt'), 'two\n')
  expect(await ask(house, 'coding.review', { session: 'changer' })).toMatchObject({
    state: 'ready',
    branch: 'main',
    files: [{ path: 'a.txt', added: 1, removed: 1 }],
    commits: [],
    tests: [],
    lastWords: 'I changed it',
    problems: [],
  })
  const { id } = await launchResumable(house, 'cut')
  await house.app.coding().givenBy(ownerGives).respond(id, '[[offline: wait 60000]]', { userInitiated: true })
  await untilLifecycle(house, 'cut', 'active')
  await house.app.coding().pool.killAll()
  expect(await ask(house, 'coding.resume-all')).toMatchObject({
    sessions: [{ name: 'cut', state: 'working' }],
    refused: [],
  })
})

test('coding.review names the other sessions of the working tree, and marks the files that the session edited itself', async () => {
  const house = await openGateway()
  const workdir = newRepo(house)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: workdir,
    })
  git('init', '-q', '-b', 'main')
  git('commit', '-q', '--allow-empty', '-m', 'First')
  const inner = join(workdir, 'trees', 'inner')
  git('worktree', 'add', '-q', inner)
  const home = { configDir: join(house.dir, '.claude') } as ClaudeHome
  const hourAgo = { startedAt: Date.now() - 3_600_000 }
  const idOf = (n: number): string => `${String(n).padStart(8, '0')}-1111-4000-8000-000000000000`
  new NativeTranscript(home, workdir, idOf(1), hourAgo).prompt('Ended long before')
  const { id, sdkSessionId } = await launchResumable(house, 'one', { workdir })
  const edit = (name: string, sessionId: string): NativeTranscript => {
    const transcript = new NativeTranscript(home, workdir, sessionId)
    const input = { file_path: join(workdir, name), content: 'text of the file' }
    transcript.prompt(`Write ${name}`)
    transcript.answer([{ type: 'tool_use', id: `toolu_${name}`, name: 'Write', input }])
    transcript.result(`toolu_${name}`, 'ok')
    writeFileSync(input.file_path, `${input.content}\n`)
    return transcript
  }
  edit('mine.txt', sdkSessionId!)
  const alone = await ask(house, 'coding.review', { session: id })
  expect(alone).toMatchObject({ otherSessions: [], files: [{ path: 'mine.txt', own: true }] })
  edit('theirs.txt', idOf(2))
  new NativeTranscript(home, inner, idOf(3)).prompt('In a working tree of its own')
  await launchResumable(house, 'two', { workdir, resume: { sdkSessionId: idOf(4), fork: false } })
  const review = await ask(house, 'coding.review', { session: id })
  expect(review).toMatchObject({
    otherSessions: [
      { name: 'two', claudeSessionId: idOf(4) },
      { name: 'Write theirs.txt', claudeSessionId: idOf(2) },
    ],
    files: [
      { path: 'mine.txt', own: true },
      { path: 'theirs.txt', own: false },
    ],
  })
  const print = await findPrinter('coding.review')
  const printed = print(review, { width: 80, color: false, now: Date.now(), interactive: true })
  expect(printed).toContain('  added    mine.txt +1 -0 (its own edit)\n  added    theirs.txt +1 -0\n')
  expect(printed).toContain('Other sessions worked in this folder since one began: two, Write theirs.txt. ')
})

test('coding.pr takes its title from a commit of the session, not from a newer one of another session', async () => {
  const house = await openGateway()
  const workdir = newRepo(house)
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: workdir,
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  git('commit', '-q', '--allow-empty', '-m', 'First')
  const tools = join(house.dir, 'tools')
  mkdirSync(tools)
  writeFileSync(join(tools, 'gh'), '#!/bin/sh\necho https://example.org/pull/1\n', { mode: 0o755 })
  Object.assign(house.app.environment.variables, { PATH: `${tools}:${process.env['PATH']}` })
  const titleOf = async (session: string): Promise<unknown> =>
    (await ask(house, 'coding.pr', { session }))['title']
  const { id, sdkSessionId } = await launchResumable(house, 'one', { workdir })
  const home = { configDir: join(house.dir, '.claude') } as ClaudeHome
  const commit = (transcript: NativeTranscript, subject: string): void => {
    const call = { command: `git commit --allow-empty -m '${subject}'` }
    transcript.prompt(subject)
    transcript.answer([{ type: 'tool_use', id: `toolu_${subject}`, name: 'Bash', input: call }])
    transcript.result(`toolu_${subject}`, git('commit', '--allow-empty', '-m', subject))
  }
  const ours = new NativeTranscript(home, workdir, sdkSessionId!)
  ours.prompt('Repair it')
  git('commit', '-q', '--allow-empty', '-m', 'Quiet')
  expect(await titleOf(id)).toBe('Quiet')
  const theirs = new NativeTranscript(home, workdir, '22222222-1111-4000-8000-000000000000')
  commit(theirs, 'Theirs')
  expect(await titleOf(id)).toBe('x')
  await ask(house, 'cc.label', { id: sdkSessionId!, title: 'Repair the login' })
  expect(await titleOf(id)).toBe('Repair the login')
  commit(ours, 'Ours')
  commit(theirs, 'Theirs again')
  expect(await titleOf(id)).toBe('Ours')
})

test('the permission dialogs of a background session are not shown in a terminal only: it has none', async () => {
  const house = await openGateway()
  const { id } = await launchResumable(house, 'loud')
  await untilLifecycle(house, id, 'awaiting-input')
  const { error } = await rpc(house, 'cc.quiet', { id: 'loud' })
  expect(error?.message).toMatch(
    /^loud is a background session and has no terminal; its requests are shown on the page/,
  )
})

describe('claude_launch without a workdir', () => {
  const workdirOf = async (house: House, viaAgent: boolean): Promise<string> => {
    if (viaAgent) await textOf((await toolsOf(house)).get('claude_launch'), { prompt: 'x', name: 'n' })
    else await ask(house, 'claude-code.launch', { prompt: 'x', name: 'n' })
    return house.app.coding().pool.resolve('n').request.workdir
  }

  test("goes to the agent's workspace, then the configured directory, then the current one", async () => {
    const house = await openGateway()
    const workspace = house.app.paths.workspace('main')
    mkdirSync(workspace, { recursive: true })
    house.app.config.coding.defaultWorkdir = newRepo(house)
    expect(await workdirOf(house, true)).toBe(workspace)
    const program = await openGateway()
    program.app.config.coding.defaultWorkdir = newRepo(program)
    expect(await workdirOf(program, false)).toBe(program.app.config.coding.defaultWorkdir)
    expect(await workdirOf(await openGateway(), false)).toBe(process.cwd())
  })
})

describe('sessions_spawn with mode claude-code', () => {
  test('goes only so deep, says how deep it is, and belongs to the agent that was named', async () => {
    const house = await openGateway({ agents: { list: [{ id: 'main' }, { id: 'other' }] } })
    const task = { task: 'look', mode: 'claude-code', repo: newRepo(house) }
    const spawned = await ask(house, 'sessions.spawn', { ...task, agentId: 'other' })
    expect(spawned).toMatchObject({ status: 'accepted' })
    expect(spawned['childSessionKey']).toMatch(/^agent:other:subagent:/)
    const { request } = house.app.coding().pool.resolve(String(spawned['session']))
    expect(request).toMatchObject({ agentId: 'other', launchedBy: 'main', spawnDepth: 1 })
    expect(request.originSessionKey).toBe(parentKey)
    // The one that launched it reads it, and is the one that is woken.
    const tools = await toolsOf(house)
    expect(await textOf(tools.get('claude_sessions'))).toContain(String(spawned['session']))
    expect((await tools.get('claude_output')!.call({ session: spawned['session'] })).isError).toBeFalsy()
    const woken = (): unknown[] => rowsOf(house.app, "SELECT lane FROM inbox WHERE key LIKE 'wake:coding:%'")
    await vi.waitFor(() => expect(woken()).toEqual([{ lane: parentKey }]))

    const wanted = await tools.get('sessions_spawn')!.call({ ...task, agentId: 'other' })
    expect(wanted.structured).toMatchObject({ status: 'error' })

    house.app.config.agents.defaults.subagents.maxSpawnDepth = 0
    expect(await ask(house, 'sessions.spawn', task)).toMatchObject({
      status: 'forbidden',
      error: 'Sub-agents go 0 deep at most.',
    })
  })

  test('its doings are relayed to the session that began it: the latest only, no turn, over when it is', async () => {
    const house = await openGateway({ coding: { progressRelay: { intervalSeconds: 1 } } })
    const task =
      '[[offline: say reading]][[offline: wait 1200]][[offline: say writing]][[offline: wait 60000]]'
    const asked = { task, mode: 'claude-code', repo: newRepo(house), label: 'shed' }
    const { session } = await ask(house, 'sessions.spawn', asked)
    const notes = async (): Promise<string[]> =>
      (await house.app.storage.work.systemEvents.waiting(parentKey)).map(({ text }) => text)
    await vi.waitFor(async () =>
      expect(await notes()).toEqual([
        expect.stringMatching(/^Untrusted, from a program: ⏳ \[shed\] works since \d+s: writing$/),
      ]),
    )
    expect(rowsOf(house.app, "SELECT key FROM inbox WHERE key LIKE 'wake:%'")).toEqual([])
    await house.app.coding().pool.kill(String(session))
  })
})

describe('the library', () => {
  const library = (house: House) => codingLibrary((work) => work(house.app))

  test('respondToPermission answers what the session in a repository asks, however the repository is named', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const link = join(house.dir, 'linked')
    symlinkSync(workdir, link)
    const prompt = '[[offline: ask Bash {"command":"ls"}]][[offline: ask Bash {"command":"pwd"}]]'
    await ask(house, 'claude-code.launch', { prompt, workdir, name: 'asker', originChannel: 'gateway' })
    const { respondToPermission } = library(house)
    const answered = async (path: string, allow: boolean): Promise<string> => {
      const { waiting: asked } = await untilLifecycle(house, 'asker', 'awaiting-approval')
      await respondToPermission(path, asked!.approvalId!, allow)
      await vi.waitFor(() => expect(house.app.coding().pool.resolve('asker').waiting).not.toEqual(asked))
      return house.app.storage.approvals.get(asked!.approvalId!)!.state
    }
    await untilLifecycle(house, 'asker', 'awaiting-approval')
    await expect(respondToPermission(newRepo(house), '', true)).rejects.toThrow(/No request .*is pending in/)
    expect(await answered(link, true)).toBe('allowed')
    expect(await answered(workdir, false)).toBe('denied')
  })

  test.each([
    ['channel|account|target', 'telegram|work|12|34', { accountId: 'work', to: '12|34' }],
    ['channel|target', 'telegram|12', { accountId: 'default', to: '12' }],
  ])('routeEventMessage: %s goes to that chat, each label once', async (_form, originChannel, to) => {
    const house = await openGateway({ channels: { ownerAllowFrom: ['telegram:12'] } })
    const session = await launchResumable(house, 'shed', { originChannel })
    const { routeEventMessage } = library(house)
    await routeEventMessage(session, 'It rains.', 'weather')
    await routeEventMessage(session, 'It rains.', 'weather')
    const sent = (await house.app.storage.work.outbox.list()).filter(
      ({ delivery }) => delivery.reply.text === 'It rains.',
    )
    expect(sent).toHaveLength(1)
    expect(sent[0]!.delivery.address).toMatchObject({ channel: 'telegram', ...to })
  })

  test.each(['unknown', 'telegram', 'telegram|', ''])(
    'routeEventMessage: %j reaches no chat, so the agent is woken, once; without a gateway it is left for the next one',
    async (originChannel) => {
      const house = await openGateway()
      const session = await launchResumable(house, 'shed', { originChannel })
      const { routeEventMessage } = library(house)
      delete house.app.gateway
      await routeEventMessage(session, 'It rains.', 'weather')
      await routeEventMessage(session, 'It rains.', 'weather')
      const key = `wake:coding:${session.id}:event:weather`
      expect(await house.app.storage.work.inbox.state(key)).toBe('waiting')
      const told = (await house.app.storage.work.systemEvents.waiting(parentKey)).filter(
        ({ text }) => text === 'It rains.',
      )
      expect(told).toHaveLength(1)
    },
  )

  test("the seeds' names are exported", async () => {
    const library: Record<string, unknown> = await import('../src/index.ts')
    const names = [
      'Session',
      'SessionManager',
      'NotificationRouter',
      'MessageStream',
      'routeEventMessage',
      'respondToPermission',
      'resolveOriginChannel',
      'generateSessionName',
      'formatDuration',
      'formatListing',
      'formatStats',
      'discoverSessions',
      'parseJsonlHeader',
      'repoPathToSlug',
      'gatherProjectStatus',
      'selectSession',
    ]
    expect(names.filter((name) => typeof library[name] !== 'function')).toEqual([])
    const manager = (library['SessionManager'] as { prototype: object }).prototype
    const methods = ['spawn', 'resolve', 'resolveClaudeSessionId', 'kill', 'killAll', 'cleanup', 'getMetrics']
    expect(methods.filter((name) => !(name in manager))).toEqual([])
  })
})

test('an operation finds what a dead owner left, whichever it is', async () => {
  const house = await openGateway()
  const { coding: store } = house.app.storage
  const session = await launchResumable(house, 'left')
  await store.update(session.id, (stored) => Object.assign(stored.owner!, deadProcess))
  const listed = await ask(house, 'coding.sessions')
  expect(listed).toMatchObject({ sessions: [{ lifecycle: 'suspended', endReason: 'crash' }] })
})

test('claude_stats and claude_sessions show an agent its own only; the operator sees all', async () => {
  const house = await openGateway({ agents: { list: [{ id: 'main' }, { id: 'other' }] } })
  for (const agent of ['main', 'other', 'other']) {
    await ask(house, 'coding.launch', { prompt: 'x', workdir: newRepo(house), agent, fresh: true })
  }
  const tools = await toolsOf(house)
  expect(await textOf(tools.get('claude_stats'))).toContain('Launched 1,')
  expect(await ask(house, 'claude-code.stats')).toMatchObject({ totalLaunched: 3 })
  expect(await typed(house, '/claude_stats', home)).toContain('Launched 3,')
})
