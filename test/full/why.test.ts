// `rockpool why` on a repository that the real Claude binary edits: who wrote each line, after everything that git does to commits.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LineAnswer } from '../../src/domain/why-answers.ts'
import { claudeBinary, makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { runClaude } from '../support/recorded-sessions.ts'

const missing = existsSync(claudeBinary) ? undefined : 'the Claude binary is not installed'
const program = join(import.meta.dirname, '../../bin/rockpool.js')
let api: MessagesApi
let home: ClaudeHome
let counter = 0

beforeAll(async () => {
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'why' })
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.org')
  writeFileSync(join(home.project, 'README.md'), 'A harbour.\n')
  commit('Begin')
})
afterAll(async () => {
  await api.close()
  home.remove()
})

function git(...args: string[]): string {
  const env = { ...home.variables, GIT_EDITOR: 'true' }
  return execFileSync('git', args, { cwd: home.project, env, encoding: 'utf8' }).trim()
}

function commit(subject: string): string {
  git('add', '-A')
  git('commit', '-q', '-m', subject)
  return git('rev-parse', 'HEAD')
}

const inRepo = (file: string): string => join(home.project, file)
const read = (file: string): string => readFileSync(inRepo(file), 'utf8')

interface Call {
  name: string
  input: Record<string, unknown>
}

/** A session of the real binary that makes these calls; resolves to its id. */
async function session(prompt: string, ...calls: Call[]): Promise<string> {
  const id = randomUUID()
  const key = `task-${++counter}`
  api.script(key, [...calls.map((call) => ({ text: `Now ${call.name}.`, tools: [call] })), { text: 'Done.' }])
  await runClaude(home, `${prompt} ${key}`, '--session-id', id, '--permission-mode', 'acceptEdits')
  return id
}

const write = (file: string, content: string): Call => ({
  name: 'Write',
  input: { file_path: inRepo(file), content },
})
const edit = (file: string, from: string, to: string): Call[] => [
  { name: 'Read', input: { file_path: inRepo(file) } },
  { name: 'Edit', input: { file_path: inRepo(file), old_string: from, new_string: to } },
]
const bash = (command: string): Call => ({ name: 'Bash', input: { command, description: 'Run it' } })

function rockpool(args: string[], path = home.variables['PATH']!): Record<string, unknown> {
  const env = { ...home.variables, PATH: path }
  const stdout = execFileSync(process.execPath, [program, ...args, '--json'], {
    cwd: home.project,
    env,
    encoding: 'utf8',
  })
  return JSON.parse(stdout) as Record<string, unknown>
}

function why(file: string, text: string): LineAnswer {
  const line =
    read(file)
      .split('\n')
      .findIndex((one) => one.includes(text)) + 1
  expect(line, text).toBeGreaterThan(0)
  return rockpool(['why', `${file}:${line}`]) as unknown as LineAnswer
}

function writer(file: string, text: string): [string | undefined, string] {
  const answer = why(file, text)
  return [answer.session?.sessionId, answer.confidence]
}

const code = (name: string): string =>
  `export function ${name}(ship: string): Berth {\n  const berth = findBerthFor${name}(ship)\n  if (!berth) throw new Error('${name}: no berth is free.')\n  return moorAt${name}(berth)\n}\n`

