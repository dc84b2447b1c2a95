// What the real Claude may do: asks, answers, rules, budgets, and what it sees of the machine.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type {
  AskPermission,
  Conversation,
  PermissionAnswer,
  PermissionMode,
  PermissionRequest,
} from '../src/domain/agent.ts'
import type { TestAgent } from './support/claude-agent.ts'
import { makeTestAgent, take } from './support/claude-agent.ts'
import { inline } from './support/messages-api.ts'
import type { Step } from './support/messages-api.ts'

let t: TestAgent
let conversation: Conversation
let asked: PermissionRequest[]
let answer: (request: PermissionRequest) => PermissionAnswer
const ask: AskPermission = async (request) => {
  asked.push(request)
  return answer(request)
}
const allow = (): PermissionAnswer => ({ behavior: 'allow' })

beforeAll(async () => {
  t = await makeTestAgent()
  conversation = await t.open({ askPermission: ask })
})
afterAll(() => t.close())
beforeEach(() => void (asked = []))

const bash = (command: string): Step => ({ tools: [{ name: 'Bash', input: { command } }] })
const made = (name: string): boolean => existsSync(join(t.home.project, name))

test('a tool that is allowed runs; the person sees the whole command', async () => {
  answer = allow
  const result = await take(conversation, inline(bash('touch allowed.txt'), { text: 'Done.' }))
  expect(result.text).toBe('Done.')
  expect(asked).toMatchObject([{ kind: 'tool', toolName: 'Bash', input: { command: 'touch allowed.txt' } }])
  expect(asked[0]!.toolUseId).toBe(
    result.events.flatMap((event) => (event.type === 'tool-start' ? [event.toolUseId] : []))[0],
  )
  expect(result.events).toContainEqual({ type: 'waiting', for: 'permission' })
  expect(made('allowed.txt')).toBe(true)
})

test('a request names the directory that the command runs in, also after Claude has changed it', async () => {
  answer = allow
  mkdirSync(join(t.home.project, 'sub'))
  const own = await t.open({ askPermission: ask, key: 'agent:main:directories' })
  const steps = [bash('touch one.txt'), bash('cd sub'), bash('touch two.txt'), { text: 'Done.' }]
  await take(own, inline(...steps))
  const cwds = asked.map(({ input, cwd }) => [input['command'], cwd])
  expect(cwds).toContainEqual(['touch one.txt', t.home.project])
  expect(cwds).toContainEqual(['touch two.txt', join(t.home.project, 'sub')])
  expect(made('sub/two.txt')).toBe(true)
  await own.close()
})

test('a denied tool does not run; Claude gets the reason and continues', async () => {
  answer = () => ({ behavior: 'deny', message: 'not on a Sunday' })
  const result = await take(conversation, inline(bash('touch denied.txt'), { text: 'I stopped.' }))
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'I stopped.' })
  expect(t.api.calls().at(-1)!.text).toContain('not on a Sunday')
  expect(made('denied.txt')).toBe(false)
})

test('a denial can stop the whole turn', async () => {
  answer = () => ({ behavior: 'deny', message: 'stop', interrupt: true })
  const result = await take(conversation, inline(bash('touch never.txt'), { text: 'not reached' }))
  expect(result.end).toEqual({ kind: 'interrupted' })
})

test('the command can be rewritten before it runs', async () => {
  answer = () => ({ behavior: 'allow', updatedInput: { command: 'touch rewritten.txt' } })
  await take(conversation, inline(bash('touch original.txt'), { text: 'Done.' }))
  expect([made('rewritten.txt'), made('original.txt')]).toEqual([true, false])
})

test('what is allowed always is not asked again, and is written into no settings file', async () => {
  answer = () => ({ behavior: 'allow', always: true })
  const command = 'python3 -c "print(1)"'
  await take(conversation, inline(bash(command), { text: 'Once.' }))
  expect(asked[0]!.rules).toEqual([`Bash(${command})`])
  await take(conversation, inline(bash(command), { text: 'Twice.' }))
  expect(asked).toHaveLength(1)
  expect(made('.claude')).toBe(false)
})

test('a callback that fails denies', async () => {
  answer = () => {
    throw new Error('the channel is down')
  }
  await take(conversation, inline(bash('touch failed.txt'), { text: 'Ok.' }))
  expect(made('failed.txt')).toBe(false)
  expect(t.api.calls().at(-1)!.text).toContain('the channel is down')
})

test('a question of Claude reaches the person, and the answer reaches Claude', async () => {
  const options = [
    { label: 'postgres', description: 'a server' },
    { label: 'sqlite', description: 'a file' },
  ]
  const input = { questions: [{ question: 'Which database?', header: 'DB', options, multiSelect: false }] }
  answer = ({ input }) => ({
    behavior: 'allow',
    updatedInput: { ...input, answers: { 'Which database?': 'sqlite' } },
  })
  const result = await take(
    conversation,
    inline({ tools: [{ name: 'AskUserQuestion', input }] }, { text: 'A file it is.' }),
  )
  expect(asked[0]).toMatchObject({ kind: 'question', input })
  expect(result.events).toContainEqual({ type: 'waiting', for: 'question' })
  expect(t.api.calls().at(-1)!.text).toMatch(/Which database\?.*sqlite/)
})

