import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test } from 'vitest'
import { makeCorpus } from '../../test/support/corpus.ts'
import { systemClock } from '../domain/clock.ts'
import type { Clock } from '../domain/clock.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import { silentLog } from '../domain/log.ts'
import { claudePidDomain, identifyProcess } from '../store/disk/process-identity.ts'
import { configDirsOf } from './list-files.ts'
import { openDiscovery } from './discovery.ts'
import { openclawSource } from './registries.ts'
import type { RegistryRow } from './registries.ts'

const fixtures = join(import.meta.dirname, '../../test/fixtures/claude-code')
const demo = '/home/dev/projects/demo'
type Listed = Record<string, unknown> & { sessionId: string }

const folders: string[] = []
const opened: Discovery[] = []

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'rockpool-discovery-'))
  folders.push(made)
  return made
}

function discover(
  configDirs: string[],
  options: { registries?: Array<() => Promise<RegistryRow[]>>; state?: string; clock?: Clock } = {},
): Discovery {
  const discovery = openDiscovery({
    configDirs,
    indexFile: join(options.state ?? folder(), 'index', 'discovery.sqlite'),
    registries: options.registries ?? [],
    clock: options.clock ?? systemClock,
    log: silentLog,
    timeZone: 'UTC',
  })
  opened.push(discovery)
  return discovery
}

function listedBySdk(configDir: string): Array<Record<string, unknown>> {
  const program = `import { listSessions } from '@anthropic-ai/claude-agent-sdk'
    console.log(JSON.stringify(await listSessions({})))`
  const env = { PATH: '/usr/bin:/bin', HOME: folder(), CLAUDE_CONFIG_DIR: configDir }
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }),
  )
}

/** A config directory with the recorded sessions, to be changed. */
function copyOfFixtures(): string {
  const copy = folder()
  cpSync(join(fixtures, 'projects'), join(copy, 'projects'), { recursive: true })
  return copy
}

const sessionFile = (configDir: string, id: string): string =>
  join(configDir, 'projects/-home-dev-projects-demo', `${id}.jsonl`)
const numbered = (digits: string): string => `${digits.padStart(8, '0')}-0000-4000-8000-00000000000a`

afterEach(async () => {
  for (const discovery of opened.splice(0)) await discovery.close()
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
})

test.each(['', 'old-versions/2.0.30', 'old-versions/2.1.197'])(
  'the sessions of fixtures/%s are those that the SDK lists, with its first prompts, titles and tags',
  async (part) => {
    const configDir = join(fixtures, part)
    const listed = listedBySdk(configDir)
    const { sessions } = await discover([configDir]).list()
    const flat = (text: unknown): unknown => (typeof text === 'string' ? text.replaceAll('\n', ' ') : text)
    const byId = (a: { sessionId: string }, b: { sessionId: string }): number =>
      a.sessionId < b.sessionId ? -1 : 1
    expect(
      sessions.sort(byId).map((session) => ({
        sessionId: session.sessionId,
        firstPrompt: flat(session.firstMessage),
        customTitle: session.title,
        tag: session.tag,
        cwd: session.repoPath,
        gitBranch: session.branch,
        archived: session.archived || undefined,
        // The SDK takes the first time it finds, also one inside a snapshot, some milliseconds later.
        createdAt: Math.floor((session.createdAt?.getTime() ?? 0) / 1000),
        fileSize: session.fileSizeBytes,
      })),
    ).toEqual(
      listed
        .map((info): Listed => ({ ...info, sessionId: String(info['sessionId']) }))
        .sort(byId)
        .map((info) => ({
          sessionId: info.sessionId,
          firstPrompt: info['firstPrompt'],
          customTitle: info['customTitle'],
          tag: info['tag'],
          cwd: info['cwd'],
          // What the SDK calls HEAD is no branch: one of these has no git.
          gitBranch: info['gitBranch'] === 'HEAD' ? '' : info['gitBranch'],
          archived: info['archived'],
          createdAt: Math.floor(Number(info['createdAt']) / 1000),
          fileSize: info['fileSize'],
        })),
    )
  },
)

