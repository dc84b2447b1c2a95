// When things go wrong with the real Claude: errors of the API, silence, interruptions, kills and crashes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Conversation } from '../src/domain/agent.ts'
import { silentLog } from '../src/domain/log.ts'
import type { Log } from '../src/domain/log.ts'
import type { TurnEvent, TurnResult } from '../src/domain/turn.ts'
import { identifyProcess, isSameProcess } from '../src/store/disk/process-identity.ts'
import { descendantsOf } from './support/descendants.ts'
import type { ProcessIdentity } from '../src/store/disk/process-identity.ts'
import type { TestAgent } from './support/claude-agent.ts'
import { makeTestAgent, prompt, take } from './support/claude-agent.ts'
import { makeClaudeHome } from './support/claude-home.ts'
import { inline, overloaded, promptTooLong, rateLimited, refusedLogin } from './support/messages-api.ts'
import type { Step } from './support/messages-api.ts'
import { makeSkippingClock } from './support/movable-clock.ts'

let t: TestAgent
let conversation: Conversation
const clock = makeSkippingClock()
const minuteMs = 60_000
let isGivenUp = false
/** Lets time pass in which a turn is not given up yet; what follows then takes its real time. */
function skip(ms: number): void {
  if (!isGivenUp) clock.skip(ms)
}
const log: Log = { ...silentLog, warn: () => (isGivenUp = true) }
beforeAll(async () => {
  t = await makeTestAgent({ silenceSeconds: 60, toolSilenceSeconds: 60, maxAnswerMinutes: 3 }, { clock, log })
  conversation = await t.open({ askPermission: async () => ({ behavior: 'allow' }) })
})
afterAll(() => t.close())

const sleeping: Step = {
  tools: [{ name: 'Bash', input: { command: 'python3 -c "import time; time.sleep(60)"' } }],
}

/** `seen` resolves when there was an event of this type, with this text; the turn continues. */
function begin(
  conversation: Conversation,
  text: string,
): { result: Promise<TurnResult>; seen: (type: TurnEvent['type'], text?: string) => Promise<void> } {
  const events: TurnEvent[] = []
  const result = conversation.turn(prompt(text), (event) => events.push(event))
  const seen = async (type: TurnEvent['type'], text?: string): Promise<void> => {
    const wanted = expect.objectContaining(text === undefined ? { type } : { type, text }) as TurnEvent
    await expect.poll(() => events, { timeout: 15_000, interval: 10 }).toContainEqual(wanted)
  }
  return { result, seen }
}

test('an overload that passes is overcome', async () => {
  const result = await take(
    conversation,
    inline({ ...overloaded, times: 1, afterwards: { text: 'Here I am.' } }),
  )
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'Here I am.' })
  expect(result.events).toContainEqual(expect.objectContaining({ type: 'retry', attempt: 1 }))
})

test.each<[string, Step, string, RegExp]>([
  ['an overload that stays', overloaded, 'overloaded', /few minutes/],
  // The message for an API key; a subscription's limit has an end, see below.
  ['a rate limit', rateLimited(), 'rate-limited', /does not say when it ends.*few minutes/],
  ['a rate limit that asks for patience', rateLimited(300), 'rate-limited', /does not say when it ends/],
  ['a refused login', refusedLogin, 'login-refused', /log in again/],
])(
  '%s is said in a sentence to act on, and the conversation stays usable',
  async (_name, step, why, sentence) => {
    const result = await take(conversation, inline(step))
    expect(result.end).toMatchObject({
      kind: 'failed',
      why,
      message: expect.stringMatching(sentence) as string,
    })
    expect(result.text).toBe('')
    expect((await take(conversation, inline({ text: 'Fine again.' }))).text).toBe('Fine again.')
  },
)

