import { expect, test } from 'vitest'
import type { AskPermission, ConversationOptions, Prompt } from '../domain/agent.ts'
import { systemClock } from '../domain/clock.ts'
import type { TurnEvent } from '../domain/turn.ts'
import { toolsOf } from '../rights/tools.ts'
import { makeOfflineAgent } from './offline.ts'

const deny: AskPermission = async () => ({ behavior: 'deny', message: 'no' })

function options(more: Partial<ConversationOptions> = {}): ConversationOptions {
  return {
    key: 'agent:main:main',
    agent: { id: 'main', name: 'main', workspace: '/tmp', settingSources: [] },
    cwd: '/tmp',
    permissionMode: 'default',
    allowedTools: [],
    toolRights: toolsOf('owner'),
    tools: [],
    askPermission: deny,
    ...more,
  }
}
const prompt = (text: string, uuid = 'u1'): Prompt => ({ text, uuid })
const ignore = (): void => {}

test('the first answer says that it is not Claude and how to connect it', async () => {
  const conversation = await makeOfflineAgent({ clock: systemClock }).open(options())
  const first = await conversation.turn(prompt('hello'), ignore)
  expect(first.end).toEqual({ kind: 'completed' })
  expect(first.text).toMatch(/not Claude.*ANTHROPIC_API_KEY[\s\S]*hello/)
  const second = await conversation.turn(prompt('again'), ignore)
  expect(second.text).toBe('(offline) again')
})

test('the id of a Claude conversation is left as it is', async () => {
  const conversation = await makeOfflineAgent({ clock: systemClock }).open(
    options({ resume: { sdkSessionId: 'abc' } }),
  )
  expect((await conversation.turn(prompt('x'), ignore)).sdkSessionId).toBe('abc')
})

test('a turn can be steered and interrupted', async () => {
  const conversation = await makeOfflineAgent({ clock: systemClock, delayMs: 20 }).open(options())
  const steered = conversation.turn(prompt('one', 'a'), ignore)
  expect(conversation.steer(prompt('two', 'b'))).toBe(true)
  expect((await steered).prompts).toEqual(['a', 'b'])
  const stopped = conversation.turn(prompt('three'), ignore)
  await conversation.interrupt()
  expect((await stopped).end).toEqual({ kind: 'interrupted' })
  expect(conversation.steer(prompt('late'))).toBe(false)
})

test('directions in a prompt are obeyed only if the option is set', async () => {
  const text = '[[offline: say one]][[offline: ask Bash {"command":"ls"}]][[offline: fail overloaded]]'
  const plain = await makeOfflineAgent({ clock: systemClock }).open(options())
  expect((await plain.turn(prompt(text), ignore)).text).toContain('[[offline: say one]]')
  const directed = await makeOfflineAgent({ clock: systemClock, directions: true }).open(options())
  const result = await directed.turn(prompt(text), ignore)
  expect(result.said).toEqual(['one', 'denied Bash: no'])
  expect(result.end).toMatchObject({ kind: 'failed', why: 'overloaded' })
})

test('a direction may call a tool of ours', async () => {
  const tool = {
    name: 'add',
    description: 'adds',
    inputSchema: {},
    call: async (input: Record<string, unknown>) => ({ text: String(Number(input['a']) + 1) }),
  }
  const agent = makeOfflineAgent({ clock: systemClock, directions: true })
  const conversation = await agent.open(options({ tools: [{ name: 'rockpool', tools: [tool] }] }))
  const events: TurnEvent[] = []
  const result = await conversation.turn(prompt('[[offline: call add {"a":41}]]'), (event) =>
    events.push(event),
  )
  expect(result.text).toBe('42')
  expect(events.map((event) => event.type)).toEqual(['turn-start', 'tool-start', 'tool-end', 'text'])
})

test('a script says one thing after a yes and another after a no', async () => {
  const text =
    '[[offline: ask Bash {"command":"ls"}]][[offline: allowed It is done.]][[offline: denied I did nothing.]]'
  const saidAfter = async (behavior: 'allow' | 'deny'): Promise<string> => {
    const askPermission: AskPermission = async () => ({ behavior, message: 'no' })
    const agent = makeOfflineAgent({ clock: systemClock, directions: true })
    return (await (await agent.open(options({ askPermission }))).turn(prompt(text), ignore)).text
  }
  expect(await saidAfter('allow')).toBe('It is done.')
  expect(await saidAfter('deny')).toBe('I did nothing.')
})
