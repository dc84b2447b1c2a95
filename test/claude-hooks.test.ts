// The gateway's side of Rockpool's plugin in Claude Code: who may report events, and what is answered.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ClaudeHooks } from '../src/claude-hooks/answers.ts'
import { wakeFile, wakeSession } from '../src/claude-hooks/wake.ts'
import { listedTools } from '../src/operations/claude-plugin/session-tools.ts'
import type { ClaudeHookAnswer, ClaudeHookEvent } from '../src/domain/claude-hook.ts'
import { claudeHookNames } from '../src/domain/claude-hook.ts'
import { silentLog } from '../src/domain/log.ts'
import { removeClaudeHookFile, writeClaudeHookFile } from '../src/store/claude-hook-file.ts'
import { http, openHouse, rpc } from './support/gateway-house.ts'
import type { House, HttpAnswer } from './support/gateway-house.ts'

let house: House
let real: House['app']['claudeHooks']
let answer: (event: ClaudeHookEvent, signal: AbortSignal) => Promise<ClaudeHookAnswer | undefined>

beforeAll(async () => {
  house = await openHouse()
  const contributor = {
    name: 'test',
    events: claudeHookNames,
    answer: (event: ClaudeHookEvent, signal: AbortSignal) => answer(event, signal),
  }
  const hooks = new ClaudeHooks({ contributors: [contributor], clock: house.app.clock, log: silentLog })
  real = house.app.claudeHooks
  house.app.claudeHooks = async () => hooks
})
afterAll(() => house.close())

const sessionId = '0c18c6e2-d9e3-4169-87ec-d96fcc228ff1'

function report(
  name: string,
  more: Record<string, unknown> = {},
  token = house.gateway.auth.claudeHookToken,
  headers: Record<string, string> = {},
) {
  const body = JSON.stringify({ hook_event_name: name, session_id: sessionId, ...more })
  return http(house, '/claude-hooks', { method: 'POST', body, token, headers })
}

function outputOf(answered: HttpAnswer): unknown {
  return answered.json()['hookSpecificOutput']
}

test('an event without an answer gets no body, and the wake file is named when a session starts', async () => {
  answer = async () => undefined
  expect(await report('Stop')).toMatchObject({ status: 204, body: '' })
  expect(outputOf(await report('SessionStart', { source: 'startup' }))).toEqual({
    hookEventName: 'SessionStart',
    watchPaths: [`${house.dir}/claude/wake/${sessionId}`],
  })
})

test('a text for the model is sent in the form that Claude Code reads, and its contributor learns of it', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  answer = async () => ({ additionalContext: 'a word', onSent: () => resolve('sent') })
  expect(outputOf(await report('PostToolBatch'))).toEqual({
    hookEventName: 'PostToolBatch',
    additionalContext: 'a word',
  })
  expect(await promise).toBe('sent')
  expect(await report('FileChanged')).toMatchObject({ status: 200, body: 'a word' })
})

