// Turns of an agent program, with a shell script that prints what a real one printed. The real programs: test/full/agent-programs.test.ts.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { AgentRuntime, ConversationOptions } from '../../domain/agent.ts'
import { systemClock } from '../../domain/clock.ts'
import { configSchema } from '../../domain/config.ts'
import { silentLog } from '../../domain/log.ts'
import type { TurnEvent } from '../../domain/turn.ts'
import { toolsOf } from '../../rights/tools.ts'
import { readEnvironment } from '../../store/config-file.ts'
import { statePaths } from '../../store/paths.ts'
import { openProgram } from './program-runtime.ts'

const recorded = join(import.meta.dirname, '../../../test/fixtures/agents/events/pi-03-tools.jsonl')
const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const sessionId = '01a1e4d3-23f5-73cd-ac48-9dc2b92016de'

/** pi as a script. It writes its prompt and arguments into files of its folder. */
async function open(script: string): Promise<{ runtime: AgentRuntime; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'program-'))
  const path = join(folder, 'pi')
  writeFileSync(
    path,
    `#!/bin/sh\ncd ${folder}\nprintf '%s ' "$@" > args\ncat > prompt\nenv > variables\n${script}\n`,
  )
  chmodSync(path, 0o755)
  mkdirSync(join(folder, 'state'))
  const variables = { HOME: folder, PATH: '/usr/bin:/bin', ROCKPOOL_STATE_DIR: join(folder, 'state') }
  const environment = readEnvironment({ ...variables, SECRET: 'hidden', PI_OFFLINE: '1', MY_KEY: 'mine' })
  const runtime = await openProgram('pi', {
    environment,
    config: configSchema.parse({ coding: { programs: { pi: { path, passEnvironment: ['MY_KEY'] } } } }),
    paths: statePaths(environment.stateDir),
    clock: systemClock,
    log: silentLog,
    files: { find: async () => undefined, prompts: async () => ['Already said'] },
  })
  closing.push(async () => {
    await runtime.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { runtime, folder }
}

function optionsIn(folder: string, more: Partial<ConversationOptions> = {}): ConversationOptions {
  return {
    key: 'coding:test',
    agent: { id: 'main', name: 'main', workspace: folder, settingSources: [] },
    cwd: folder,
    permissionMode: 'default',
    allowedTools: [],
    toolRights: toolsOf('coding'),
    tools: [],
    askPermission: async () => ({ behavior: 'deny', message: '' }),
    ...more,
  }
}

test('a turn is one process: it gets the prompt on its input, and no variable but its own', async () => {
  const { runtime, folder } = await open(`cat ${recorded}`)
  const conversation = await runtime.open(optionsIn(folder, { newSdkSessionId: 'new-id' }))
  const events: TurnEvent[] = []
  const prompt = { text: 'List $HOME "and" more', uuid: 'u1' }
  const result = await conversation.turn(prompt, (event) => events.push(event))
  expect(result).toMatchObject({
    end: { kind: 'completed' },
    text: 'Added greet.js and mentioned it in the README.',
    sdkSessionId: sessionId,
    model: 'anthropic/claude-sonnet-4-5',
    prompts: ['u1'],
  })
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['session-id', 'turn-start'])
  expect(readFileSync(join(folder, 'prompt'), 'utf8')).toBe(prompt.text)
  expect(readFileSync(join(folder, 'args'), 'utf8')).toContain('--session-id new-id')
  const variables = readFileSync(join(folder, 'variables'), 'utf8')
  expect(variables).toMatch(/MY_KEY=mine/)
  expect(variables).toMatch(/PI_OFFLINE=1/)
  expect(variables).not.toMatch(/SECRET/)
  // The next turn continues the session by the id that pi gave it.
  await conversation.turn({ text: 'Next', uuid: 'u2' }, () => {})
  expect(readFileSync(join(folder, 'args'), 'utf8')).toContain(`--session ${sessionId}`)
  expect(conversation.steer({ text: 'x', uuid: 'u3' })).toBe(false)
})

test('a program that ends without a result fails the turn with its last words', async () => {
  const { runtime, folder } = await open('echo "No API key found" >&2; exit 1')
  const conversation = await runtime.open(optionsIn(folder))
  const { end, prompts } = await conversation.turn({ text: 'Hello', uuid: 'u1' }, () => {})
  expect(end).toMatchObject({ kind: 'failed', why: 'login-refused' })
  expect(end).toMatchObject({
    what: expect.stringMatching(/^pi did not finish the turn: No API key found\. It needs/) as string,
  })
  // It has no session, so the prompt is sent again when the session is resumed.
  expect(prompts).toEqual([])
  expect(
    await runtime.received('s', [
      { uuid: 'a', text: 'Already said ' },
      { uuid: 'b', text: 'New' },
    ]),
  ).toEqual(new Set(['a']))
})

test('an interrupt ends the process and the turn, and the session continues', async () => {
  const { runtime, folder } = await open(`head -1 ${recorded}; exec sleep 60`)
  const conversation = await runtime.open(optionsIn(folder))
  const running = conversation.turn({ text: 'Hello', uuid: 'u1' }, () => {})
  await vi.waitFor(() => expect(conversation.sdkSessionId).toBe(sessionId))
  await conversation.interrupt()
  expect((await running).end).toEqual({ kind: 'interrupted' })
  expect(conversation.busy).toBe(false)
})

test('while the budget is asked about, the process is paused; a refusal ends the turn', async () => {
  const { runtime, folder } = await open(`cat ${recorded}; touch reached; sleep 1; touch finished`)
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const asked = vi.fn(() => promise)
  const conversation = await runtime.open(optionsIn(folder, { beforeTool: asked }))
  const running = conversation.turn({ text: 'Hello', uuid: 'u1' }, () => {})
  await vi.waitFor(() => expect(asked).toHaveBeenCalled())
  await vi.waitFor(() => {
    const state = readFileSync(`/proc/${conversation.pid}/stat`, 'utf8')
    expect(state).toMatch(/\) T /)
  })
  resolve('The budget is used up')
  expect((await running).end).toMatchObject({ kind: 'failed', why: 'budget-reached' })
  expect(() => readFileSync(join(folder, 'finished'))).toThrow()
})
