// Choosing a session and looking at a project, from the command line to the disk: a real repository, transcripts as
// Claude Code writes them, the real index, the real decisions.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { openApp } from '../src/app.ts'
import { repoPathToSlug } from '../src/discovery/repo-paths.ts'
import {
  ccSessionFileExists,
  discoverSessions,
  gatherProjectStatus,
  listAllSessions,
  scoreSession,
  selectSession,
} from '../src/index.ts'
import type { LaunchInput } from '../src/operations/coding/launch-input.ts'
import { launchCoding } from '../src/operations/coding/coding-launch.ts'
import type { Caller } from '../src/operations/operation.ts'
import { giverOf } from '../src/operations/perform-operation.ts'
import { ownerGives } from '../src/domain/giver.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { claudePidDomain, identifyProcess } from '../src/store/disk/process-identity.ts'
import { startMessagesApi } from './support/messages-api.ts'
import { typeCommand } from './support/program.ts'
import type { Ran } from './support/program.ts'

let root = ''
let repo = ''
let variables: Record<string, string> = {}

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-select-')))
  repo = join(root, 'shop')
  mkdirSync(repo)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=a@example.com', ...args], { cwd: repo })
  git('init', '-q', '-b', 'main')
  git('commit', '-q', '--allow-empty', '-m', 'First')
  variables = {
    PATH: process.env['PATH'] ?? '',
    HOME: root,
    ROCKPOOL_STATE_DIR: join(root, 'state'),
    CLAUDE_CONFIG_DIR: join(root, 'claude'),
  }
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