test("a subscription's limit is reported with the time at which it ends", async () => {
  const { ANTHROPIC_API_KEY: _key, ...variables } = t.home.variables
  const home = { ...t.home, variables: { ...variables, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-test' } }
  const subscribed = await makeTestAgent({}, { api: t.api, home })
  expect(subscribed.agent.billing).toBe('subscription')
  const endsAt = Math.floor(Date.now() / 1000) + 5_400
  const limit = rateLimited(5_400)
  const unified = 'anthropic-ratelimit-unified'
  limit.headers = {
    ...limit.headers,
    [`${unified}-status`]: 'rejected',
    [`${unified}-reset`]: String(endsAt),
  }
  const other = await subscribed.open({ key: 'subscribed' })
  const result = await take(other, inline(limit))
  expect(result.end).toMatchObject({ kind: 'failed', why: 'rate-limited', retryAt: endsAt * 1000 })
  expect(t.api.calls().at(-1)!.headers.authorization).toBe('Bearer sk-ant-oat01-test')
  await subscribed.close()
})

test('a conversation that no longer fits is compacted in the middle of the turn, after the memory flush', async () => {
  const flushed: string[] = []
  await t.open({
    resume: { sdkSessionId: conversation.sdkSessionId! },
    askPermission: async () => ({ behavior: 'allow' }),
    beforeCompaction: async ({ trigger }) => void flushed.push(trigger),
  })
  const fits = { ...promptTooLong, times: 1, afterwards: { text: 'It fits again.' } }
  const result = await take(conversation, inline(fits))
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'It fits again.', compactions: 1 })
  expect(flushed).toEqual(['auto'])
})

test('if compacting does not help, that is said', async () => {
  const result = await take(conversation, inline(promptTooLong))
  expect(result.end).toMatchObject({ kind: 'failed', why: 'context-full' })
  expect(result.end).toMatchObject({ message: expect.stringContaining('/new') as string })
})

test('a connection that breaks is taken up again', async () => {
  const cut: Step = { text: 'this is cut off in the middle', chunkSize: 5, cutAfter: 2, times: 1 }
  const result = await take(conversation, inline({ ...cut, afterwards: { text: 'Whole.' } }))
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'Whole.' })
})

test('an interrupted answer keeps what was said, and the next turn works', async () => {
  const slow: Step = { text: 'one two three four five six', chunkSize: 4, chunkDelayMs: 100 }
  const { result, seen } = begin(conversation, inline(slow))
  await seen('text-delta')
  await conversation.interrupt()
  const stopped = await result
  expect(stopped.end).toEqual({ kind: 'interrupted' })
  expect(stopped.text).toMatch(/^one/)
  expect((await take(conversation, inline({ text: 'Next.' }))).text).toBe('Next.')
  // Nothing runs: nothing to interrupt, nothing to fail.
  await conversation.interrupt()
})

test('an interrupted tool is ended with its process', async () => {
  const { result, seen } = begin(conversation, inline(sleeping, { text: 'never' }))
  await seen('waiting')
  await expect.poll(() => sleepers(conversation.pid!), { timeout: 10_000 }).toHaveLength(1)
  await conversation.interrupt()
  expect((await result).end).toEqual({ kind: 'interrupted' })
  await expect.poll(() => sleepers(conversation.pid!)).toEqual([])
})

test('a message that arrives while Claude works is taken into the turn, and matched by its uuid', async () => {
  const until = "iter(lambda: os.path.exists('heard'), True)"
  const command = `python3 -c "import os, time; [time.sleep(0.05) for _ in ${until}]"`
  const untilHeard: Step = { tools: [{ name: 'Bash', input: { command } }] }
  const first = prompt(`first ${inline(untilHeard, { text: 'Both are done.' })}`)
  const second = prompt('and the second')
  const events: TurnEvent[] = []
  const running = conversation.turn(first, (event) => events.push(event))
  await expect.poll(() => events.some((event) => event.type === 'waiting')).toBe(true)
  expect(conversation.steer(second)).toBe(true)
  writeFileSync(join(t.home.project, 'heard'), '')
  const result = await running
  expect(result.prompts).toEqual([first.uuid, second.uuid])
  expect(result.text).toContain('Both are done.')
  expect(t.api.calls().at(-1)!.text).toContain('and the second')
  expect(conversation.steer(prompt('too late'))).toBe(false)
})

test('stop means stop, also for what still waits to be said', async () => {
  const { result, seen } = begin(conversation, inline(sleeping, { text: 'never' }))
  await seen('waiting')
  await expect.poll(() => sleepers(conversation.pid!), { timeout: 10_000 }).toHaveLength(1)
  const late = prompt(`one more thing ${inline({ text: 'It should not be said.', startDelayMs: 3_000 })}`)
  expect(conversation.steer(late)).toBe(true)
  await conversation.interrupt()
  const stopped = await result
  expect(stopped.end).toEqual({ kind: 'interrupted' })
  expect(stopped.said.join()).not.toContain('It should not be said.')
  expect((await take(conversation, inline({ text: 'Ready.' }))).text).toBe('Ready.')
})

test('a second turn at the same time is refused', async () => {
  const running = conversation.turn(prompt(inline({ text: 'slow', startDelayMs: 300 })), () => {})
  await expect(conversation.turn(prompt('x'), () => {})).rejects.toMatchObject({ code: 'busy' })
  expect((await running).end).toEqual({ kind: 'completed' })
})