test('a contributor learns that the session no longer waits for its decision', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  answer = async (_, signal) => {
    signal.addEventListener('abort', () => resolve())
    asked.resolve()
    await promise
    return { decision: { behavior: 'allow' } }
  }
  const { url } = house.gateway
  const leaving = new AbortController()
  const waiting = fetch(`${url}/claude-hooks`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${house.gateway.auth.claudeHookToken}` },
    body: JSON.stringify({ hook_event_name: 'PermissionRequest', session_id: sessionId }),
  }).catch(() => 'left')
  await asked.promise
  leaving.abort()
  expect(await waiting).toBe('left')
  await promise
})

test('the token of the plugin is valid for hook events only, and no other token is valid for them', async () => {
  answer = async () => ({ additionalContext: 'a word' })
  const { claudeHookToken } = house.gateway.auth
  expect((await report('Stop', {}, house.token)).status).toBe(401)
  expect((await rpc(house, 'sessions.list', {}, claudeHookToken)).error?.data?.code).toBe('unauthorized')
})

test('an event that is unknown or of another shape is refused', async () => {
  for (const [name, more] of [
    ['PreToolUse', {}],
    ['Stop', { session_id: '../../etc' }],
    ['PermissionRequest', { tool_input: 'rm' }],
  ] as const)
    expect((await report(name, more)).status).toBe(400)
})

describe('the shell lines of the plugin', () => {
  const folder = join(import.meta.dirname, '../plugins/claude-code/files/hooks')

  /** As Claude Code runs them: the event on stdin. */
  function runLine(script: string, name: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const env = {
      PATH: process.env['PATH'],
      HOME: house.dir,
      ROCKPOOL_STATE_DIR: house.dir,
      CLAUDE_CODE_SESSION_ID: sessionId,
      CLAUDE_CODE_ENTRYPOINT: 'cli',
    }
    return new Promise((resolve) => {
      const child = execFile('sh', [join(folder, script)], { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      )
      // A script that has nothing to report may end before it reads.
      child.stdin!.on('error', () => {})
      child.stdin!.end(JSON.stringify({ hook_event_name: name, session_id: sessionId }))
    })
  }

  test('report to the gateway, and wake the session with what it says', async () => {
    const url = `${house.gateway.url}/claude-hooks`
    writeClaudeHookFile(house.dir, { url, token: house.gateway.auth.claudeHookToken, pid: process.pid })
    const seen: ClaudeHookEvent[] = []
    answer = async (event) => {
      seen.push(event)
      return event.name === 'SessionEnd' ? undefined : { additionalContext: 'two\nlines' }
    }
    expect(JSON.parse((await runLine('start.sh', 'SessionStart')).stdout)).toMatchObject({
      hookSpecificOutput: { additionalContext: 'two\nlines' },
    })
    expect(await runLine('wake.sh', 'FileChanged')).toEqual({ code: 2, stdout: '', stderr: 'two\nlines\n' })
    expect(await runLine('end.sh', 'SessionEnd')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(seen.map(({ name, isTerminal }) => [name, isTerminal])).toEqual([
      ['SessionStart', true],
      ['FileChanged', true],
      ['SessionEnd', true],
    ])
  })

  test('say nothing without a gateway, and the session can still be woken later', async () => {
    removeClaudeHookFile(house.dir)
    const path = wakeFile(house.dir, sessionId)
    expect(JSON.parse((await runLine('start.sh', 'SessionStart')).stdout)).toEqual({
      suppressOutput: true,
      hookSpecificOutput: { hookEventName: 'SessionStart', watchPaths: [path] },
    })
    for (const [script, name] of [
      ['wake.sh', 'FileChanged'],
      ['end.sh', 'SessionEnd'],
    ] as const)
      expect(await runLine(script, name)).toEqual({ code: 0, stdout: '', stderr: '' })
    wakeSession(house.dir, sessionId, 7)
    expect(readFileSync(path, 'utf8')).toBe('7\n')
  })
})

describe('a permission dialog in a terminal', () => {
  beforeAll(() => void (house.app.claudeHooks = real))

  const ask = (command: string, entrypoint = 'cli') => {
    const body = { tool_name: 'Bash', tool_input: { command }, cwd: house.dir }
    return report('PermissionRequest', body, undefined, { 'claude-entrypoint': entrypoint })
  }
  const open = async (): Promise<Array<{ id: string; nativeId: string; session: string }>> =>
    ((await rpc(house, 'approvals.list')).result as { approvals: never[] }).approvals
  const asked = async (): Promise<string> => {
    await vi.waitFor(async () => expect(await open()).toHaveLength(1), { timeout: 10_000, interval: 10 })
    return (await open())[0]!.id
  }

  test('is answered by the first person who answers the request', async () => {
    const answering = ask('make one')
    const id = await asked()
    expect(await open()).toMatchObject([{ nativeId: sessionId, session: basename(house.dir) }])
    await rpc(house, 'approvals.answer', { id, decision: 'deny', text: 'not now' })
    expect(outputOf(await answering)).toEqual({
      hookEventName: 'PermissionRequest',
      decision: { behavior: 'deny', message: 'A person said no: not now' },
    })
  })

  test('is not answered after the session went on', async () => {
    const answering = ask('make two')
    const id = await asked()
    await report('PostToolBatch')
    expect((await answering).status).toBe(204)
    expect((await rpc(house, 'approvals.answer', { id })).error?.message).toMatch('answered in the terminal')
  })

  test('is not allowed with the token of the plugin; a forged event closes the question elsewhere at most', async () => {
    const { claudeHookToken: token } = house.gateway.auth
    const answering = ask('make four')
    const id = await asked()
    expect((await rpc(house, 'approvals.answer', { id }, token)).error?.data?.code).toBe('unauthorized')
    const body = JSON.stringify({ session_id: sessionId, cwd: '/', tool: 'approvals_answer', input: { id } })
    const called = await http(house, '/claude-tools', { method: 'POST', body, token })
    expect(called.json()).toMatchObject({ isError: true })
    expect(await open()).toHaveLength(1)
    await report('Stop')
    // No decision: the dialog in the terminal stays open.
    expect(await answering).toMatchObject({ status: 204, body: '' })
    expect(await open()).toEqual([])
  })

  test('is not relayed without a person at a terminal, nor when the owner wants to be asked there only', async () => {
    expect((await ask('make three', 'sdk-cli')).status).toBe(204)
    expect((await report('UserPromptExpansion', { prompt: '/rockpool:quiet' })).json()).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('in its terminal only'),
    })
    expect((await ask('make three')).status).toBe(204)
    await report('UserPromptExpansion', { prompt: '/rockpool:quiet off' })
    const answering = ask('make three')
    await rpc(house, 'approvals.answer', { id: await asked(), rule: 'exact' })
    expect(outputOf(await answering)).toMatchObject({ decision: { behavior: 'allow' } })
    // The rule is for this session.
    expect(outputOf(await ask('make three'))).toMatchObject({ decision: { behavior: 'allow' } })
  })
})

describe('the tools of a terminal session', () => {
  const call = async (tool: string, input: Record<string, unknown> = {}, token?: string) => {
    const body = JSON.stringify({ session_id: sessionId, cwd: house.dir, tool, input })
    const headers = { token: token ?? house.gateway.auth.claudeHookToken }
    return (await http(house, '/claude-tools', { method: 'POST', body, ...headers })).json()
  }

  test('are listed in few words, and answer in at most 2 kB', async () => {
    // About four characters are a token.
    expect(JSON.stringify(listedTools().map((tool) => (tool as { name: string }).name)).length).toBeLessThan(
      150,
    )
    for (const tool of ['search', 'sessions']) {
      const { text, isError } = (await call(tool, tool === 'search' ? { query: 'login' } : {})) as {
        text: string
        isError: boolean
      }
      expect(isError, text).toBe(false)
      expect(text.length).toBeLessThanOrEqual(2_000)
    }
  })

  test('say what is wrong with a call', async () => {
    expect(await call('recall_lost', { handle: 'nonsense' })).toMatchObject({ isError: true })
    expect(await call('sessions_delete')).toMatchObject({
      isError: true,
      text: expect.stringContaining('no tool'),
    })
    expect(await call('search', { query: 'x' }, 'wrong')).toHaveProperty('error')
  })
})