const id = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`

interface Told {
  minutesAgo: number
  text: string
}

/** A transcript in Claude's folder: prompts with one answer each, and what the last call had in its context. */
function session(digit: number, told: Told[], about: { branch?: string; compactions?: number } = {}): string {
  const sessionId = id(digit)
  const records = told.flatMap(({ minutesAgo, text }, at) => {
    const timestamp = new Date(Date.now() - minutesAgo * 60_000).toISOString()
    const rest = {
      sessionId,
      timestamp,
      cwd: repo,
      gitBranch: about.branch ?? 'main',
      isSidechain: false,
      version: '2.1.325',
    }
    const usage = {
      input_tokens: 100,
      output_tokens: 50,
      cache_read_input_tokens: 19_000,
      cache_creation_input_tokens: 900,
    }
    return [
      { type: 'user', uuid: `u${at}`, parentUuid: null, message: { role: 'user', content: text }, ...rest },
      {
        type: 'assistant',
        uuid: `a${at}`,
        parentUuid: `u${at}`,
        requestId: `r${digit}${at}`,
        message: {
          id: `m${digit}${at}`,
          model: 'claude-sonnet-4-5-20250929',
          content: [{ type: 'text', text: 'Done.' }],
          usage,
        },
        ...rest,
      },
    ]
  })
  const boundaries = Array.from({ length: about.compactions ?? 0 }, () => ({
    type: 'system',
    subtype: 'compact_boundary',
  }))
  const folder = join(root, 'claude', 'projects', repoPathToSlug(repo))
  mkdirSync(folder, { recursive: true })
  const lines = [...boundaries, ...records].map((record) => `${JSON.stringify(record)}\n`)
  writeFileSync(join(folder, `${sessionId}.jsonl`), lines.join(''))
  return sessionId
}

/** Says that Claude's session is live, in this very process. */
function running(sessionId: string): void {
  const self = identifyProcess(process.pid)!
  mkdirSync(join(root, 'claude', 'sessions'), { recursive: true })
  const entry = {
    pid: self.pid,
    sessionId,
    procStart: self.startTime,
    pidDomain: claudePidDomain(),
    status: 'busy',
    cwd: repo,
  }
  writeFileSync(join(root, 'claude', 'sessions', `${self.pid}.json`), JSON.stringify(entry))
}

const rockpool = (...args: string[]): Promise<Ran> => typeCommand(args, variables, repo)

async function json(...args: string[]): Promise<Record<string, unknown>> {
  return JSON.parse((await rockpool(...args, '--json')).stdout) as Record<string, unknown>
}

test('the same branch and a similar task: resume, with the numbers of the seed and a price', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  session(2, [{ minutesAgo: 5, text: 'Write manual pages' }], { branch: 'docs' })
  const found = await json('cc', 'select', 'Repair the login form again')
  expect(found).toMatchObject({
    action: 'resume',
    sessionId: id(1),
    reason: expect.stringMatching(/^resume 00000001 \(1\.00, \$0\.\d+\): same branch, recent, related/),
    scores: [
      {
        sessionId: id(1),
        total: 1,
        factors: { branch: 0.25, recency: 0.2, relevance: 0.25, health: 0.15, capacity: 0.15 },
        price: { tokens: 20_050, cache: 'cold', resumeUsd: expect.closeTo(0.0751875, 6), guessed: false },
      },
      { sessionId: id(2), total: 0.35, factors: { branch: 0, relevance: -0.15 } },
    ],
  })
})

test('a decision is kept: why shows it by its own id, by the chosen session and by any other that was weighed', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  session(2, [{ minutesAgo: 5, text: 'Write manual pages' }], { branch: 'docs' })
  // A page asks while a person types: that stores nothing.
  expect(await json('cc', 'select', 'Repair the lo', '--no-store')).not.toHaveProperty('decisionId')
  const { decisionId } = await json('cc', 'select', 'Repair the login form again')
  for (const ref of [String(decisionId), '00000001', id(2)]) {
    expect(await json('cc', 'why', ref)).toMatchObject({
      decisions: [
        {
          id: decisionId,
          task: 'Repair the login form again',
          repoPath: repo,
          selection: { action: 'resume' },
        },
      ],
    })
  }
  const shown = (await rockpool('cc', 'why', '00000001')).stdout
  expect(shown).toContain('Repair the login form again')
  expect(shown).toMatch(/SESSION +ABOUT +SCORE/)
  expect(await rockpool('cc', 'why', 'nobody')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('nobody'),
  })
})

test('a running native session is forked, never resumed, and never waited for', async () => {
  running(session(1, [{ minutesAgo: 1, text: 'Repair the login form' }]))
  const found = await json('cc', 'select', 'Repair the login form again')
  expect(found).toMatchObject({ action: 'fork', sessionId: id(1), scores: [{ price: { cache: 'cold' } }] })
})

test('three compactions: fresh, and the answer for people says why', async () => {
  session(1, [{ minutesAgo: 1, text: 'Repair the login form' }], { compactions: 3 })
  const { stdout: out, code } = await rockpool('cc', 'select', 'Repair the login form')
  expect(code).toBe(0)
  expect(out).toMatch(/^fresh: the only session, 00000001, is ruled out: compacted 3 times/)
})

test('an agent chooses among its own sessions only; the operator among all', async () => {
  session(1, [{ minutesAgo: 1, text: 'Repair the login form' }])
  expect(await json('cc', 'select', 'Repair the login form', '--agent', 'main')).toMatchObject({
    action: 'fresh',
    scores: [],
  })
  expect(await json('cc', 'select', 'Repair the login form')).toMatchObject({ action: 'resume' })
})

test('settings of agents override the general ones', async () => {
  session(1, [{ minutesAgo: 1, text: 'Something else entirely' }])
  mkdirSync(join(root, 'state'), { recursive: true })
  writeFileSync(
    join(root, 'state', 'rockpool.json'),
    JSON.stringify({ sessionSelection: { resumeThreshold: 0.5 } }),
  )
  expect(await json('cc', 'select', 'Repair the login form')).toMatchObject({
    action: 'resume',
    scores: [{ total: 0.6 }],
  })
  writeFileSync(
    join(root, 'state', 'rockpool.json'),
    JSON.stringify({
      sessionSelection: { resumeThreshold: 0.5 },
      agents: { defaults: { sessionSelection: { resumeThreshold: 0.9 } } },
    }),
  )
  expect(await json('cc', 'select', 'Repair the login form')).toMatchObject({ action: 'fresh' })
})

test('a task must be said, and not for a replay', async () => {
  expect(await rockpool('cc', 'select')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('task is missing'),
  })
  expect(await rockpool('cc', 'select', 'Repair it', '--eval')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('takes no task'),
  })
})

test('history is replayed over the whole machine, and over one repository', async () => {
  session(1, [
    { minutesAgo: 600, text: 'Repair the login form' },
    { minutesAgo: 60, text: 'Repair the login form again' },
  ])
  session(2, [{ minutesAgo: 300, text: 'Write manual pages' }], { branch: 'docs' })
  for (const args of [[], ['--repo', repo]]) {
    expect(await json('cc', 'select', '--eval', ...args)).toMatchObject({
      decisions: 2,
      resumed: 1,
      fresh: 1,
      results: [
        { method: 'selection', hitRate: 1, mrr: 1 },
        { method: 'most recent', hitRate: 0, mrr: 0.5 },
        {},
      ],
    })
  }
  const { stdout: out } = await rockpool('cc', 'select', '--eval')
  expect(out).toMatch(/selection +100% +1\.00/)
  expect(out).toContain('1 return to a session, 1 new session.')
})

test('project status is the same for programs and people', async () => {
  running(session(1, [{ minutesAgo: 1, text: 'Repair the login form' }]))
  writeFileSync(join(repo, 'README.md'), '')
  const status = await json('project', 'status')
  expect(status).toMatchObject({
    repo: { path: repo, name: 'shop', isGitRepo: true },
    git: { currentBranch: 'main', headCommitMessage: 'First', uncommittedChanges: ['?? README.md'] },
    sessions: { active: [{ sessionId: id(1), isRunning: true }], recent: [{}], ownRecent: [{}] },
    docs: { hasReadme: true },
    problems: [],
  })
  const { stdout: out } = await rockpool('project', 'status', '--repo', '.')
  expect(out).toContain('shop')
  expect(out).toContain('?? README.md')
  expect(out).toMatch(/00000001 +busy +main/)
  expect(await rockpool('project', 'status', '--repo', 'nowhere')).toMatchObject({ code: 3 })
})

test('with a credential the small model judges, leaves nothing on disk, and is not waited for when it hangs', async () => {
  const api = await startMessagesApi()
  try {
    session(1, [{ minutesAgo: 10, text: 'The sign-in page is broken' }])
    Object.assign(variables, { ANTHROPIC_BASE_URL: api.url, ANTHROPIC_API_KEY: 'test-key' })
    const scores = [{ index: 1, relevance: 0.9, reasoning: 'the same page' }]
    api.script('NEW TASK', [{ tools: [{ name: 'answer', input: { scores } }] }])
    const judged = await json('cc', 'select', 'Repair the login form')
    expect(judged).toMatchObject({
      action: 'resume',
      relevanceBy: 'model',
      scores: [{ total: 1, relevance: { relevance: 0.9, reasoning: 'the same page' } }],
    })
    expect(api.calls()).toHaveLength(1)
    expect(api.calls()[0]!.body).toMatchObject({ model: 'claude-haiku-5-5', max_tokens: 500 })
    expect(readdirSync(join(root, 'claude', 'projects'))).toEqual([repoPathToSlug(repo)])

    api.script('NEW TASK', [{ hang: true }])
    mkdirSync(join(root, 'state'), { recursive: true })
    writeFileSync(join(root, 'state', 'rockpool.json'), '{ sessionSelection: { relevanceTimeoutMs: 300 } }')
    const late = await json('cc', 'select', 'Repair the login form')
    expect(late).toMatchObject({
      action: 'fresh',
      relevanceBy: 'keywords',
      fallback: 'no answer within 0.3 s',
    })
    expect(await json('cc', 'select', 'Repair the login form', '--no-model')).toMatchObject({
      relevanceBy: 'keywords',
    })
  } finally {
    await api.close()
  }
})

const asOwner = { fresh: false, forkSession: false, multiTurnDisabled: false, by: ownerGives }

test('an unlabelled launch continues the chosen session, and why finds the decision by the launch', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  const app = await openApp(readEnvironment(variables), { version: '0' })
  try {
    const operator: Caller = { via: 'cli', scopes: ['admin'] }
    const launch = (prompt: string, more: Partial<LaunchInput> = {}) =>
      launchCoding(app, { ...asOwner, prompt, workdir: repo, ...more }, operator)
    const again = await launch('Repair the login form again')
    expect(again).toMatchObject({
      action: 'resume',
      session: { request: { resume: { sdkSessionId: id(1), fork: false } } },
    })
    const unlike = await launch('Something else entirely, with a label', { label: 'new' })
    expect(unlike).toMatchObject({ action: expect.stringMatching(/^(fresh|queue)$/) })
    const why = async (ref: string) => (await json('cc', 'why', ref))['decisions'] as Array<{ task: string }>
    expect(await why(again.session.id)).toMatchObject([{ task: 'Repair the login form again' }])
    expect(await why(again.session.name)).toMatchObject([{ task: 'Repair the login form again' }])
    expect(await why(unlike.session.id)).toMatchObject([{ label: 'new', selection: { action: 'fresh' } }])
  } finally {
    await app.close()
  }
})

test('a launch of a caller that may not approve does not continue a session that works without asking', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  const app = await openApp(readEnvironment(variables), { version: '0' })
  try {
    const runtime = makeOfflineAgent({ clock: app.clock, directions: true })
    app.runtime = async () => runtime
    const { pool } = app.coding()
    const launch = (prompt: string, more: Partial<LaunchInput>, { scopes, agentId }: Partial<Caller>) => {
      const caller: Caller = { via: 'rpc', scopes: scopes ?? ['read', 'write'], agentId }
      return launchCoding(app, { ...asOwner, prompt, workdir: repo, by: giverOf(caller), ...more }, caller)
    }
    const first = { resumeSessionId: id(1), label: 'login', agent: 'main', allowedTools: ['Bash'] }
    const wide = (await launch('Repair it', first, { scopes: ['admin'] })).session
    const waits = (turns: number) =>
      vi.waitFor(() => expect(pool.resolve(wide.id)).toMatchObject({ lifecycle: 'awaiting-input', turns }))
    await waits(1)
    app.config.coding.repos = { repo }
    const more = 'Repair the login form once more'
    const refusal = {
      code: 'refused',
      message: expect.stringContaining('has the use of Bash without asking') as string,
    }
    for (const caller of [{}, { agentId: 'main' }]) {
      for (const named of [{ label: 'login' }, { resumeSessionId: id(1) }, { label: 'login', name: 'mine' }])
        await expect(launch(more, named, caller)).rejects.toMatchObject(refusal)
      const fresh = await launch(more, {}, caller)
      expect(fresh).toMatchObject({ action: 'fresh', session: { request: { allowedTools: [] } } })
      expect(fresh.session.request.resume).toBeUndefined()
      const queued = { ...fresh.session, request: { ...fresh.session.request, label: 'login' } }
      expect(await app.coding().choice.chooseFor(queued)).toEqual({ action: 'fresh' })
      await pool.kill(fresh.session.id)
    }
    await waits(1)
    expect((await launch(more, { label: 'login' }, { scopes: ['admin'] })).session.id).toBe(wide.id)
  } finally {
    await app.close()
  }
})

test('a related launch, or one with the same label, goes to our own session that waits, as its next message', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  session(2, [{ minutesAgo: 20, text: 'Build a boat' }])
  const app = await openApp(readEnvironment(variables), { version: '0' })
  try {
    const runtime = makeOfflineAgent({ clock: app.clock, directions: true })
    app.runtime = async () => runtime
    const launch = (prompt: string, more: Partial<LaunchInput> = {}) =>
      launchCoding(app, { ...asOwner, prompt, workdir: repo, ...more }, { via: 'cli', scopes: ['admin'] })
    const { pool } = app.coding()
    const waits = (id: string, turns: number) =>
      vi.waitFor(() => expect(pool.resolve(id)).toMatchObject({ lifecycle: 'awaiting-input', turns }))
    const first = await launch('Repair the login form again')
    await waits(first.session.id, 1)
    expect(await launch('Repair the login form once more')).toMatchObject({
      action: 'resume',
      reason: expect.stringContaining(`it is the next message of ${first.session.name}`),
      session: { id: first.session.id },
    })
    await waits(first.session.id, 2)
    const labelled = await launch('Paint the boat', { label: 'boat', resumeSessionId: id(2) })
    await waits(labelled.session.id, 1)
    expect(await launch('Now the oars', { label: 'boat' })).toMatchObject({
      session: { id: labelled.session.id },
    })
    await waits(labelled.session.id, 2)
    expect(pool.list()).toHaveLength(2)
    // A launch with settings of its own continues the conversation in a session that has them.
    const other = await launch('And the sails', { label: 'boat', model: 'claude-haiku-5-5' })
    expect(other).toMatchObject({ action: 'resume', session: { request: { model: 'claude-haiku-5-5' } } })
    expect(pool.resolve(labelled.session.id)).toMatchObject({ lifecycle: 'suspended' })
    await waits(other.session.id, 1)
    const named = await launch('And the mast', { resumeSessionId: id(2) })
    await waits(named.session.id, 1)
    expect(pool.resolve(other.session.id)).toMatchObject({ lifecycle: 'suspended' })
  } finally {
    await app.close()
  }
})

test('the library has the seed’s functions under the seed’s names', async () => {
  session(1, [{ minutesAgo: 10, text: 'Repair the login form' }])
  const before = { ...process.env }
  const registry = join(root, '.openclaw', 'agents', 'main')
  mkdirSync(registry, { recursive: true })
  const rows = { sessions: { [`${repo}::gone`]: { sessionId: id(9), totalTurns: 3 } } }
  writeFileSync(join(registry, 'claude-code-sessions.json'), JSON.stringify(rows))
  Object.assign(process.env, variables)
  try {
    expect(await discoverSessions(repo)).toMatchObject([{ sessionId: id(1), source: 'native-only' }])
    expect(await discoverSessions()).toHaveLength(1)
    expect(await listAllSessions()).toMatchObject([{ sessionId: id(9), label: 'gone', totalTurns: 3 }])
    expect(await ccSessionFileExists(repo, id(1))).toBe(true)
    expect(await ccSessionFileExists(root, id(1))).toBe(true)
    expect(await ccSessionFileExists(repo, id(9))).toBe(false)
    const status = await gatherProjectStatus(repo, 'main')
    expect(status.sessions.recent).toHaveLength(1)
    const chosen = await selectSession('Repair the login form', repo, undefined, status)
    expect(chosen).toMatchObject({ action: 'resume', sessionId: id(1) })
    expect(await selectSession('x', repo, undefined, status, 'label')).toMatchObject({ action: 'fresh' })
    const relevance = { sessionId: id(1), relevance: 0, reasoning: '' }
    expect(
      scoreSession(status.sessions.recent[0]!, { currentBranch: 'main', relevance, now: Date.now() }).total,
    ).toBe(0.6)
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name]
    Object.assign(process.env, before)
  }
})