test('silence ends the turn, and the conversation continues', async () => {
  const { result } = begin(conversation, `silent ${inline({ text: 'never', hang: true })}`)
  await t.api.requested((request) => request.prompt.includes('silent '))
  // Claude may report a moment later that its request began.
  isGivenUp = false
  const skipping = setInterval(() => skip(minuteMs / 4), 50)
  const { end } = await result
  clearInterval(skipping)
  expect(end).toMatchObject({ kind: 'failed', why: 'stalled' })
  expect((await take(conversation, inline({ text: 'Awake.' }))).text).toBe('Awake.')
})

test('an answer that never ends is cut off at a limit that is named; what was written is kept', async () => {
  const text = inline({ text: 'and so on '.repeat(500), chunkDelayMs: 50 })
  // Each word comes half a minute after the one before, so that Claude is never silent.
  isGivenUp = false
  const result = await conversation.turn(prompt(text), ({ type }) => {
    if (type === 'text-delta') skip(minuteMs / 2)
  })
  expect(result.end).toMatchObject({ kind: 'failed', why: 'stalled' })
  expect(result.end).toMatchObject({
    message: expect.stringContaining('3 minutes (claude.maxAnswerMinutes)'),
  })
  expect(result.text).toContain('and so on')
  expect((await take(conversation, inline({ text: 'Short.' }))).text).toBe('Short.')
})

test('a person who thinks for long is not silence of Claude', async () => {
  const resume = { sdkSessionId: conversation.sdkSessionId! }
  await t.open({
    resume,
    askPermission: async () => {
      clock.skip(10 * minuteMs)
      return { behavior: 'deny', message: 'no' }
    },
  })
  const write: Step = {
    tools: [{ name: 'Write', input: { file_path: join(t.home.project, 'x'), content: '' } }],
  }
  const result = await take(conversation, inline(write, { text: 'Understood.' }))
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'Understood.' })
  await t.open({ resume, askPermission: async () => ({ behavior: 'allow' }) })
})

test('sub-agents are not the reply; one in the background is waited for, and its news joins the reply', async () => {
  const agent = (inner: Step, background = false): Step => ({
    text: 'I delegate.',
    tools: [
      {
        name: 'Agent',
        input: {
          description: 'Look',
          subagent_type: 'general-purpose',
          run_in_background: background,
          prompt: `look ${inline({ text: 'inner words', ...inner })}`,
        },
      },
    ],
  })
  const inFront = await take(conversation, inline(agent({}), { text: 'It says so.' }))
  expect(inFront.text).toBe('It says so.')
  expect(inFront.said.join()).not.toContain('inner words')
  expect(inFront.events).toContainEqual(expect.objectContaining({ type: 'subagent', text: 'inner words' }))
  expect(inFront.usage.input).toBe(300)
  // The sub-agent works until the test has seen what the turn does meanwhile.
  const steps = (hold: string): string =>
    inline(agent({ hold }, true), { text: 'It runs.' }, { text: 'It is done.' })
  const { result: behind, seen } = begin(conversation, steps('waited-for'))
  await seen('text', 'It runs.')
  t.api.release('waited-for')
  expect((await behind).text).toBe('It runs.\n\nIt is done.')
  const unprompted: Array<TurnEvent | TurnResult> = []
  const { promise, resolve } = Promise.withResolvers<TurnResult>()
  await t.open({
    resume: { sdkSessionId: conversation.sdkSessionId! },
    askPermission: async () => ({ behavior: 'allow' }),
    onUnprompted: { event: (event) => void unprompted.push(event), ended: resolve },
  })
  const atOnce = await take(conversation, steps('not-waited-for'))
  expect(atOnce.text).toBe('It runs.')
  t.api.release('not-waited-for')
  expect((await promise).text).toBe('It is done.')
  expect(unprompted).toContainEqual({ type: 'text', text: 'It is done.' })
  expect(conversation.busy).toBe(false)
})