test('files that are hardly sessions are listed exactly when the SDK lists them, under the same first prompt', async () => {
  const configDir = folder()
  const project = join(configDir, 'projects', '-p')
  mkdirSync(project, { recursive: true })
  const user = (content: unknown, more: object = {}): object => ({
    parentUuid: null,
    isSidechain: false,
    type: 'user',
    uuid: 'u',
    cwd: '/p',
    timestamp: '2026-11-15T19:50:00.000Z',
    message: { role: 'user', content },
    ...more,
  })
  const text = (...texts: string[]): object => user(texts.map((one) => ({ type: 'text', text: one })))
  const odd: object[][] = [
    [{ type: 'mode', mode: 'normal' }],
    [{ type: 'queue-operation', operation: 'enqueue', content: 'hello' }],
    [{ type: 'summary', summary: 'A summary' }],
    [{ type: 'ai-title', aiTitle: 'A title' }],
    [{ type: 'custom-title', customTitle: 'A title' }],
    [{ type: 'last-prompt', lastPrompt: 'what' }],
    [{ type: 'tag', tag: 'x' }],
    [user('<command-name>/model</command-name>\n<command-message>model</command-message>')],
    [user('<local-command-caveat>x</local-command-caveat>', { isMeta: true })],
    [user('This session is being continued', { isCompactSummary: true })],
    [user('hello', { isSidechain: true })],
    [user([{ type: 'tool_result', tool_use_id: 't', content: 'x' }])],
    [text('[Request interrupted by user]')],
    [user('<bash-input>ls</bash-input>')],
    [user('<local-command-stdout>x</local-command-stdout>')],
    [user('<task-notification>x</task-notification>')],
    [text('<ide_opened_file>x</ide_opened_file>', 'a real question')],
    [
      user([
        { type: 'image', source: {} },
        { type: 'text', text: 'what is this' },
      ]),
    ],
    [user('')],
    [user('   ')],
    [user('<div>mend this</div>')],
    [user('hello', { cwd: undefined })],
    [user('hello'), { type: 'relocated', relocatedCwd: '/q' }],
    [user('hello'), { type: 'tag', tag: 'x' }, { type: 'tag', tag: '' }],
    [{ foo: 1 }],
  ]
  odd.forEach((records, i) => {
    const file = join(project, `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000.jsonl`)
    writeFileSync(file, records.map((record) => JSON.stringify(record)).join('\n'))
  })
  const facts = (id: unknown, first: unknown, tag: unknown, cwd: unknown): string =>
    JSON.stringify([id, first ?? '', tag, cwd ?? ''])
  const { sessions } = await discover([configDir]).list()
  // A summary stands in for a first prompt where there is none; the SDK has a field of its own for it.
  const ours = sessions.map((one) =>
    facts(one.sessionId, one.firstMessage.replace('A summary', ''), one.tag, one.repoPath),
  )
  const theirs = listedBySdk(configDir).map((one) =>
    facts(one['sessionId'], one['firstPrompt'], one['tag'], one['cwd']),
  )
  expect(ours.sort()).toEqual(theirs.sort())
  expect(ours.length).toBeGreaterThan(8)
})

test('a first message is shown with at most 200 characters, and never half of one', async () => {
  const configDir = folder()
  const project = join(configDir, 'projects', '-p')
  mkdirSync(project, { recursive: true })
  const sessionId = '00000000-0000-4000-8000-000000000200'
  const message = { role: 'user', content: `${'a'.repeat(199)}🐚 and more` }
  const record = { type: 'user', uuid: 'u1', parentUuid: null, sessionId, cwd: '/p', message }
  const at = { timestamp: '2026-11-01T10:00:00.000Z', version: '2.1.0' }
  writeFileSync(join(project, `${sessionId}.jsonl`), `${JSON.stringify({ ...record, ...at })}\n`)
  expect((await discover([configDir]).get(sessionId))?.firstMessage).toBe('a'.repeat(199))
})

