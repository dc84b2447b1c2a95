// Coding sessions and sub-agents from inside a chat: the tools that an agent gets, and the words that a person answers with.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { answerByReply, answerInWords, openInChat, pressedButton } from '../src/chat/chat-approvals.ts'
import { approvalReply } from '../src/coding/approvals/approval-reply.ts'
import type { Approval } from '../src/domain/coding-session.ts'
import type { Message } from '../src/domain/message.ts'
import type { Caller } from '../src/operations/operation.ts'
import { perform } from '../src/operations/all.ts'
import { followSpawnedCoding, followSubagents } from '../src/operations/sessions/subagents.ts'
import {
  home,
  newRepo,
  offeredTools,
  openGateway,
  parentKey,
  stranger,
  textOf,
  toolsOf,
} from './support/coding-gateway.ts'
import { NativeTranscript } from './support/dashboard-house.ts'
import { rpc } from './support/gateway-house.ts'
import { answerOnly, deadProcess, open, sharedFolder } from './support/coding-bench.ts'
import { makeMovableClock } from './support/movable-clock.ts'
import { rowsOf } from './support/state-rows.ts'

describe('tools of a chat', () => {
  test('the eight have the names and parameters of the plugin, and `killed` among the states', async () => {
    const tools = await toolsOf(await openGateway())
    const fields = (name: string): string[] =>
      Object.keys(tools.get(name)!.inputSchema['properties'] as object)
    expect(fields('claude_launch')).toEqual(
      expect.arrayContaining([
        'prompt',
        'name',
        'workdir',
        'model',
        'max_budget_usd',
        'system_prompt',
        'allowed_tools',
        'resume_session_id',
        'fork_session',
        'multi_turn_disabled',
        'permission_mode',
      ]),
    )
    expect(fields('claude_respond')).toEqual(['session', 'message', 'interrupt', 'userInitiated'])
    expect(fields('claude_fg')).toEqual(expect.arrayContaining(['session', 'lines']))
    expect(fields('claude_bg')).toEqual(expect.arrayContaining(['session']))
    expect(fields('claude_kill')).toEqual(expect.arrayContaining(['session']))
    expect(fields('claude_output')).toEqual(['session', 'lines', 'full', 'after'])
    expect(JSON.stringify(tools.get('claude_sessions')!.inputSchema)).toContain('"killed"')
    expect(tools.has('claude_stats')).toBe(true)
  })

  test('an agent launches, reads, lists, answers and kills, in the words of the plugin', async () => {
    const house = await openGateway()
    const tools = await toolsOf(house)
    const workdir = newRepo(house)
    const launched = await textOf(tools.get('claude_launch'), {
      prompt: '[[offline: say from inside]]',
      name: 'inner',
      workdir,
      max_budget_usd: 2,
    })
    expect(launched).toMatch(/^Launched inner \[\w{8}\]/)
    const output = (): Promise<string> => textOf(tools.get('claude_output'), { session: 'inner' })
    await vi.waitFor(async () => expect(await output()).toContain('from inside'))
    expect(await output()).toMatch(/^Session: inner \[\w{8}\] \| Status: \w+ \| Duration: \d+s\n─{60}\n/)
    expect(await textOf(tools.get('claude_sessions'))).toMatch(
      /inner \[\w{8}\] \(\d+s\) — background, multi-turn/,
    )
    expect(await textOf(tools.get('claude_respond'), { session: 'inner', message: 'more' })).toMatch(
      /^Sent to inner/,
    )
    expect(await textOf(tools.get('claude_kill'), { session: 'inner' })).toMatch(/^⛔ inner/)
    expect(await textOf(tools.get('claude_kill'), { session: 'inner' })).toMatch(/is over already/)
    expect(await textOf(tools.get('claude_stats'))).toContain('Launched 1')
    const [session] = house.app.storage.coding.list()
    expect(session!.request).toMatchObject({ budgetUsd: 2, originSessionKey: parentKey, agentId: 'main' })
    expect((await tools.get('claude_output')!.call({ session: 'nobody' })).isError).toBe(true)
  })

  test('a watcher without a chat is sent nothing, and gets what was missed when it asks again', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const launched = { prompt: '[[offline: say one]]', name: 'seen', workdir, fresh: true }
    await rpc(house, 'coding.launch', launched)
    const { pool } = house.app.coding()
    const waits = (turns: number) =>
      vi.waitFor(() => expect(pool.resolve('seen')).toMatchObject({ turns, lifecycle: 'awaiting-input' }))
    const missed = async (): Promise<string> =>
      ((await rpc(house, 'coding.foreground', { session: 'seen' })).result as { missed: string }).missed
    await waits(1)
    expect(await missed()).toContain('one')
    await rpc(house, 'coding.respond', { session: 'seen', message: '[[offline: say two]]' })
    await waits(2)
    await house.app.coding().notifications.flush(pool.resolve('seen').id)
    expect(rowsOf(house.app, 'SELECT * FROM outbox')).toEqual([])
    const again = await missed()
    expect(again).toContain('two')
    expect(again).not.toContain('one')
  })

  test.each(['   ', '\n\t'])('a prompt without a word (%j) starts nothing', async (prompt) => {
    const house = await openGateway()
    const workdir = newRepo(house)
    for (const [method, input] of [
      ['coding.launch', { prompt, workdir, fresh: true }],
      ['coding.resume', { session: 'x', prompt }],
      ['coding.respond', { session: 'x', message: prompt }],
      ['sessions.spawn', { task: prompt, mode: 'claude-code', repo: workdir }],
    ] as const)
      expect((await rpc(house, method, input)).error?.data?.code).toBe('input-invalid')
    expect(house.app.storage.coding.list()).toEqual([])
  })

  test('4.6 no. 1: the configured permission mode has an effect, and what is asked for wins', async () => {
    const house = await openGateway({ coding: { permissionMode: 'plan' } })
    const modeOf = async (input: Record<string, unknown>): Promise<string> => {
      const workdir = newRepo(house)
      const { result } = await rpc(house, 'coding.launch', { prompt: 'x', workdir, fresh: true, ...input })
      return house.app.coding().pool.resolve((result as { id: string }).id).request.permissionMode
    }
    expect(await modeOf({})).toBe('plan')
    expect(await modeOf({ permissionMode: 'acceptEdits' })).toBe('acceptEdits')
  })

  test('cleanup: maxPersistedSessions only shortens lists; what is older is still found', async () => {
    const house = await openGateway({ coding: { maxPersistedSessions: 1 } })
    const tools = await toolsOf(house)
    for (const name of ['older', 'newer']) {
      const workdir = newRepo(house)
      await tools.get('claude_launch')!.call({ prompt: 'x', name, workdir })
    }
    const listed = await textOf(tools.get('claude_sessions'))
    expect(listed).toContain('newer')
    expect(listed).not.toContain('older')
    expect(await textOf(tools.get('claude_output'), { session: 'older' })).toContain('Session: older')
  })

  test('for a guest and in a group the agent neither acts nor looks beyond this session; for a hook it has no tools', async () => {
    const house = await openGateway()
    const owners = 'agent:main:direct:ada'
    await rpc(house, 'sessions.patch', { key: owners, label: 'private' })
    for (const tools of await Promise.all([toolsOf(house, stranger), toolsOf(house, home, 'group')])) {
      expect([...tools.keys()]).toEqual(['session_status'])
      const told = await textOf(tools.get('session_status'), { sessionKey: owners })
      expect(told).not.toContain('private')
    }
    expect([...(await toolsOf(house, home, 'direct', 'agent:main:hook:mail')).keys()]).toEqual([])
  })

  test("what is asked from elsewhere in a guest's session is done as for the guest, and in the owner's as for the owner", async () => {
    const house = await openGateway({ channels: { ownerAllowFrom: ['telegram:501'] } })
    const inside = { channel: 'internal', accountId: 'default', to: 'main' }
    const offered = async (lastTo: string): Promise<string[]> => {
      const entry = { sessionId: 's', updatedAt: 0, lastChannel: 'telegram', lastTo }
      const session = { key: `agent:main:telegram:direct:${lastTo}`, agentId: 'main', entry }
      return (await offeredTools(house, session, inside)).map(({ name }) => name)
    }
    expect(await offered('666')).toEqual(['session_status'])
    expect(await offered('501')).toContain('claude_launch')
  })

  test('T64: an agent gives what it launches no right that it has not itself', async () => {
    const house = await openGateway({
      agents: { defaults: { allowedTools: ['Read', 'Bash(ls:*)'] } },
      coding: { programs: { codex: { path: '/nowhere/codex' } } },
    })
    const tools = await toolsOf(house)
    const launch = (more: object): Promise<string> =>
      textOf(tools.get('claude_launch'), { prompt: 'x', workdir: newRepo(house), ...more })
    expect(await launch({ allowed_tools: ['Read', 'Bash'] })).toMatch(
      /cannot give .* use of Bash without asking/,
    )
    expect(await launch({ permission_mode: 'acceptEdits' })).toMatch(
      /cannot give .* permission mode acceptEdits/,
    )
    expect(await launch({ origin_channel: 'telegram|666' })).toMatch(/only in its own chats/)
    expect(await launch({ agentKind: 'codex' })).toMatch(/cannot start sessions of Codex/)
    // A person may, if the program is installed.
    const byPerson = { prompt: 'x', workdir: newRepo(house), fresh: true, agentKind: 'codex' }
    expect((await rpc(house, 'coding.launch', byPerson)).error).toMatchObject({
      message: expect.stringContaining('Codex is not installed') as string,
      data: { code: 'unavailable', hint: expect.stringContaining('npm install -g @openai/codex') as string },
    })
    const spawned = { task: 'x', mode: 'claude-code', repo: newRepo(house), permissionMode: 'acceptEdits' }
    expect(await textOf(tools.get('sessions_spawn'), spawned)).toMatch(
      /cannot give .* permission mode acceptEdits/,
    )
    expect(house.app.coding().pool.list()).toEqual([])
    expect(await launch({ allowed_tools: ['Bash(ls:*)'], permission_mode: 'plan' })).toContain(
      'Launched session',
    )
  })

  test("an agent neither sees nor resumes another agent's sessions", async () => {
    const house = await openGateway({ agents: { list: [{ id: 'main' }, { id: 'other' }] } })
    const workdir = newRepo(house)
    await rpc(house, 'coding.launch', {
      prompt: 'secret',
      name: 'theirs',
      agent: 'other',
      workdir,
      fresh: true,
    })
    const tools = await toolsOf(house)
    expect(await textOf(tools.get('claude_sessions'))).toBe('No coding sessions.')
    const resumed = { prompt: 'x', workdir, resume_session_id: 'theirs' }
    expect((await tools.get('claude_launch')!.call(resumed)).text).toMatch(/no session "theirs"/)
    const bound: Caller = { via: 'rpc', scopes: ['write'], agentId: 'main' }
    for (const fork of [false, true]) {
      const again = perform(house.app, 'coding.resume', { session: 'theirs', fork }, bound)
      await expect(again).rejects.toMatchObject({ code: 'not-found' })
    }
    const repeated = perform(house.app, 'coding.again', { session: 'theirs' }, bound)
    await expect(repeated).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('sessions_spawn', () => {
  test('a sub-agent takes the task, and its result reaches the parent once', async () => {
    const house = await openGateway()
    await (await house.app.conversations()).start()
    const tools = await toolsOf(house)
    const spawned = await tools
      .get('sessions_spawn')!
      .call({ task: '[[offline: say 42 herons]]', label: 'count' })
    expect(spawned.structured).toMatchObject({ status: 'accepted', timeoutSeconds: 600 })
    const { childSessionKey } = spawned.structured as { childSessionKey: string }
    expect(childSessionKey).toMatch(/^agent:main:subagent:[0-9a-f-]{36}$/)
    const sessions = house.app.storage.sessions('main')
    await vi.waitFor(async () =>
      expect(await sessions.get(childSessionKey)).toMatchObject({
        spawnedBy: parentKey,
        spawnDepth: 1,
        subagentRun: { state: 'announced' },
      }),
    )
    await followSubagents(house.app)
    const told = async (): Promise<number> => {
      const history = await rpc(house, 'sessions.history', { key: parentKey })
      return JSON.stringify(history.result).split('42 herons').length - 1
    }
    await vi.waitFor(async () => expect(await told()).toBeGreaterThan(0))
    const inbox = rowsOf(house.app, "SELECT key FROM inbox WHERE key LIKE 'wake:subagent:%'")
    expect(inbox).toHaveLength(1)
  })

  test('a result that was there before a restart is announced after it', async () => {
    const house = await openGateway()
    await (await house.app.conversations()).start()
    const tools = await toolsOf(house)
    const spawned = await tools.get('sessions_spawn')!.call({ task: '[[offline: say late]]' })
    const { childSessionKey } = spawned.structured as { childSessionKey: string }
    const sessions = house.app.storage.sessions('main')
    await vi.waitFor(async () =>
      expect((await sessions.get(childSessionKey))?.['subagentRun']).toMatchObject({ state: 'announced' }),
    )
    // As a crash right after the turn would have left it.
    await sessions.update(childSessionKey, (entry) => ({
      ...entry!,
      subagentRun: { ...(entry!['subagentRun'] as object), state: 'running' },
    }))
    await followSubagents(house.app)
    await vi.waitFor(async () =>
      expect((await sessions.get(childSessionKey))?.['subagentRun']).toMatchObject({ state: 'announced' }),
    )
    const inbox = rowsOf(house.app, "SELECT key FROM inbox WHERE key LIKE 'wake:subagent:%'")
    expect(inbox).toHaveLength(1)
  })

  test('sub-agents go only so deep, and another agent is not there', async () => {
    const house = await openGateway({ agents: { defaults: { subagents: { maxSpawnDepth: 0 } } } })
    const spawned = await (await toolsOf(house)).get('sessions_spawn')!.call({ task: 'x' })
    expect(spawned.structured).toMatchObject({ status: 'forbidden' })
    const free = await openGateway()
    const other = await (await toolsOf(free)).get('sessions_spawn')!.call({ task: 'x', agentId: 'boss' })
    expect(other.structured).toMatchObject({ status: 'error' })
  })

  test('mode claude-code: accepted with its repository, listed as a child, woken at the end through the inbox (4.6 no. 12)', async () => {
    const house = await openGateway()
    const repo = newRepo(house)
    const tools = await toolsOf(house)
    const spawned = await tools
      .get('sessions_spawn')!
      .call({ task: 'look', mode: 'claude-code', repo, label: 'l' })
    expect(spawned.structured).toMatchObject({
      status: 'accepted',
      mode: 'claude-code',
      repo,
      permissionMode: 'default',
      timeoutSeconds: 600,
      persistent: false,
    })
    const { session } = spawned.structured as { session: string }
    await vi.waitFor(() => expect(house.app.coding().pool.resolve(session).status).toBe('completed'))
    const listed = await rpc(house, 'sessions.list', { spawnedBy: parentKey })
    expect(listed.result).toMatchObject({ count: 1 })
    await vi.waitFor(() => {
      const waking = rowsOf(house.app, "SELECT key FROM inbox WHERE key LIKE 'wake:coding:%'")
      expect(waking).toHaveLength(1)
    })
  })

  test('mode claude-code: the repository by its name, thinking passed on, and the row gone at the end if so wanted', async () => {
    const house = await openGateway()
    const repo = newRepo(house)
    house.app.config.coding.repos['shop'] = repo
    await followSpawnedCoding(house.app)
    const tools = await toolsOf(house)
    const asked = { task: 'look', mode: 'claude-code', repo: 'shop', thinking: 'high', cleanup: 'delete' }
    const { structured } = await tools.get('sessions_spawn')!.call(asked)
    expect(structured).toMatchObject({ status: 'accepted', repo })
    const { session, childSessionKey } = structured as { session: string; childSessionKey: string }
    const { pool } = house.app.coding()
    expect(pool.resolve(session).request).toMatchObject({ thinking: 'high', childSessionKey })
    await vi.waitFor(() => expect(pool.resolve(session).lifecycle).toBe('ended'))
    await vi.waitFor(async () =>
      expect(await house.app.storage.sessions('main').get(childSessionKey)).toBeUndefined(),
    )
  })

  test('a task for a repository with a busy session is queued, and chosen again when its turn comes', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const { pool } = house.app.coding()
    const launch = async (prompt: string): Promise<Record<string, unknown>> =>
      (await rpc(house, 'coding.launch', { prompt, workdir, multiTurnDisabled: true })).result as Record<
        string,
        unknown
      >
    const first = await launch('[[offline: wait 60000]]')
    await vi.waitFor(() => expect(pool.resolve(String(first['id'])).lifecycle).toBe('active'))
    const second = await launch('next')
    expect(second).toMatchObject({ action: 'queue', lifecycle: 'queued' })
    await pool.kill(String(first['id']))
    await vi.waitFor(() => expect(pool.resolve(String(second['id'])).status).toBe('completed'))
    const { result } = await rpc(house, 'cc.why', { id: second['id'] })
    const { decisions } = result as { decisions: Array<{ selection: { action: string } }> }
    expect(decisions.map(({ selection }) => selection.action)).toEqual(['fresh', 'queue'])
  })

  test('`cc list` shows what never got to Claude, queued or failed, and `cc info` knows it by its name', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const runtime = await house.app.runtime()
    house.app.runtime = async () => ({ ...runtime, open: () => Promise.reject(new Error('no binary')) })
    const launched = await rpc(house, 'coding.launch', {
      prompt: 'x',
      name: 'stillborn',
      workdir,
      fresh: true,
    })
    const { id } = launched.result as { id: string }
    await vi.waitFor(() => expect(house.app.coding().pool.resolve(id).status).toBe('failed'))
    const listed = await rpc(house, 'cc.list', { repo: workdir })
    expect(listed.result).toMatchObject({
      total: 1,
      sessions: [
        { sessionId: id, title: 'stillborn', source: 'rockpool', status: 'stopped', agentId: 'main' },
      ],
    })
    expect((await rpc(house, 'cc.list', { search: 'nothing like it' })).result).toMatchObject({ total: 0 })
    const info = await rpc(house, 'cc.info', { id: 'stillborn' })
    expect(info.result).toMatchObject({ session: { sessionId: id }, coding: { endReason: 'start-failed' } })
  })

  test('`cc list` shows a session whose transcript Claude has not written yet', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const launch = { prompt: '[[offline: say hi]]', name: 'unwritten', workdir, fresh: true }
    const { id } = (await rpc(house, 'coding.launch', launch)).result as { id: string }
    const { pool } = house.app.coding()
    await vi.waitFor(() => expect(pool.resolve(id).lifecycle).toBe('awaiting-input'))
    const sdkSessionId = randomUUID()
    await house.app.storage.coding.update(id, (session) => Object.assign(session, { sdkSessionId }))
    const listed = await rpc(house, 'cc.list', { repo: workdir })
    expect(listed.result).toMatchObject({
      total: 1,
      sessions: [{ sessionId: id, title: 'unwritten', status: 'waiting' }],
    })
  })

  test('a finished session of the offline agent is in `cc list` and `cc info`; `cc read` says that it has no conversation', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const launch = { prompt: '[[offline: say hi]]', name: 'no-claude', workdir, multiTurnDisabled: true }
    const { id } = (await rpc(house, 'coding.launch', launch)).result as { id: string }
    const { pool } = house.app.coding()
    await vi.waitFor(() => expect(pool.resolve(id).status).toBe('completed'))
    const { sdkSessionId } = pool.resolve(id)
    expect(sdkSessionId).toBeDefined()
    expect((await rpc(house, 'cc.list', { repo: workdir })).result).toMatchObject({
      total: 1,
      sessions: [{ sessionId: id, title: 'no-claude' }],
    })
    for (const ref of [id, sdkSessionId, 'no-claude']) {
      const info = await rpc(house, 'cc.info', { id: ref })
      expect(info.result).toMatchObject({ session: { sessionId: id }, coding: { stateText: 'hi' } })
      const read = await rpc(house, 'cc.read', { id: ref })
      expect(read.error?.message).toContain('no-claude has no conversation of Claude Code')
    }
  })

  test('the beginning of an id of Claude Code means its session, and not one of ours whose name begins with it', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const sessionId = 'abcd0001-2222-4333-8444-555555555555'
    const launch = { prompt: '[[offline: say hi]]', name: 'abcd0001-x', workdir, multiTurnDisabled: true }
    const { id } = (await rpc(house, 'coding.launch', launch)).result as { id: string }
    const { pool } = house.app.coding()
    await vi.waitFor(() => expect(pool.resolve(id).status).toBe('completed'))
    const named = async (ref: string): Promise<unknown> => (await rpc(house, 'cc.info', { id: ref })).result
    expect(await named('abcd0001')).toMatchObject({ session: { sessionId: id } })
    new NativeTranscript({ configDir: join(house.dir, '.claude') } as never, workdir, sessionId).prompt(
      'hello',
    )
    await vi.waitFor(async () => expect(await named('abcd0001')).toMatchObject({ session: { sessionId } }))
    expect(await named('abcd0001-x')).toMatchObject({ session: { sessionId: id } })
  })

  test('sessions_send answers from another session, never from itself; session_status tells of this one', async () => {
    const house = await openGateway()
    await (await house.app.conversations()).start()
    const now = house.app.clock.now()
    for (const key of [parentKey, 'agent:main:other']) {
      await house.app.storage
        .sessions('main')
        .update(key, () => ({ sessionId: `id-${key.length}`, updatedAt: now }))
    }
    const tools = await toolsOf(house)
    const sent = await tools
      .get('sessions_send')!
      .call({ sessionKey: 'agent:main:other', message: '[[offline: say hi]]' })
    expect(sent.structured).toMatchObject({ status: 'ok', reply: 'hi' })
    const self = await tools.get('sessions_send')!.call({ sessionKey: parentKey, message: 'x' })
    expect(self.text).toMatch(/cannot wait for itself/)
    expect((await tools.get('session_status')!.call({})).structured).toMatchObject({ key: parentKey })
  })
})