test('a plan is decided on by the person', async () => {
  const inMode = (permissionMode: PermissionMode) =>
    t.open({ askPermission: ask, permissionMode, resume: { sdkSessionId: conversation.sdkSessionId! } })
  expect(await inMode('plan')).toBe(conversation)
  answer = () => ({ behavior: 'deny', message: 'make it shorter' })
  const plan = { tools: [{ name: 'ExitPlanMode', input: { plan: '1. everything' } }] }
  const result = await take(conversation, `plan it ${inline(plan, { text: 'Shorter then.' })}`)
  expect(asked[0]).toMatchObject({ kind: 'plan', toolName: 'ExitPlanMode' })
  expect(result.text).toBe('Shorter then.')
  expect(await inMode('default')).toBe(conversation)
})

test('our own tools are called without asking, and get the functions of the latest open', async () => {
  const tools = (greeting: string) => [
    {
      name: 'rockpool',
      tools: [
        {
          name: 'greet',
          description: 'Greets somebody.',
          inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          call: async (input: Record<string, unknown>) => ({ text: `${greeting} ${String(input['name'])}` }),
        },
      ],
    },
  ]
  const call: Step = { tools: [{ name: 'mcp__rockpool__greet', input: { name: 'Ada' } }] }
  const first = await t.open({ key: 'tools', tools: tools('Hello'), askPermission: ask })
  await take(first, inline(call, { text: 'Said.' }))
  expect(t.api.calls().at(-1)!.prompt).toContain('Hello Ada')
  const resume = { sdkSessionId: first.sdkSessionId! }
  const second = await t.open({ key: 'tools', tools: tools('Goodbye'), askPermission: ask, resume })
  expect(second.pid).toBe(first.pid)
  await take(second, inline(call, { text: 'Said.' }))
  expect(t.api.calls().at(-1)!.prompt).toContain('Goodbye Ada')
  expect(asked).toEqual([])
  await second.close()
})

test('a held tool waits, a refused one tells Claude why, and every further call to the model can be held', async () => {
  const seen: string[] = []
  const guarded = await t.open({
    key: 'guarded',
    askPermission: ask,
    beforeTool: async ({ name }) => {
      seen.push(name ?? 'the model')
      return name && seen.length > 1 ? 'The budget is spent.' : undefined
    },
  })
  answer = allow
  await take(guarded, inline(bash('touch one.txt'), bash('touch two.txt'), { text: 'Done.' }))
  expect(seen).toEqual(['Bash', 'the model', 'Bash', 'the model'])
  expect([made('one.txt'), made('two.txt')]).toEqual([true, false])
  expect(t.api.calls().at(-1)!.text).toContain('The budget is spent.')
  await guarded.close()
})

test('a budget ends the turn, and with a larger one the conversation continues', async () => {
  const expensive: Step = { ...bash('echo x'), usage: { input_tokens: 40_000 } }
  const spender = await t.open({ key: 'budget', maxBudgetUsd: 0.2 })
  const spent = await take(spender, inline(expensive, expensive, expensive, { text: 'never' }))
  expect(spent.end).toMatchObject({ kind: 'failed', why: 'budget-reached' })
  expect(spent.costUsd).toBeGreaterThanOrEqual(0.2)
  expect(spent.costUsd).toBeLessThan(0.2 + 0.13)
  const resume = { sdkSessionId: spender.sdkSessionId! }
  const raised = await t.open({ key: 'budget', maxBudgetUsd: 5, resume })
  expect((await take(raised, inline({ text: 'On we go.' }))).text).toBe('On we go.')
  await raised.close()
})

test("tools see nothing of our environment, and our own state and Claude's login are closed to them", async () => {
  mkdirSync(join(t.home.stateDir, 'credentials'), { recursive: true })
  const secret = join(t.home.stateDir, 'credentials', 'gateway-token')
  const login = join(t.home.configDir, '.credentials.json')
  writeFileSync(secret, 'top-secret')
  writeFileSync(login, '{"other":"top-secret"}')
  answer = allow
  const read = (file_path: string): Step => ({ tools: [{ name: 'Read', input: { file_path } }] })
  const steps = [bash('env'), read(secret), read(login)]
  const result = await take(conversation, inline(...steps, { text: 'Looked.' }))
  const outputs = result.events.flatMap((event) => (event.type === 'tool-end' ? [event] : []))
  expect(outputs[0]!.output).toContain('HOME=')
  // The one variable of ours is the mark by which the processes of a session are found when it ends.
  expect(outputs[0]!.output).not.toMatch(/ROCKPOOL_(?!PROCESS_OF=)|VITEST|NODE_OPTIONS/)
  for (const { isError, output } of outputs.slice(1)) {
    expect(isError).toBe(true)
    expect(output).not.toContain('top-secret')
  }
  expect(outputs).toHaveLength(3)
})

test('a repository brings no hooks and no permissions of its own', async () => {
  const hooks = { SessionStart: [{ hooks: [{ type: 'command', command: 'touch hooked.txt' }] }] }
  mkdirSync(join(t.home.project, '.claude'), { recursive: true })
  const settings = { hooks, permissions: { allow: ['Bash'] } }
  writeFileSync(join(t.home.project, '.claude', 'settings.json'), JSON.stringify(settings))
  answer = () => ({ behavior: 'deny', message: 'no' })
  const wary = await t.open({ key: 'wary', askPermission: ask })
  await take(wary, inline(bash('touch smuggled.txt'), { text: 'No.' }))
  expect(asked).toHaveLength(1)
  expect([made('hooked.txt'), made('smuggled.txt')]).toEqual([false, false])
  await wary.close()
})

test('bypassing permissions is refused to root in plain words', async (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('only root is refused')
  await expect(t.open({ key: 'bypass', permissionMode: 'bypassPermissions' })).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('root') as string,
  })
})