test('a session that a usage limit stopped is limited until the reset, or until somebody continues it', async () => {
  const configDir = folder()
  const project = join(configDir, 'projects', '-p')
  mkdirSync(project, { recursive: true })
  const sessionId = numbered('201')
  const file = join(project, `${sessionId}.jsonl`)
  const common = { sessionId, cwd: '/p', version: '2.1.0', timestamp: '2026-11-01T10:00:00.000Z' }
  const until = Date.parse('2026-11-01T12:00:00Z')
  const info = { status: 'rejected', resetsAt: until / 1_000, rateLimitType: 'five_hour' }
  const records = [
    { ...common, type: 'user', uuid: 'u1', message: { role: 'user', content: 'Fix it' } },
    {
      ...common,
      type: 'assistant',
      uuid: 'u2',
      isApiErrorMessage: true,
      error: 'rate_limit',
      apiErrorParams: { rate_limit_info: info },
      message: { id: 'm', role: 'assistant', model: '<synthetic>', content: [] },
    },
  ]
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  let now = until - 60_000
  const discovery = discover([configDir], { clock: { ...systemClock, now: () => now } })
  const shown = async () => {
    const [session] = (await discovery.list()).sessions
    return { state: session!.state, limit: session!.limit }
  }
  const limit = { until, window: 'five_hour' }
  expect(await shown()).toEqual({ state: 'limited', limit })
  now = until + 1
  expect(await shown()).toEqual({ state: 'stopped', limit: undefined })
  now = until - 60_000
  appendFileSync(file, `${JSON.stringify({ ...records[0], uuid: 'u3' })}\n`)
  expect(await shown()).toEqual({ state: 'stopped', limit: undefined })
})

test('two directories with one slug keep their sessions apart, by the cwd inside', async () => {
  const discovery = discover([fixtures])
  const dotted = await discovery.list({ repoPath: '/home/dev/projects/my.app_v2' })
  const dashed = await discovery.list({ repoPath: '/home/dev/projects/my-app-v2' })
  expect(dotted.sessions.map((session) => session.firstMessage)).toEqual(['Hi from my.app_v2'])
  expect(dashed.sessions.map((session) => session.firstMessage)).toEqual(['Hi from my-app-v2'])
  expect((await discovery.list({ repoPath: demo })).total).toBe(26)
  expect((await discovery.list({ repoPath: '/home/dev/projects/dem' })).total).toBe(0)
})

test("a sub-agent's tokens stand beside its session's, and its cost is in it", async () => {
  const session = await discover([fixtures]).get(numbered('9'))
  expect(session).toMatchObject({
    totalInputTokens: 42,
    totalOutputTokens: 80,
    subagentCount: 1,
    subagentTokens: { inputTokens: 1500, outputTokens: 50, cacheReadTokens: 0, cacheCreationTokens: 0 },
  })
  expect(session.costUsd).toBeCloseTo(session.reportedCostUsd!, 9)
})

test('context, cache and window are those of the last call, and a compaction shrinks the context', async () => {
  const clock = { ...systemClock, now: () => Date.parse('2026-11-15T19:54:00Z') }
  const discovery = discover([fixtures], { clock })
  expect(await discovery.get(numbered('1'))).toMatchObject({
    contextTokens: 9129,
    contextWindow: 200_000,
    model: 'claude-sonnet-4-5-20250929',
    cacheTtlMinutes: 5,
    warm: true,
    promptCount: 2,
    replyCount: 2,
    archived: true,
  })
  const later = { ...systemClock, now: () => Date.parse('2026-11-15T19:56:00Z') }
  expect((await discover([fixtures], { clock: later }).get(numbered('1'))).warm).toBe(false)
  expect((await discovery.get(numbered('1c'))).contextTokens).toBe(2_975)
  expect((await discovery.get(numbered('d'))).budgetUsedPct).toBeCloseTo(0.75)
  expect((await discovery.get('d767ddd6')).forkedFrom).toBe(numbered('7'))
  // A fork by resuming has no marker, only the same beginning.
  expect((await discovery.get(numbered('6'))).forkedFrom).toBe(numbered('5'))
  expect((await discovery.get(numbered('5'))).forkedFrom).toBeUndefined()
})