describe('answers in words', () => {
  const asked = (kind: Approval['kind'], more: Partial<Approval> = {}): Approval => ({
    id: 'ab12',
    agentId: 'main',
    kind,
    toolName: 'Bash',
    input: {},
    inputHash: '0123456789abcdef',
    shown: 'ls',
    state: 'pending',
    askedAt: 0,
    expiresAt: 1,
    ...more,
  })

  test('yes, no, always, a number and "revise" answer the one open question', () => {
    expect(answerInWords([asked('tool')], 'Yes')).toBe('/approve ab12')
    expect(answerInWords([asked('tool')], 'no.')).toBe('/deny ab12')
    expect(answerInWords([asked('tool')], 'allow always')).toBe('/approve ab12 always')
    expect(answerInWords([asked('question')], '2')).toBe('/approve ab12 2')
    expect(answerInWords([asked('question')], '1, 3')).toBe('/approve ab12 1, 3')
    expect(answerInWords([asked('budget')], '$5')).toBe('/approve ab12 $5')
    expect(answerInWords([asked('budget')], '0,50')).toBe('/approve ab12 0,50')
    expect(answerInWords([asked('budget')], '50 cents')).toBe('/approve ab12 50 cents')
    expect(answerInWords([asked('plan')], 'approve')).toBe('/approve ab12')
    expect(answerInWords([asked('plan')], 'Revise: smaller steps')).toBe('/deny ab12 smaller steps')
    expect(answerInWords([asked('plan')], 'reject')).toBe('/deny ab12')
  })

  test('other words are a message, and nothing open means nothing', () => {
    expect(answerInWords([asked('tool')], 'yes, but why?')).toBeUndefined()
    expect(answerInWords([], 'yes')).toBeUndefined()
  })

  test('T125: two open questions and "yes": the id is asked for', () => {
    expect(answerInWords([asked('tool'), asked('tool', { id: 'cd34' })], 'yes')).toBe('/approve')
  })

  test("an answer to a session's own notice means what that session asks; a question takes any words", () => {
    expect(answerByReply([asked('tool')], 'yes')).toBe('/approve ab12')
    expect(answerByReply([asked('question')], 'the blue one')).toBe('/approve ab12 the blue one')
    expect(answerByReply([asked('question')], '/claude_sessions')).toBeUndefined()
    expect(answerByReply([asked('tool')], 'why do you need that?')).toBeUndefined()
    expect(answerByReply([], 'go on')).toBeUndefined()
  })

  test('"yes all" means all that ask the same; where different things are asked, the id is asked for', () => {
    const alike = (kind: Approval['kind']) => [asked(kind), asked(kind, { id: 'cd34' })]
    expect(answerInWords(alike('tool'), 'yes all')).toBe('/approve all cd34')
    expect(answerInWords(alike('tool'), 'No, to all!')).toBe('/deny all cd34')
    expect(answerInWords(alike('question'), '2 for all')).toBe('/approve all cd34 2')
    expect(answerInWords(alike('question'), 'take them all')).toBeUndefined()
    const different = [...alike('tool'), asked('tool', { id: 'ef56', inputHash: 'other' })]
    expect(answerInWords(different, 'yes all')).toBe('/approve all')
  })

  test('T126: the whole command is shown, controls are made visible, and the hash is there', () => {
    const shown = `echo ${'x'.repeat(5_000)}\n\u001b[2K\u202e${' '.repeat(500)}; rm -rf /`
    const { text } = approvalReply('[s]', asked('tool', { shown }))
    expect(text).toContain('x'.repeat(5_000))
    expect(text).toContain('; rm -rf /')
    expect(text).toContain('\\u{1b}[2K\\u{202e}')
    expect(text).toContain('#01234567')
  })

  test('only questions of this chat are open in it', async () => {
    const house = await openGateway()
    const workdir = newRepo(house)
    const prompt = '[[offline: ask Bash {"command":"ls"}]]'
    await rpc(house, 'coding.launch', { prompt, workdir, fresh: true, originChannel: 'telegram|7' })
    await vi.waitFor(() => expect(house.app.coding().approvals.pending()).toHaveLength(1))
    expect(openInChat(house.app, stranger, 'agent:main:x')).toHaveLength(1)
    expect(openInChat(house.app, home, 'agent:main:x')).toHaveLength(0)
  })

  test('all means what was shown in this chat: not what another chat asks, what was asked later, or something else', async () => {
    const house = await openGateway({
      coding: { perRepo: { running: 5, queued: 1 } },
      channels: { ownerAllowFrom: ['telegram:7'] },
    })
    const workdir = newRepo(house)
    const { approvals } = house.app.coding()
    const ask = async (name: string, originChannel: string, command = 'make'): Promise<Approval> => {
      const before = approvals.pending().length
      const prompt = `[[offline: ask Bash {"command":"${command}"}]]`
      await rpc(house, 'coding.launch', { prompt, name, workdir, fresh: true, originChannel })
      await vi.waitFor(() => expect(approvals.pending()).toHaveLength(before + 1))
      return approvals
        .pending()
        .find(({ input, codingId }) => input['command'] === command && nameOf(codingId) === name)!
    }
    const nameOf = (id?: string) => house.app.storage.coding.get(id ?? '')?.name
    const here = 'telegram|default|7'
    const first = await ask('first', here)
    await ask('elsewhere', 'telegram|default|8')
    await ask('different', here, 'make install')
    const last = await ask('last', here)
    await new Promise((resolve) => setTimeout(resolve, 2))
    await ask('later', here)
    const notice = (await house.app.storage.work.outbox.list()).find(({ delivery }) =>
      delivery.idempotencyKey.includes(last.id),
    )?.delivery
    expect(notice?.reply.text).toContain('2 sessions ask exactly this: [first], [last].')
    const button = notice?.reply.buttons?.flat().find(({ label }) => label === 'Allow once for all 2')
    // Somebody is faster with one of them: that answer stays, and the rest is answered all the same.
    await approvals.answer(last.id, { behavior: 'deny', by: 'bob' })
    const message = {
      address: stranger,
      chatType: 'direct',
      sender: { id: '7' },
      button,
    } as unknown as Message
    expect(await pressedButton(house.app, message, true)).toEqual({ text: 'allowed [first]' })
    expect(house.app.storage.approvals.get(first.id)).toMatchObject({ state: 'allowed' })
    expect(house.app.storage.approvals.get(last.id)).toMatchObject({
      state: 'denied',
      answeredBy: 'bob',
    })
    const open = approvals.pending().map(({ codingId }) => nameOf(codingId))
    expect(new Set(open)).toEqual(new Set(['different', 'elsewhere', 'later']))
    expect(await pressedButton(house.app, message, true)).toMatchObject({ isError: true })
  })

  test('T129: "always" is listed, and when it is taken back the next time is asked again', async () => {
    const house = open()
    const ask = '[[offline: ask Bash {"command":"ls"}]]'
    const { id } = await house.launch(ask)
    await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(1))
    await answerOnly(house, { behavior: 'allow', always: true, by: 'ada' })
    await vi.waitFor(() => expect(house.pool.resolve(id).lifecycle).toBe('awaiting-input'))
    const [grant] = house.approvalStore.grants()
    expect(grant).toMatchObject({ codingId: id, tool: 'Bash', grantedBy: 'ada' })
    expect(JSON.parse(grant!.pattern)).toMatchObject({ input: { command: 'ls' } })
    await house.approvalStore.revoke(grant!.id)
    await house.pool.respond(id, ask, { userInitiated: true })
    await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(1))
  })
})