test('the real binary: edits, two sessions, a person, and an edit that failed', async (ctx) => {
  if (missing) ctx.skip(missing)
  const first = await session('Write the pier', write('pier.ts', code('pier')))
  commit('Add the pier')
  const second = await session(
    'Say it kindly',
    ...edit('pier.ts', 'no berth is free.', 'Please wait for a berth.'),
  )
  commit('Be kind')
  writeFileSync(inRepo('pier.ts'), read('pier.ts').replace('  const', '  logArrivalOf(ship)\n  const'))
  commit('By hand')
  expect(writer('pier.ts', 'findBerth')).toEqual([first, 'exact'])
  expect(writer('pier.ts', 'Please wait')).toEqual([second, 'exact'])
  expect(writer('pier.ts', 'logArrival')).toEqual([undefined, 'unknown'])
  expect(why('pier.ts', 'Please wait')).toMatchObject({
    prompt: expect.stringContaining('Say it kindly'),
    said: 'Now Edit.',
    earlier: [{ session: { sessionId: first } }],
  })

  const failed = edit('pier.ts', 'this text is not there at all', 'const neverApplied = true')
  const tried = await session('Try something', ...failed)
  writeFileSync(inRepo('pier.ts'), `${read('pier.ts')}const neverApplied = true\n`)
  commit('Apply it by hand')
  expect(writer('pier.ts', 'neverApplied')).toEqual([undefined, 'unknown'])

  // A person's line in the middle of what a session wrote, in the same commit.
  const third = await session('Write the quay', write('quay.ts', code('quay')))
  writeFileSync(inRepo('quay.ts'), read('quay.ts').replace('  if', '  ringTheBellFor(ship)\n  if'))
  commit('Add the quay')
  expect(writer('quay.ts', 'ringTheBell')).toEqual([undefined, 'unknown'])
  expect(writer('quay.ts', 'findBerth')).toEqual([third, 'exact'])

  // A person runs a formatter over lines of sessions and of a person.
  const format = (text: string): string => text.replaceAll("'", '"').replaceAll(/([)e"])$/gm, '$1;')
  for (const file of ['pier.ts', 'quay.ts']) writeFileSync(inRepo(file), format(read(file)))
  commit('Format')
  expect(why('quay.ts', 'findBerth')).toMatchObject({
    session: { sessionId: third },
    evidence: 'reformatted',
    commit: { subject: 'Add the quay' },
  })
  expect(writer('pier.ts', 'Please wait')).toEqual([second, 'likely'])
  expect(writer('quay.ts', 'ringTheBell')).toEqual([undefined, 'unknown'])
  expect(writer('pier.ts', 'logArrival')).toEqual([undefined, 'unknown'])
  expect(rockpool(['why', 'HEAD'])).toMatchObject({ confidence: 'unknown' })
  expect(rockpool(['why', 'session', tried])).toMatchObject({ aliveLines: 0, commits: [] })
})

test('the real binary asks the tool `why` of the bridge before it changes code', async (ctx) => {
  if (missing) ctx.skip(missing)
  const id = await session('Write the beacon', write('beacon.ts', code('beacon')))
  commit('Add the beacon')
  const file = join(home.root, 'mcp.json')
  const server = { command: process.execPath, args: [program, 'mcp', '--bridge'], env: home.variables }
  writeFileSync(file, JSON.stringify({ mcpServers: { 'openclaw-bridge': server } }))
  const why = { name: 'mcp__openclaw-bridge__why', input: { target: 'beacon.ts:2' } }
  api.script('Why is the beacon so', [{ text: 'I ask.', tools: [why] }, { text: 'Now I know.' }])
  const options = ['--mcp-config', file, '--strict-mcp-config', '--allowedTools', 'mcp__openclaw-bridge']
  await runClaude(home, 'Why is the beacon so', ...options)
  const messages = api.calls().at(-1)!.body.messages ?? []
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const results = blocks.filter(({ type }) => type === 'tool_result').map((block) => JSON.stringify(block))
  expect(results.at(-1)).toContain(id)
  expect(results.at(-1)).toContain('Write the beacon')
})

test('the real binary: a formatter, a here-document and a commit by the session', async (ctx) => {
  if (missing) ctx.skip(missing)
  const id = await session(
    'Write and format',
    write(
      'buoy.js',
      "const lights={red:'port side light',green:'starboard side light'}\nmodule.exports=lights\n",
    ),
    bash('sed -i "s/\'/\\"/g; s/=/ = /; s/:/: /g; s/,/, /g" buoy.js'),
    bash("cat > chart.txt <<'END'\nthe chart of the northern harbour\nEND"),
    bash("git add -A && git commit -m 'Lights and a chart'"),
  )
  expect(writer('buoy.js', 'lights')).toEqual([id, 'likely'])
  expect(why('buoy.js', 'lights').evidence).toBe('reformatted')
  expect(writer('chart.txt', 'northern')).toEqual([id, 'exact'])
  expect(rockpool(['why', 'HEAD'])).toMatchObject({ session: { sessionId: id }, confidence: 'exact' })
})

test('the real binary: revert, cherry-pick, rebase and squash keep the session', async (ctx) => {
  if (missing) ctx.skip(missing)
  git('checkout', '-q', '-b', 'side')
  const id = await session(
    'Write two files',
    write('dock.ts', code('dock')),
    write('crane.ts', code('crane')),
  )
  git('add', 'dock.ts')
  git('commit', '-q', '-m', 'Add the dock')
  const dock = git('rev-parse', 'HEAD')
  commit('Add the crane')
  writeFileSync(
    inRepo('crane.ts'),
    read('crane.ts').replace('  return', '  greaseTheHookOf(berth)\n  return'),
  )
  commit('By hand on the branch')
  git('checkout', '-q', 'main')
  writeFileSync(inRepo('meanwhile.txt'), 'something else happened\n')
  commit('Meanwhile')
  git('cherry-pick', dock)
  git('revert', '--no-edit', 'HEAD')
  git('revert', '--no-edit', 'HEAD')
  expect(writer('dock.ts', 'findBerth')).toEqual([id, 'exact'])
  git('rebase', '-q', 'main', 'side')
  expect(writer('crane.ts', 'findBerth')).toEqual([id, 'exact'])
  git('checkout', '-q', 'main')
  git('merge', '-q', '--squash', 'side')
  commit('Everything at once')
  expect(writer('crane.ts', 'moorAt')).toEqual([id, 'exact'])
  expect(writer('crane.ts', 'greaseTheHook')).toEqual([undefined, 'unknown'])
  const alive = { aliveLines: 10, files: [{ lines: 5 }, { lines: 5 }] }
  expect(rockpool(['why', 'session', id])).toMatchObject(alive)
  expect(rockpool(['cc', 'info', id])).toMatchObject({ lines: alive })
})

test('a pull request is read with gh, and annotated without prompts', async (ctx) => {
  if (missing) ctx.skip(missing)
  const id = await session('Keep this herring secret', write('secret.ts', code('secret')))
  const sha = commit('Add the secret')
  const bin = join(home.root, 'bin')
  mkdirSync(bin)
  const pr = {
    number: 3,
    title: 'Secrets',
    url: 'https://example.org/3',
    commits: [{ oid: sha }, { oid: 'f'.repeat(40) }],
    mergeCommit: null,
  }
  writeFileSync(
    join(bin, 'gh'),
    `#!/bin/sh\n[ "$1 $2 $3" = "pr view 3" ] || exit 1\ncat <<'END'\n${JSON.stringify(pr)}\nEND\n`,
    { mode: 0o755 },
  )
  const path = `${bin}:${home.variables['PATH']}`
  const answer = rockpool(['why', '--pr', '3', '--annotate'], path)
  expect(answer).toMatchObject({
    kind: 'pr',
    missing: 1,
    unknownLines: 0,
    sessions: [{ sessionId: id, lines: 5 }],
  })
  expect(answer['markdown']).toContain(id.slice(0, 8))
  expect(answer['markdown']).not.toContain('herring')
  expect(rockpool(['why', '--pr', '3', '--annotate', '--with-prompts'], path)['markdown']).toContain(
    'herring',
  )
})
