// The command line as people and scripts meet it: its output and its exit codes. What the program itself adds to them (its start,
// its streams, its faster ways) is tested with the built program.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allLocalCommands } from '../src/cli/commands.ts'
import { makeCatalog } from '../src/operations/catalog.ts'
import { gatewayFile } from '../src/store/paths.ts'
import { makeHome, startProgram } from './support/program.ts'
import type { Home } from './support/program.ts'

let home: Home
beforeAll(async () => {
  home = makeHome()
  await home.run(['sessions', 'patch', 'main', '--label', 'home'])
  await home.run(['sessions', 'patch', 'agent:main:telegram:direct:42', '--model', 'claude-opus-5'])
})
afterAll(() => home.remove())

describe('answers', () => {
  test('one value of the configuration is set and read; comments stay, an invalid value changes nothing', async () => {
    const file = join(home.env['ROCKPOOL_STATE_DIR']!, 'rockpool.json')
    const text = '{\n  // few are enough\n  coding: { maxSessions: 5 }, // for now\n}\n'
    writeFileSync(file, text)
    const set = await home.type(['config', 'set', 'coding.maxSessions', '9'])
    expect(set.stdout).toMatch(
      /coding\.maxSessions: 5 → 9 [^]*Undo: rockpool config set coding\.maxSessions '5'/,
    )
    expect(readFileSync(file, 'utf8')).toBe(text.replace('5', '9'))
    expect((await home.type(['config', 'get', 'coding.maxSessions'])).stdout).toBe('9\n')
    const wrong = await home.type(['config', 'set', 'coding.maxSessions', 'many'])
    expect(wrong.code).not.toBe(0)
    expect(wrong.stderr).toMatch(/Not changed\..*coding\.maxSessions/)
    expect(readFileSync(file, 'utf8')).toBe(text.replace('5', '9'))
    expect((await home.type(['config', 'set', 'no.such.key', '1'])).stderr).toMatch(/unknown key no/)
    // Names that every object has are keys like others; the one that no object can have is refused.
    const own = await home.type(['config', 'set', 'coding.repos.toString', '/srv/shop'])
    expect(own.stdout).toContain('coding.repos.toString: (not set) → "/srv/shop"')
    expect((await home.type(['config', 'get', 'coding.constructor'])).stderr).toContain(
      'Nothing is set under',
    )
    const proto = await home.type(['config', 'set', 'coding.repos.__proto__', '/srv/shop'])
    expect([proto.code, readFileSync(file, 'utf8').includes('__proto__')]).toEqual([2, false])
    rmSync(file)
  })

  test('the status line is printed at once, and found out in the background', async () => {
    const claude = JSON.stringify({
      rate_limits: { five_hour: { used_percentage: 61.7 } },
      model: { id: 'claude-sonnet-4-5-20250929' },
      context_window: {
        current_usage: { input_tokens: 4, cache_read_input_tokens: 99_000, output_tokens: 996 },
      },
    })
    expect((await home.run(['statusline', '--refresh'])).code).toBe(0)
    const line = await startProgram(['statusline'], home.env, claude).ended
    expect(line.stdout).toBe('$0.00 today · 5h 62% · next call $0.03, cold $0.60\n')
    // Claude Code would show an error in its place.
    const odd = await startProgram(['statusline'], home.env, '{"model":{"id":{}}}').ended
    expect([odd.code, odd.stdout]).toEqual([0, 'rockpool\n'])
  })

  test('the status line keeps what Claude reports of the usage windows, and shows when a window ends at this pace', async () => {
    const resets = Math.floor(Date.now() / 1_000) + 3_600
    // Four of five hours have passed and 96 % are used: the rest lasts ten minutes.
    const hours = { used_percentage: 96, resets_at: resets }
    const claude = JSON.stringify({ rate_limits: { five_hour: hours } })
    await startProgram(['statusline'], home.env, claude).ended
    expect((await home.run(['statusline', '--refresh'])).code).toBe(0)
    const line = await startProgram(['statusline'], { ...home.env, TZ: 'UTC' }, claude).ended
    const [, time] = /· 5h 96%, ends (\d\d:\d\d)\n$/.exec(line.stdout) ?? []
    const inTenMinutes = [9, 10, 11].map((minutes) =>
      new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16),
    )
    expect(inTenMinutes).toContain(time)
  })

  test('small words that people try work: cc show, project ., logs -n, --no-color, login without a terminal', async () => {
    expect((await home.type(['cc', 'show', 'no-such-name'])).stderr).toMatch(/no-such-name/)
    expect((await home.type(['project', '.', '--json'], {})).json()).toMatchObject({
      repo: expect.anything(),
    })
    expect((await home.type(['logs', '-n', '1'])).code).toBe(0)
    const plain = await home.run(['status', '--no-color'], { FORCE_COLOR: '1' })
    expect([plain.code, plain.stdout.includes('\u001b')]).toEqual([0, false])
    expect(await home.type(['login'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('needs a terminal'),
    })
  })

  test('sessions --json is one document in the shape that scripts rely on', async () => {
    const { code, stdout, stderr } = await home.run(['sessions', '--json'])
    expect([code, stderr]).toEqual([0, ''])
    const answer = JSON.parse(stdout) as { sessions: object[] }
    expect(answer).toMatchObject({
      ts: expect.any(Number),
      path: expect.stringMatching(/sessions\.json$/),
      count: 2,
      total: 2,
    })
    expect(answer.sessions[1]).toMatchObject({
      key: 'agent:main:main',
      agentId: 'main',
      kind: 'direct',
      label: 'home',
      sessionId: expect.any(String),
      updatedAt: expect.any(Number),
    })
  })

  test('the table fits the terminal and shows what the JSON says', async () => {
    const { stdout } = await home.run(['sessions'])
    expect(stdout).toContain('home (agent:main:main)')
    expect(stdout).toContain('opus-5')
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    expect(stdout).not.toContain('\u001b')
  })

  test('a session is found by key, old spelling, id, beginning of its id and label', async () => {
    const { sessionId } = ((await home.run(['sessions', 'get', 'home', '--json'])).json()['entry'] ?? {}) as {
      sessionId: string
    }
    for (const ref of ['agent:main:main', 'main', sessionId, sessionId.slice(0, 8), 'home']) {
      expect((await home.type(['sessions', 'resolve', ref, '--json'])).json()).toMatchObject({
        key: 'agent:main:main',
      })
    }
  })

  test('--json may stand anywhere, and `sessions` is `sessions list`', async () => {
    expect((await home.run(['--json', 'sessions'])).json()).toMatchObject({ count: 2 })
    expect((await home.type(['sessions', 'list', '--json', '--limit', '1'])).json()).toMatchObject({
      count: 1,
      total: 2,
      hasMore: true,
    })
    expect((await home.type(['sessions', '--limit', 'all', '--json'])).json()).toMatchObject({ count: 2 })
  })

  test('without a log-in to Claude, status and doctor say how to connect it', async () => {
    expect((await home.type(['status'])).stdout).toMatch(
      /Claude +not connected\. To connect Claude, run `rockpool login`/,
    )
    expect((await home.type(['doctor'])).stdout).toContain('Claude is not connected. To connect Claude')
    expect((await home.type(['doctor', '--json'])).json()).toMatchObject({ ok: true })
  })

  test('--version --json is JSON, too', async () => {
    expect((await home.run(['--version', '--json'])).json()).toEqual({ version: expect.any(String) })
  })

  test('colours come only when they are wanted', async () => {
    expect((await home.run(['sessions'], { FORCE_COLOR: '1' })).stdout).toContain('\u001b[')
    expect((await home.run(['sessions'], { FORCE_COLOR: '1', NO_COLOR: '1' })).stdout).not.toContain('\u001b')
  })

  test('a list with a very large index keeps its young generation small, and no other command does', async () => {
    const other = makeHome()
    const shown = `process.getBuiltinModule('node:v8').setFlagsFromString = (flag) => process.stderr.write(flag + '\\n')`
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shown)}` }
    const flags = async (args: string[]): Promise<string[]> => {
      const { code, stderr } = await other.run(args, env)
      expect(code).toBe(0)
      return stderr.split('\n').filter((line) => line.startsWith('--'))
    }
    expect(await flags(['cc', 'list'])).toEqual([])
    const index = join(other.env['ROCKPOOL_STATE_DIR']!, 'index', 'discovery.sqlite')
    truncateSync(index, 40 << 20)
    expect(await flags(['sessions', 'list'])).toEqual([])
    expect(await flags(['cc', 'costs'])).toEqual(['--semi-space-growth-factor=1'])
    other.remove()
  })

  test('config show --origin says where each value comes from, and shows no secret', async () => {
    const other = makeHome()
    mkdirSync(join(other.dir, 'state'), { mode: 0o700 })
    const written = '{ // a comment\n "session": { "dmScope": "per-peer" } }'
    writeFileSync(join(other.dir, 'state', 'rockpool.json'), written, { mode: 0o600 })
    const answer = await other.type(['config', 'show', '--origin', '--json'], {
      ANTHROPIC_API_KEY: 'sk-ant-secret-secret-secret',
    })
    expect(answer.stdout).not.toContain('sk-ant-secret')
    expect(answer.json()['origins']).toMatchObject({
      'session.dmScope': { value: 'per-peer', origin: 'file' },
      'session.mainKey': { value: 'main', origin: 'default' },
    })
    other.remove()
  })
})

describe('errors', () => {
  test.each<[string[], number, string]>([
    [['sessions', 'get', 'nothing-like-this'], 3, 'not-found'],
    [['sessions', 'delete', 'main'], 4, 'refused'],
    [['sessions', 'list', '--limit', '0'], 2, 'input-invalid'],
    [['sessions', 'list', '--bogus'], 2, 'usage'],
    [['sessions', 'get'], 2, 'usage'],
    [['sessions', 'get', 'a', 'b'], 2, 'usage'],
    [['nonsense'], 2, 'usage'],
    [['chat'], 2, 'usage'],
    [['agent', 'x', '-m', 'y'], 2, 'usage'],
    [['config', 'show', 'bogus'], 3, 'not-found'],
    [['sessions', '--store', '/nowhere/sessions.json'], 3, 'not-found'],
    [['sessions', 'patch', 'main', '--model', 'nope'], 2, 'input-invalid'],
    [['agent', '-m', 'x', '--thinking', 'bogus'], 2, 'input-invalid'],
    [['agent', '-m', 'x', '--channel', 'bogus', '--to', 'y'], 2, 'input-invalid'],
    [['agent', '-m', 'x', '--channel', 'telegram'], 2, 'usage'],
    [['agent', '-m', 'x', '--session-key', 'agent:main:'], 2, 'input-invalid'],
    [['agent', '-m', 'x', '--session-id', 'home', '--session-key', 'agent:main:other'], 2, 'usage'],
    [['sessions', 'nonsense'], 2, 'usage'],
    [['dashboard'], 69, 'unavailable'],
    [['gateway', 'call', 'no.such.method'], 3, 'not-found'],
    [['gateway', 'call', 'health', '{'], 2, 'usage'],
  ])('%j ends with %i and says %s', async (args, exit, errorCode) => {
    const { code, stdout } = await home.type([...args, '--json'])
    expect(code).toBe(exit)
    const { error } = JSON.parse(stdout) as { error: object }
    expect(error).toMatchObject({
      code: errorCode,
      message: expect.any(String),
      retryable: expect.any(Boolean),
    })
    expect(Object.keys(error).every((name) => ['code', 'message', 'hint', 'retryable'].includes(name))).toBe(
      true,
    )
  })

  test('without --json the error is for people, on stderr', async () => {
    const { code, stdout, stderr } = await home.run(['sesions'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('There is no command `rockpool sesions`.')
    expect(stderr).toContain('Did you mean `rockpool sessions`?')
    expect((await home.type(['serach', 'the', 'helper', 'now'])).stderr).toContain(
      'Did you mean `rockpool search`?',
    )
    expect((await home.type(['cc', 'zzzzzz'])).stderr).toContain('`rockpool cc --help` lists them all.')
    expect((await home.type(['sessions', '--jsn'])).stderr).toContain('Did you mean --json?')
    const odd = await home.type(['--verison'])
    expect([odd.code, odd.stdout]).toEqual([2, ''])
    expect(odd.stderr).toContain('"--verison" is not an option of `rockpool`.')
    expect((await home.type(['sessions', 'lsit'])).stderr).toContain('Did you mean `rockpool sessions list`?')
  })

  test.each([
    [
      'cc review 00000002',
      'There is no coding session "00000002".',
      '`rockpool cc sessions` lists the coding sessions of Rockpool.',
    ],
    ['config set log.level loud', 'log.level: debug, info, warn or error is expected', 'docs/config.md'],
    [
      'tokens add bad --scope nowhere',
      '--scope "nowhere": read, write, approve or admin is expected',
      'rockpool tokens add --help',
    ],
    ['agents add constructor', 'constructor is a reserved name', 'Choose another name.'],
    ['agents remove nowhere', 'There is no agent nowhere.', '`rockpool agents list` shows them.'],
    ['tokens remove nowhere', 'There is no token "nowhere".', '`rockpool tokens list` shows them.'],
    [
      'vault restore zzz',
      'No session in the vault begins with "zzz".',
      '`rockpool vault list` shows all of them.',
    ],
  ])('%s names what is wrong and a way on', async (command, message, hint) => {
    const { code, stderr } = await home.run(command.split(' '))
    expect(code).not.toBe(0)
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(message)
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(hint)
  })

  test('a token for an agent that does not exist yet says how to add the agent', async () => {
    const { stdout } = await home.run(['tokens', 'add', 'early', '--agent', 'later'])
    expect(stdout).toContain('There is no agent later yet: `rockpool agents add later` makes it.')
  })

  test('a configuration that is wrong is named with file, key and remedy', async () => {
    const other = makeHome()
    mkdirSync(join(other.dir, 'state'), { mode: 0o700 })
    writeFileSync(
      join(other.dir, 'state', 'rockpool.json'),
      '{"session":{"dmScop":"main"},"store":"paper"}',
      { mode: 0o600 },
    )
    const { code, stdout } = await other.type(['sessions', '--json'])
    expect(code).toBe(2)
    expect(stdout).toContain('session.dmScop')
    expect(stdout).toContain('rockpool.json')
    other.remove()
  })

  test('a program that is not installed is named before a gateway is started for it', async () => {
    const launch = ['cc', 'launch', 'x', '--agent-kind', 'codex']
    const { code, stderr } = await home.type(launch, { PATH: '/nowhere' })
    expect([code, stderr]).toEqual([
      69,
      expect.stringMatching(/^Error: Codex is not installed\.[^]*npm install -g/),
    ])
    expect(existsSync(gatewayFile(home.env['ROCKPOOL_STATE_DIR']!))).toBe(false)
  })

  test.each([
    ['cc', 'resume', 'nope', 'hi'],
    ['cc', 'respond', 'nope', 'hi'],
    ['cc', 'move', 'nope', '--machine', 'office'],
  ])('no gateway is started for a session that does not exist: %s %s', async (...args) => {
    const { code, stderr } = await home.type(args)
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^Error: .*nope/)])
    expect(existsSync(gatewayFile(home.env['ROCKPOOL_STATE_DIR']!))).toBe(false)
  })

  test('`--all` of `cc resume` may stand behind other options; a session beside it is refused', async () => {
    const { stdout } = await home.type(['cc', 'resume', '--json', '--all', '--help'])
    expect(stdout).toContain('Continue every session that was interrupted')
    const { code, stderr } = await home.type(['cc', 'resume', 'login', '--all'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('login')])
  })

  test('a reader may stop in the middle of a list', () => {
    const command = `'${process.execPath}' bin/rockpool.js sessions --json | head -c 1`
    const { stdout, stderr } = spawnSync('sh', ['-c', command], { env: home.env, encoding: 'utf8' })
    expect([stdout, stderr]).toEqual(['{', ''])
  })

  test('a gateway that is named but not there is an error, not another answer', async () => {
    const { code, stdout } = await home.type(['sessions', '--json'], {
      ROCKPOOL_GATEWAY_URL: 'http://127.0.0.1:9',
    })
    expect(code).toBe(69)
    expect(stdout).toContain('cannot be reached')
  })
})

describe('changes', () => {
  test('tokens that several commands add at once are all there', async () => {
    const names = ['one', 'two', 'three', 'four'].map((name) => `at-once-${name}`)
    const added = await Promise.all(names.map((name) => home.run(['tokens', 'add', name])))
    expect(added.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    const { tokens } = JSON.parse((await home.type(['tokens', 'list', '--json'])).stdout) as {
      tokens: Array<{ name: string }>
    }
    expect(tokens.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  })

  let other: Home
  beforeAll(async () => {
    other = makeHome()
    await other.run(['agent', '--local', '-m', 'the tide is low'])
  })
  afterAll(() => other.remove())

  test('what a reset put away is listed, and comes back by the name that was reset', async () => {
    expect((await other.type(['sessions', 'reset', 'main'])).stdout).toContain('Reset agent:main:main.')
    expect((await other.type(['history', 'main'])).stdout).toContain('Nothing was said')
    const { archives } = (await other.type(['sessions', 'archives', '--json'])).json()
    expect(archives).toMatchObject([{ key: 'agent:main:main', reason: 'reset', agentId: 'main' }])
    expect((await other.type(['sessions', 'restore', 'main'])).stdout).toContain('agent:main:main is back.')
    expect((await other.type(['history', 'main'])).stdout).toContain('the tide is low')
  })

  test('what `--max-lines` cut off is listed, and `history --lost` gives it back', async () => {
    await other.type(['sessions', 'compact', 'main', '--max-lines', '1'])
    expect((await other.type(['history', 'main'])).stdout).not.toContain('user')
    const { archives } = (await other.type(['sessions', 'archives', '--json'])).json()
    expect(archives).toContainEqual(
      expect.objectContaining({ key: 'agent:main:main', reason: 'shortened', agentId: 'main' }),
    )
    expect((await other.type(['history', 'main', '--lost'])).stdout).toMatch(/user\n +the tide is low/)
  })

  test('a sentence sets a label, and only an empty one removes it', async () => {
    expect((await other.type(['sessions', 'label', 'main', 'shore'])).stdout).toBe(
      'agent:main:main is now called shore.\n',
    )
    expect((await other.type(['sessions', 'label', 'main'])).stderr).toContain(
      'Missing <label>. Usage: rockpool sessions label <key> <label>',
    )
    expect((await other.type(['sessions', 'label', 'main', ''])).stdout).toContain('has no label now')
  })

  test('a setting that does nothing here is stored and said to do nothing', async () => {
    const { stdout } = await other.type(['sessions', 'patch', 'main', '--elevated-level', 'on'])
    expect(stdout).toContain('without effect here: elevatedLevel')
    expect((await other.type(['sessions', 'show', 'main'])).stdout).toMatch(/No effect +elevatedLevel/)
  })

  test('what could not be archived is said, and the command fails', async () => {
    const { code, stdout } = await other.type(['sessions', 'archive', 'main', 'nope'])
    expect(code).toBe(1)
    expect(stdout).toContain('main was not archived: The main session cannot be archived.')
    expect(stdout).toContain('nope was not archived')
  })
})

describe('hostile text', () => {
  const nasty = 'a\u001b]52;c;ZXZpbA==\u0007b\u009b31mc\u202ed\u0000e\rf\u200b'

  test('T137, T138: what would drive a terminal or deceive a reader is shown as its code', async () => {
    const other = makeHome()
    const sessions = join(other.dir, 'state', 'agents', 'main', 'sessions')
    mkdirSync(sessions, { recursive: true, mode: 0o700 })
    const key = 'agent:main:telegram:direct:7'
    const entry = { sessionId: 'abc', updatedAt: 1, displayName: nasty, subject: nasty }
    writeFileSync(join(sessions, 'sessions.json'), JSON.stringify({ [key]: entry }), { mode: 0o600 })
    const message = { role: 'user', content: nasty, timestamp: 1 }
    const timestamp = '2026-01-01 (\u001b[2J)'
    const lines = [
      { type: 'session', version: 3, id: 'abc', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' },
      { type: 'message', id: '00000001', parentId: null, timestamp: '2026-01-01T00:00:01.000Z', message },
      { type: 'message', id: '00000002', parentId: '00000001', timestamp, message },
    ]
    writeFileSync(join(sessions, 'abc.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      mode: 0o600,
    })
    for (const args of [
      ['sessions'],
      ['history', 'abc'],
      ['sessions', 'show', 'abc'],
      ['sessions', 'tail', 'abc'],
    ]) {
      for (const json of [[], ['--json']]) {
        // The list has a faster way of its own in the program.
        const isList = args.length === 1
        const { stdout, code } = await (isList
          ? other.run([...args, ...json])
          : other.type([...args, ...json]))
        expect(code).toBe(0)
        expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
        expect(stdout).toContain('\\u202e')
      }
    }
    other.remove()
  })
})

describe('help and completion', () => {
  test('every command says what it does and takes, with an example', async () => {
    const catalog = await makeCatalog(await allLocalCommands())
    expect(catalog.length).toBeGreaterThan(40)
    for (const entry of catalog) {
      expect([entry.command, entry.description]).toEqual([
        entry.command,
        expect.stringMatching(/^[A-Z].*\.$/),
      ])
      for (const option of entry.options) {
        expect([entry.command, option.flag, option.description]).toEqual([
          entry.command,
          option.flag,
          expect.stringMatching(/\S/),
        ])
      }
    }
    const { stdout } = await home.run(['sessions', 'list', '--help'])
    expect(stdout).toContain('--active <n>')
    expect(stdout).toContain('$ rockpool sessions')
    expect((await home.run(['--help'])).stdout).toContain('sessions')
    expect((await home.type(['help', 'sessions'])).stdout).toContain('sessions list')
    const listed = (await home.type(['sessions', 'list', '--help'])).stdout
    expect((await home.type(['help', 'sessions', 'list'])).stdout).toBe(listed)
    expect((await home.type(['sessions', '--help', 'list'])).stdout).toBe(listed)
  })

  test('the built catalog is the one that the operations make', async () => {
    const built = (await import('../dist/catalog.json', { with: { type: 'json' } })) as { default: unknown }
    expect(built.default).toEqual(JSON.parse(JSON.stringify(await makeCatalog(await allLocalCommands()))))
  })

  test('bash completes commands and options', async () => {
    const script = (await home.type(['completion', 'bash'])).stdout
    const ask = (words: string): string[] => {
      const line = words.split(' ')
      const setUp = `COMP_WORDS=(${line.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${line.length - 1}; _rockpool; echo "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', `${script}\n${setUp}`], { encoding: 'utf8' })
        .trim()
        .split(' ')
    }
    expect(ask('rockpool sess')).toEqual(['sessions'])
    expect(ask('rockpool sessions li')).toEqual(['list'])
    expect(ask('rockpool sessions list --act')).toEqual(['--active'])
    expect(ask('rockpool completion f')).toEqual(['fish'])
  })

  test('the scripts for zsh and fish can be read by their shells', async () => {
    for (const shell of ['zsh', 'fish']) {
      const script = (await home.type(['completion', shell])).stdout
      expect(script).toContain('sessions')
      if (spawnSync(shell, ['--version']).error) continue
      expect(spawnSync(shell, ['-n', '-c', script]).status).toBe(0)
    }
  })
})