describe('attacks on approvals', () => {
  test('T123: a button pressed by a stranger, or in a group, is refused, logged, and the question stays open', async () => {
    const house = await openGateway()
    const warned: string[] = []
    house.app.log.warn = (_fields, text) => void warned.push(text)
    const workdir = newRepo(house)
    const prompt = '[[offline: ask Bash {"command":"ls"}]]'
    await rpc(house, 'coding.launch', { prompt, workdir, fresh: true })
    const { approvals } = house.app.coding()
    await vi.waitFor(() => expect(approvals.pending()).toHaveLength(1))
    const { id } = approvals.pending()[0]!
    const press = (owner: boolean, chatType: 'direct' | 'group', data = `approve:${id}:allow`) =>
      pressedButton(
        house.app,
        {
          event: 'button',
          address: { ...stranger, to: '7' },
          chatType,
          sender: { id: '7' },
          button: { data },
        } as unknown as Message,
        owner,
      )
    expect(await press(false, 'direct')).toMatchObject({ text: 'Only the owner may answer this.' })
    expect(await press(false, 'group')).toMatchObject({ text: 'Only the owner may answer this.' })
    expect(await press(true, 'group')).toMatchObject({ text: expect.stringContaining('in private') })
    expect(approvals.pending()).toHaveLength(1)
    // A busy machine is warned of, too.
    expect(warned.filter((text) => text.startsWith('Refused a button press'))).toHaveLength(3)
    expect(await press(true, 'direct', `approve:${id}x:allow`)).toMatchObject({ isError: true })
    await press(true, 'direct')
    expect(approvals.pending()).toEqual([])
  })

  test.each(['a chat that answers', 'a chat that cannot be reached'])(
    'T128: without an answer for five minutes, with %s: denied, the agent gets the reason, nothing hangs',
    async (which) => {
      const clock = makeMovableClock()
      const deliver = async (): Promise<void> => {
        throw new Error('the channel is down')
      }
      const house = open({
        clock,
        config: { approvalTimeoutMinutes: 5 },
        ...(which.includes('cannot') ? { deliver } : {}),
      })
      const { id } = await house.launch('[[offline: ask Bash {"command":"ls"}]]')
      await vi.waitFor(() => expect(house.approvals.pending()).toHaveLength(1))
      await clock.advance(4 * 60_000 + 59_000)
      expect(house.approvals.pending()).toHaveLength(1)
      await clock.advance(2_000)
      await vi.waitFor(() => expect(house.pool.resolve(id).lifecycle).toBe('awaiting-input'))
      const said = house.store.lastOutput(id, 10).map((block) => block.text)
      expect(said.some((text) => text.includes('Expired, no answer in 5 min'))).toBe(true)
    },
  )

  test('T128: Rockpool restarts while a question is open: it stays open, the chat learns of it, and is asked nothing twice', async () => {
    const folder = sharedFolder()
    const before = open({ folder, self: deadProcess })
    const resume = { sdkSessionId: '00000000-0000-4000-8000-000000000004', fork: false }
    const { id } = await before.launch('[[offline: ask Bash {"command":"make"}]]', { resume })
    await vi.waitFor(() => expect(before.pool.resolve(id).lifecycle).toBe('awaiting-approval'))
    const [asked] = before.approvals.pending()
    const after = open({ folder })
    await after.pool.recover()
    expect(after.approvals.pending().map((approval) => approval.id)).toEqual([asked!.id])
    const told = after.delivered.map(({ reply }) => reply.text).join()
    expect(told).toContain('It still waits for an answer, which resumes it: make')
    // A resumed session asks again; then the old question has nothing that waits for it.
    await after.pool.resume(id, '[[offline: say hello]]')
    await expect(after.approvals.answer(asked!.id, { behavior: 'allow', by: 'ada' })).rejects.toThrow(
      /already expired/,
    )
  })
})