test('a marker in the first message does not set the owner; a registry row and a tag do', async () => {
  const configDir = copyOfFixtures()
  const line = readFileSync(sessionFile(configDir, numbered('1')), 'utf8').split('\n')[2]!
  const id = '99999999-0000-4000-8000-00000000000a'
  const text = line
    .replace('What does this project do?', '[openclaw:agent=admin] hi')
    .replaceAll(numbered('1'), id)
  writeFileSync(sessionFile(configDir, id), `${text}\n`)
  const rows: RegistryRow[] = [
    { sessionId: numbered('2'), source: 'rockpool', agentId: 'builder', label: 'sum' },
  ]
  const discovery = discover([configDir], { registries: [async () => rows] })
  const marked = await discovery.get(id)
  expect([marked.agentId, marked.source, marked.originMarker]).toEqual([undefined, 'native-only', 'admin'])
  expect((await discovery.list({ agentId: 'admin' })).total).toBe(0)
  expect(await discovery.get(numbered('2'))).toMatchObject({
    agentId: 'builder',
    source: 'rockpool',
    label: 'sum',
  })
  expect((await discovery.get(numbered('19'))).agentId).toBe('main')
})

test("OpenClaw's registry, session rows and database name owners, labels, costs and tasks", async () => {
  const state = folder()
  const agent = join(state, 'agents', 'main')
  mkdirSync(join(agent, 'sessions'), { recursive: true })
  mkdirSync(join(agent, 'agent'))
  const entry = {
    sessionId: numbered('3'),
    createdAt: '2026-11-15T19:00:00Z',
    totalCostUsd: 1.5,
    totalTurns: 3,
    taskHistory: [{ task: 'first' }, { task: 'Add a multiply helper' }],
  }
  writeFileSync(
    join(agent, 'claude-code-sessions.json'),
    JSON.stringify({ sessions: { [demo]: entry, [`${demo}::nice`]: { sessionId: numbered('4') } } }),
  )
  writeFileSync(
    join(agent, 'sessions', 'sessions.json'),
    JSON.stringify({ 'agent:main:main': { cliSessionIds: { 'claude-cli': numbered('5') }, label: 'chat' } }),
  )
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(join(agent, 'agent', 'openclaw-agent.sqlite'))
  database.exec('CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, entry_json TEXT)')
  database
    .prepare('INSERT INTO session_nodes VALUES (?, ?)')
    .run(
      'agent:main:x',
      JSON.stringify({ cliSessionBindings: { 'claude-cli': { sessionId: numbered('6') } } }),
    )
  database.close()
  const discovery = discover([fixtures], { registries: [openclawSource(state, silentLog)] })
  expect(await discovery.get(numbered('3'))).toMatchObject({
    source: 'openclaw',
    agentId: 'main',
    totalCostUsd: 1.5,
    totalTurns: 3,
    lastTask: 'Add a multiply helper',
  })
  expect((await discovery.get(numbered('4'))).label).toBe('nice')
  const ids = (await discovery.list({ source: 'openclaw' })).sessions.map((session) => session.sessionId)
  expect(ids.sort()).toEqual([numbered('3'), numbered('4'), numbered('5'), numbered('6')])
})

test('running means that the process lives: a number given out again, another boot or a dead one does not (3.9 no. 5)', async () => {
  const configDir = copyOfFixtures()
  mkdirSync(join(configDir, 'sessions'))
  const self = identifyProcess(process.pid)!
  const entry = JSON.parse(readFileSync(join(fixtures, 'sessions', 'waiting.json'), 'utf8'))
  const put = (name: string, more: object): void =>
    writeFileSync(join(configDir, 'sessions', name), JSON.stringify({ ...entry, ...more }))
  const live = { pid: self.pid, procStart: self.startTime, pidDomain: claudePidDomain() }
  put('1.json', { ...live, sessionId: numbered('1') })
  put('2.json', { ...live, sessionId: numbered('2'), procStart: '1' })
  put('3.json', { ...live, sessionId: numbered('3'), pidDomain: 'linux:other:pid:[1]' })
  put('4.json', { ...live, sessionId: numbered('4'), pid: 2 ** 22 + 1 })
  writeFileSync(join(configDir, 'sessions', '5.abc.key'), 'secret')
  writeFileSync(join(configDir, 'sessions', '6.json'), '{"pid":')
  const { sessions } = await discover([configDir]).list({ running: true })
  expect(sessions.map(({ sessionId, status, waitingFor }) => ({ sessionId, status, waitingFor }))).toEqual([
    { sessionId: numbered('1'), status: 'waiting', waitingFor: 'permission prompt' },
  ])
})