test('a session that another program has open is not taken over', async () => {
  const id = conversation.sdkSessionId!
  const resume = { sdkSessionId: id }
  await expect(t.open({ key: 'other', resume })).rejects.toMatchObject({ code: 'busy' })
  // Another Rockpool with a state of its own sees it in Claude's registry.
  const elsewhere = {
    ...t.home,
    variables: { ...t.home.variables, ROCKPOOL_STATE_DIR: join(t.home.root, 'other') },
  }
  const other = await makeTestAgent(
    {},
    { api: t.api, home: { ...elsewhere, stateDir: join(t.home.root, 'other') } },
  )
  expect(await other.agent.resumable(id)).toMatchObject({ ok: false, why: 'in-use' })
  await expect(other.open({ resume })).rejects.toMatchObject({ code: 'busy' })
  const fork = await other.open({ resume: { ...resume, fork: true } })
  expect((await take(fork, inline({ text: 'A fork may.' }))).text).toBe('A fork may.')
  await other.close()
})

test('a killed conversation is gone with everything below it, and says nothing more', async () => {
  const { result, seen } = begin(conversation, inline(sleeping, { text: 'never' }))
  await seen('waiting')
  await expect.poll(() => sleepers(conversation.pid!), { timeout: 10_000 }).toHaveLength(1)
  const tree = [identifyProcess(conversation.pid!)!, ...descendantsOf(conversation.pid!)]
  const id = conversation.sdkSessionId!
  await conversation.kill()
  expect((await result).end).toEqual({ kind: 'interrupted' })
  expect(tree.filter(isSameProcess)).toEqual([])
  expect(await conversation.ended).toEqual({ why: 'killed' })
  expect((await take(conversation, 'anybody there?')).end).toMatchObject({
    kind: 'failed',
    why: 'process-died',
  })
  conversation = await t.open({
    resume: { sdkSessionId: id },
    askPermission: async () => ({ behavior: 'allow' }),
  })
  expect((await take(conversation, inline({ text: 'Back.' }))).text).toBe('Back.')
})

test('a process that dies in the middle of a turn is said, and the next open starts another', async () => {
  const { result, seen } = begin(
    conversation,
    inline({ text: 'one two three', chunkSize: 4, chunkDelayMs: 300 }),
  )
  await seen('text-delta')
  process.kill(conversation.pid!, 'SIGKILL')
  expect((await result).end).toMatchObject({ kind: 'failed', why: 'process-died' })
  expect(await conversation.ended).toMatchObject({ why: 'process-died' })
  const again = await t.open({ resume: { sdkSessionId: conversation.sdkSessionId! } })
  expect((await take(again, inline({ text: 'Here.' }))).text).toBe('Here.')
})

test('a directory or a program that is not there is said in plain words', async () => {
  const elsewhere = await makeTestAgent({ binary: '/nowhere/claude' }, { api: t.api, home: t.home })
  await expect(elsewhere.open({ key: 'nowhere' })).rejects.toMatchObject({ code: 'unavailable' })
  await elsewhere.close()
  await expect(t.open({ key: 'nowhere', cwd: '/nowhere/at/all' })).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('/nowhere/at/all') as string,
  })
})

test('when Rockpool crashes in the middle of a tool, nothing of it runs 5 seconds later', async () => {
  const home = makeClaudeHome({ apiUrl: t.api.url, name: 'crash' })
  const script = join(home.root, 'crash.ts')
  const helper = JSON.stringify(join(import.meta.dirname, 'support/claude-agent.ts'))
  writeFileSync(
    script,
    `import { makeTestAgent, prompt } from ${helper}
     const place = JSON.parse(process.argv[2])
     const t = await makeTestAgent({}, { api: place.api, home: { ...place.home, remove: () => {} } })
     const conversation = await t.open({ askPermission: async () => ({ behavior: 'allow' }) })
     console.log(conversation.pid)
     await conversation.turn(prompt(place.text), () => {})`,
  )
  const text = inline(sleeping, { text: 'never' })
  const place = JSON.stringify({ api: { url: t.api.url }, home, text })
  const rockpool = spawn(process.execPath, [script, place], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(rockpool.stdout, 'data')) as [Buffer]
  const claude = identifyProcess(Number(line.toString()))!
  await expect.poll(() => sleepers(claude.pid), { timeout: 15_000 }).toHaveLength(1)
  const tree: ProcessIdentity[] = [claude, ...descendantsOf(claude.pid)]
  rockpool.kill('SIGKILL')
  await expect.poll(() => tree.filter(isSameProcess), { timeout: 5_000, interval: 50 }).toEqual([])
  home.remove()
})

/** Sleeping tools below this process. */
function sleepers(pid: number): number[] {
  return descendantsOf(pid).flatMap((child) => {
    const command = commandOf(child.pid)
    return command.startsWith('python3') || command.includes('/python3') ? [child.pid] : []
  })
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
  } catch {
    // It ended while we looked.
    return ''
  }
}