describe('plans', () => {
  const request = {
    requestId: 'r',
    kind: 'plan',
    toolName: 'ExitPlanMode',
    input: { plan: '1. look\n2. do' },
  } as const

  test.each([
    ['approved', { behavior: 'allow' }, { behavior: 'allow' }],
    [
      'revised',
      { behavior: 'deny', text: 'smaller' },
      { behavior: 'deny', message: expect.stringContaining('smaller') },
    ],
    ['rejected', { behavior: 'deny' }, { behavior: 'deny', interrupt: true }],
  ] as const)('a plan is %s', async (_how, said, told) => {
    const house = open()
    const answer = house.approvals.ask(
      { agentId: 'main', request },
      new AbortController().signal,
      (approval) => {
        expect(approval.shown).toBe('1. look\n2. do')
        void house.approvals.answer(approval.id, { ...said, by: 'ada' })
      },
    )
    expect(await answer).toMatchObject(told)
  })
})

test('a session that the operator let run unasked is not resumed so by a program', async () => {
  const house = await openGateway()
  const workdir = newRepo(house)
  const { pool } = house.app.coding()
  const launched = await rpc(house, 'coding.launch', {
    prompt: '[[offline: say done]]',
    workdir,
    fresh: true,
  })
  const { id } = launched.result as { id: string }
  await pool.whenQuiet(id)
  await house.app.storage.coding.update(id, ({ request }) => {
    request.permissionMode = 'bypassPermissions'
  })
  const answer = await rpc(house, 'coding.resume', { session: id })
  expect(answer.error).toMatchObject({ data: { code: 'refused' } })
})