test('a second look reads only what was appended, and sees a file that was cut, replaced or removed', async () => {
  const configDir = copyOfFixtures()
  const state = folder()
  const file = sessionFile(configDir, numbered('1'))
  const before = await discover([configDir], { state }).get(numbered('1'))
  const line = readFileSync(file, 'utf8')
    .split('\n')
    .find((text) => text.includes('"type":"assistant"'))!
  appendFileSync(
    file,
    `${line.replaceAll(/msg_\w+/g, 'msg_new').replaceAll('"output_tokens":22', '"output_tokens":1000')}\n`,
  )
  const second = discover([configDir], { state })
  const after = await second.get(numbered('1'))
  expect(after.totalOutputTokens).toBe(before.totalOutputTokens + 1000)
  expect(after.lineCount).toBe(before.lineCount + 1)
  truncateSync(file, readFileSync(file, 'utf8').indexOf('\n', 1000) + 1)
  expect((await second.get(numbered('1'))).totalOutputTokens).toBe(0)
  writeFileSync(file, readFileSync(sessionFile(configDir, numbered('2'))))
  expect((await second.get(numbered('1'))).totalOutputTokens).toBe(320)
  rmSync(file)
  await expect(second.get(numbered('1'))).rejects.toMatchObject({ code: 'not-found' })
})

test('a look at names, sizes and times tells whether anything changed, and after it some sessions are known without the rest', async () => {
  const configDir = copyOfFixtures()
  const state = folder()
  const owner: RegistryRow[] = []
  const open = (): Discovery => discover([configDir], { state, registries: [async () => owner] })
  const first = open()
  const snapshot = await first.snapshot()
  const { stamp } = snapshot
  expect(await snapshot.transcripts()).toEqual(await first.transcripts())
  const { sessions } = await first.list()
  const second = open()
  expect((await second.snapshot()).stamp).toBe(stamp)
  const ids = sessions.slice(0, 3).map(({ sessionId }) => sessionId)
  const about = (each: (typeof sessions)[number]): unknown[] => [each.sessionId, each.title, each.costUsd]
  expect((await second.known(ids)).map(about)).toEqual(sessions.slice(0, 3).map(about))
  owner.push({ sessionId: ids[0]!, source: 'openclaw', agentId: 'main' })
  const owned = (await second.snapshot()).stamp
  expect(owned).not.toBe(stamp)
  appendFileSync(sessions[0]!.filePath, '{}\n')
  expect((await second.snapshot()).stamp).not.toBe(owned)
  expect(await second.known(ids)).toHaveLength(3)
})

test('damaged facts in the index are read again from the transcript', async () => {
  const state = folder()
  const first = discover([fixtures], { state })
  const { total } = await first.list()
  await first.close()
  opened.splice(0)
  const index = new DatabaseSync(join(state, 'index', 'discovery.sqlite'))
  const damage = "UPDATE facts SET facts = replace(facts, '\"', '!')"
  index.exec(damage)
  index.close()
  const { sessions } = await discover([fixtures], { state }).list()
  expect(sessions).toHaveLength(total)
  const again = new DatabaseSync(join(state, 'index', 'discovery.sqlite'))
  again.exec(`${damage}; UPDATE file SET list_facts = replace(list_facts, '"', '!')`)
  again.close()
  expect((await discover([fixtures], { state }).list()).sessions).toEqual(sessions)
})

test('a damaged index is rebuilt', async () => {
  const state = folder()
  const first = discover([fixtures], { state })
  const { total } = await first.list()
  await first.close()
  opened.splice(0)
  const file = join(state, 'index', 'discovery.sqlite')
  writeFileSync(file, Buffer.alloc(statSync(file).size, 'not a database '))
  expect((await discover([fixtures], { state }).list()).total).toBe(total)
})

test('an id may be given by its beginning, if that names one session', async () => {
  const discovery = discover([fixtures])
  expect((await discovery.get('D767')).sessionId).toBe('d767ddd6-1f6e-4332-bb10-4c2602e4a919')
  await expect(discovery.get('0000')).rejects.toMatchObject({ code: 'ambiguous' })
  await expect(discovery.get('')).rejects.toMatchObject({ code: 'not-found' })
})

test('a generated corpus has exactly the tokens that were put into it, over all files and in each session', async () => {
  const configDir = folder()
  const corpus = makeCorpus({ configDir, files: 60, bytes: 3_000_000, longLineBytes: 5_000_000 })
  const discovery = discover([configDir])
  const { totals, by } = await discovery.costs({ by: 'session' })
  expect(totals).toMatchObject(corpus.totals)
  expect(by.reduce((sum, line) => sum + line.outputTokens, 0)).toBe(corpus.totals.outputTokens)
  const { sessions } = await discovery.list()
  expect(sessions).toHaveLength(60)
  for (const expected of corpus.sessions) {
    const found = sessions.find((session) => session.sessionId === expected.sessionId)!
    expect({
      totalInputTokens: found.totalInputTokens,
      totalOutputTokens: found.totalOutputTokens,
      cacheReadTokens: found.cacheReadTokens,
      cacheCreationTokens: found.cacheCreationTokens,
      lineCount: found.lineCount,
      messageCount: found.messageCount,
      promptCount: found.promptCount,
      branch: found.branch,
      repoPath: found.repoPath,
      subagentTokens: found.subagentTokens.outputTokens,
    }).toEqual({
      totalInputTokens: expected.inputTokens,
      totalOutputTokens: expected.outputTokens,
      cacheReadTokens: expected.cacheReadTokens,
      cacheCreationTokens: expected.cacheCreationTokens,
      lineCount: expected.lines,
      messageCount: expected.messages,
      promptCount: expected.prompts,
      branch: expected.branch,
      repoPath: expected.cwd,
      subagentTokens: expected.subagent?.outputTokens ?? 0,
    })
  }
})

test('costs are grouped by repository, model, day, agent and session, and can begin at a time', async () => {
  const discovery = discover([fixtures])
  const byRepo = await discovery.costs({ by: 'repo' })
  expect(byRepo.by[0]).toMatchObject({ key: demo, name: demo })
  expect(byRepo.totals).toMatchObject({ inputTokens: 89_630, outputTokens: 5_448, cacheReadTokens: 981_300 })
  for (const by of ['model', 'day', 'agent', 'session'] as const) {
    const report = await discovery.costs({ by })
    expect(report.totals).toEqual(byRepo.totals)
    expect(report.by.reduce((sum, line) => sum + line.costUsd, 0)).toBeCloseTo(byRepo.totals.costUsd, 9)
  }
  const { by: days, totals } = await discovery.costs({ by: 'day' })
  expect(days.map((line) => line.key)).toEqual(['2026-11-15'])
  const ofModels = Object.values(days[0]!.models!).reduce((sum, usd) => sum + usd, 0)
  expect(ofModels).toBeCloseTo(totals.costUsd, 9)
  const spentIn = async (firstDay: string, lastDay: string): Promise<number> =>
    (await discovery.costs({ firstDay, lastDay })).totals.outputTokens
  expect(await spentIn('2026-11-15', '2026-11-15')).toBe(totals.outputTokens)
  expect(await spentIn('2026-11-16', '2026-11-20')).toBe(0)
  expect(await spentIn('2026-11-01', '2026-11-14')).toBe(0)
  expect((await discovery.costs({ since: Date.parse('2026-11-16') })).totals.outputTokens).toBe(0)
})

test('a message in two files that began at the same moment is charged to the same one, whichever was scanned first', async () => {
  const configDir = folder()
  const put = (number: string): void => {
    const cwd = `/home/dev/projects/${number}`
    const usage = { input_tokens: 10, output_tokens: 20 }
    const message = { id: 'msg_1', role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage }
    const record = { uuid: 'a', requestId: 'req_1', timestamp: '2026-11-15T10:00:00.000Z', cwd }
    const user = { ...record, type: 'user', message: { role: 'user', content: 'do it' } }
    const lines = [user, { ...record, type: 'assistant', message }].map((line) => JSON.stringify(line))
    const file = join(configDir, 'projects', `-${number}`, `${numbered(number)}.jsonl`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${lines.join('\n')}\n`)
  }
  put('8')
  const discovery = discover([configDir])
  await discovery.list()
  put('7')
  const charged = (await discovery.costs({ by: 'repo' })).by.map(({ key, messages }) => [key, messages])
  expect(charged).toEqual([['/home/dev/projects/7', 1]])
  const fresh = await discover([configDir]).costs({ by: 'repo' })
  expect(fresh.by.map(({ key, messages }) => [key, messages])).toEqual(charged)
})

test('while watching, an appended line is seen soon, and answers come from memory', async () => {
  const configDir = copyOfFixtures()
  const discovery = discover([configDir])
  const changed: string[] = []
  let noticed = (): void => {}
  const stop = await discovery.watch((sessionId) => {
    changed.push(sessionId)
    noticed()
  })
  const file = sessionFile(configDir, numbered('7'))
  const before = await discovery.get(numbered('7'))
  const seen = new Promise<void>((resolve) => (noticed = resolve))
  appendFileSync(file, `{"type":"custom-title","customTitle":"new name","sessionId":"${numbered('7')}"}\n`)
  await seen
  const after = await discovery.get(numbered('7'))
  expect([changed, after.title, after.lineCount]).toEqual([[numbered('7')], 'new name', before.lineCount + 1])
  const fresh = join(configDir, 'projects/-new/aaaaaaaa-0000-4000-8000-00000000000a.jsonl')
  const seenNew = new Promise<void>((resolve) => (noticed = resolve))
  mkdirSync(dirname(fresh))
  writeFileSync(fresh, readFileSync(file))
  await seenNew
  expect((await discovery.list()).total).toBe(31)
  await stop()
})

test('while watching, the config directory of a first start of Claude is noticed, with the session in it', async () => {
  const fixtures = copyOfFixtures()
  const configDir = join(mkdtempSync(join(tmpdir(), 'rockpool-home-')), '.claude')
  const discovery = discover([configDir])
  const { promise, resolve } = Promise.withResolvers<string>()
  const stop = await discovery.watch(resolve)
  expect((await discovery.list()).total).toBe(0)
  const file = join(configDir, 'projects/-new', `${numbered('7')}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, readFileSync(sessionFile(fixtures, numbered('7'))))
  expect(await promise).toBe(numbered('7'))
  expect((await discovery.list()).total).toBe(1)
  await stop()
  // The periodic check would find it later.
}, 20_000)

test('while watching, a session that starts to wait is reported, and no other file is read for it', async () => {
  const configDir = copyOfFixtures()
  mkdirSync(join(configDir, 'sessions'))
  const discovery = discover([configDir])
  let noticed = (_change: string[]): void => {}
  const stop = await discovery.watch((sessionId, why) => noticed([sessionId, why]))
  const self = identifyProcess(process.pid)!
  const seen = new Promise<string[]>((resolve) => (noticed = resolve))
  const entry = {
    pid: self.pid,
    procStart: self.startTime,
    pidDomain: claudePidDomain(),
    sessionId: numbered('2'),
  }
  writeFileSync(
    join(configDir, 'sessions', `${self.pid}.json`),
    JSON.stringify({ ...entry, status: 'waiting' }),
  )
  expect(await seen).toEqual([numbered('2'), 'status'])
  expect((await discovery.list({ running: true })).sessions.map((session) => session.status)).toEqual([
    'waiting',
  ])
  await stop()
})

test('a session whose transcript was just deleted is not found, before the index knows of it', async () => {
  const configDir = copyOfFixtures()
  const discovery = discover([configDir])
  const stop = await discovery.watch(() => {})
  const { sessionId, filePath } = await discovery.get(numbered('2'))
  rmSync(filePath)
  await expect(discovery.health(sessionId)).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining(sessionId),
  })
  await stop()
})

test('config directories come from the environment, the home and the configuration, each once', () => {
  const home = folder()
  mkdirSync(join(home, '.claude'))
  const discovery = { configDirs: ['~/other'], onlyConfigured: false }
  expect(configDirsOf({ home, claudeConfigDir: `/a, ${home}/.claude`, discovery })).toEqual([
    '/a',
    join(home, '.claude'),
    join(home, 'other'),
    join(home, '.config/claude'),
  ])
  expect(configDirsOf({ home, discovery: { configDirs: [], onlyConfigured: true } })).toEqual([])
})

test('listing never writes into the config directory', async () => {
  const configDir = copyOfFixtures()
  const names = (): string[] => readdirSync(configDir, { recursive: true }).map(String).sort()
  const before = names()
  await discover([configDir]).list()
  expect(names()).toEqual(before)
})
