// What happens to messages when the process ends: in order, by force, in the middle of a turn, or twice.
import { rmSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Conversations } from '../src/flow/conversations.ts'
import { Converse } from '../src/flow/converse.ts'
import { systemClock } from '../src/domain/clock.ts'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { releaseTurn } from '../src/flow/turn-recovery.ts'
import type { LaneShare } from '../src/store/work-store.ts'
import type { FlowBench, FlowBenchOptions } from './support/flow-bench.ts'
import { openFlow, wordsOf } from './support/flow-bench.ts'
import { aDelivery, anInput } from './support/work-store-contract.ts'

const opened: FlowBench[] = []
async function flow(options: FlowBenchOptions = {}): Promise<FlowBench> {
  const bench = await openFlow(options)
  opened.push(bench)
  return bench
}
afterEach(async () => {
  for (const bench of opened.splice(0)) {
    // Those that a test has ended are closed already.
    await bench.stop().catch(() => {})
    bench.remove()
  }
})

const key = 'agent:main:memory:direct:7'
const followup = { messages: { queue: { mode: 'followup' } } }

/** As after kill -9: nothing is finished, the folder is opened by the next process. */
async function killed(bench: FlowBench): Promise<void> {
  bench.converse.abandon()
  await bench.converse.queue.interruptAll()
  await bench.stop()
}

test('a turn that was cut off is taken again, before what waited behind it', async () => {
  const bench = await flow({ config: followup })
  await bench.channel.say('[[offline: wait 60000]]')
  await bench.channel.say('[[offline: say the next answer]]')
  await bench.untilTurnRuns(key)
  await killed(bench)
  const again = await flow({ folder: bench.folder, config: followup })
  await again.untilTurnRuns(key)
  expect(await again.work.lanes.running()).toMatchObject([{ inputs: [{ lostTurns: 1 }] }])
  expect(again.converse.queue.waiting(key).map((input) => input.lostTurns)).toEqual([0])
  await killed(again)
})

/** The process dies while the agent works on the message, and the next one starts; so often. */
async function cutOff(bench: FlowBench, times: number): Promise<FlowBench> {
  let current = bench
  for (let i = 0; i < times; i++) {
    await current.untilAsked(key)
    await killed(current)
    current = await flow({ folder: bench.folder, config: followup })
  }
  return current
}

test('a message is given up after two attempts to ask the agent; its sender gets a message, and the transcript has it', async () => {
  const bench = await flow({ config: followup })
  await bench.channel.say('[[offline: wait 60000]]')
  const third = await cutOff(bench, 2)
  await third.settled()
  expect(third.channel.texts).toEqual([
    'I was interrupted twice while I worked on "[[offline: wait 60000]]". ' +
      'Please send it again, and any later message that gets no answer, or let me do that.',
  ])
  expect(await third.work.inbox.waiting()).toEqual([])
  expect(JSON.stringify(await third.transcript(key))).toContain('[[offline: wait 60000]]')
})

const unanswerable = '[[offline: wait 60000]]'
const question = `user: ${unanswerable}`

/** An agent that answers each message at once. */
function answering(): Partial<FlowBenchOptions> {
  return { config: followup, runtime: makeOfflineAgent({ clock: systemClock }) }
}

test('a question whose turn is taken again is in the transcript once, and what came later after it', async () => {
  const bench = await flow({ config: followup })
  await bench.channel.say(unanswerable, { id: 'one' })
  await bench.channel.say(unanswerable, { id: 'two' })
  await bench.untilAsked(key)
  await killed(bench)
  const again = await flow({ folder: bench.folder, ...answering() })
  await again.settled()
  expect(again.channel.texts).toEqual([expect.stringContaining('(Retried:'), expect.anything()])
  const answer = expect.stringMatching(/^assistant: /)
  expect(wordsOf(await again.transcript(key))).toEqual([question, answer, question, answer])
})

test('a reset is not done again when its turn is taken again', async () => {
  const bench = await flow({ config: followup })
  await bench.channel.say('[[offline: say before]]', { id: 'zero' })
  await bench.settled()
  await bench.channel.say(`/new ${unanswerable}`, { id: 'one' })
  await bench.untilAsked(key)
  await killed(bench)
  const again = await flow({ folder: bench.folder, ...answering() })
  await again.settled()
  expect(again.channel.texts).toEqual([expect.stringMatching(/^\(Retried: .*\)\n\nNew session\./s)])
  expect(wordsOf(await again.transcript(key))).toEqual([question, expect.stringMatching(/^assistant: /)])
  expect(await again.transcripts.archives()).toHaveLength(1)
})

test('a message that had joined a lost turn is in the transcript once, also if it is collected with a new one', async () => {
  const bench = await flow()
  await bench.channel.say(unanswerable)
  await bench.untilAsked(key)
  await bench.channel.say('and this')
  await expect.poll(async () => wordsOf(await bench.transcript(key))).toEqual([question, 'user: and this'])
  await expect.poll(async () => (await bench.work.lanes.running())[0]?.inputs.length).toBe(2)
  const joined = (await bench.work.lanes.running())[0]!.inputs[1]!
  const message = { ...joined.message, text: 'and that' }
  await bench.work.inbox.accept({ ...joined, key: 'later', message })
  await killed(bench)
  const collect = { messages: { queue: { mode: 'collect', debounceMs: 0 } } }
  const again = await flow({ folder: bench.folder, ...answering(), config: collect })
  await again.settled()
  const answer = expect.stringMatching(/^assistant: /)
  expect(wordsOf(await again.transcript(key))).toEqual([
    question,
    'user: and this',
    answer,
    'user: and that',
    answer,
  ])
})

test('a chat gets one notice that the program was interrupted, until a message is answered there', async () => {
  let bench = await flow({ config: followup })
  const told: string[] = []
  for (const text of ['first', 'second', 'third']) {
    await bench.channel.say(`[[offline: wait 60000]] ${text}`, { id: text })
    bench = await cutOff(bench, 2)
    await bench.settled()
    told.push(...bench.channel.texts)
  }
  expect(told).toEqual([expect.stringContaining('first')])
  const transcript = JSON.stringify(await bench.transcript(key))
  for (const text of ['first', 'second', 'third']) expect(transcript).toContain(`wait 60000]] ${text}`)
  await bench.channel.say('[[offline: say here again]]', { id: 'again' })
  await bench.settled()
  await bench.channel.say('[[offline: wait 60000]] fourth', { id: 'fourth' })
  bench = await cutOff(bench, 2)
  await bench.settled()
  expect(bench.channel.texts).toEqual([expect.stringContaining('fourth')])
})

test('a press asks again what was given up: all of it, in order, once, and only for the person who wrote it', async () => {
  let bench = await flow({ config: followup })
  let data = ''
  for (const text of ['first', 'second']) {
    await bench.channel.say(`[[offline: wait 60000]] ${text}`, { id: text })
    bench = await cutOff(bench, 2)
    await bench.settled()
    data ||= bench.channel.sent[0]!.reply.buttons!.flat()[0]!.data
  }
  const press = (id: string, from = '7') =>
    bench.channel.say('', { id, sender: { id: from }, event: 'button', button: { data, messageId: 'm' } })
  await press('by another person', '8')
  expect(await bench.work.inbox.waiting()).toEqual([])
  await press('one')
  await press('two')
  await bench.untilAsked(key)
  const running = (await bench.work.lanes.running()).flatMap((turn) => turn.inputs)
  const asked = [...running, ...(await bench.work.inbox.waiting())].map(({ message }) => message.text)
  expect(asked).toEqual(['first', 'second'].map((text) => `[[offline: wait 60000]] ${text}`))
  await killed(bench)
})

test('a turn that is lost before the agent was asked costs no try, however often', async () => {
  const bench = await flow()
  const address = { channel: 'memory', accountId: 'default', to: '7' }
  const message = { ...anInput(1).message, address, text: '[[offline: say here it is]]' }
  const input = (await bench.work.inbox.accept(anInput(1, key, { message })))!
  for (let i = 0; i < 5; i++) {
    const turn = { id: `t${i}`, lane: key, agentId: 'main', kind: 'message' as const, owner: 'dead' }
    await bench.work.lanes.begin({ ...turn, inputs: [input.id] })
    const [lost] = await bench.work.lanes.running()
    expect(await releaseTurn(lost!, bench.work, bench.converse.parts)).toEqual([])
  }
  await bench.stop()
  const again = await flow({ folder: bench.folder })
  await again.settled()
  expect(again.channel.texts).toEqual([expect.stringContaining('here it is')])
})

test('a question that is given up is written into the transcript if a power cut removed it', async () => {
  const bench = await flow({ config: followup })
  await bench.channel.say('[[offline: wait 60000]]')
  const second = await cutOff(bench, 1)
  await second.untilAsked(key)
  const { sessionId } = (await second.sessions.get(key))!
  await killed(second)
  rmSync(second.paths.sessions('main') + `/${sessionId}.jsonl`)
  const third = await flow({ folder: bench.folder, config: followup })
  await third.settled()
  expect(JSON.stringify(await third.transcript(key))).toContain('[[offline: wait 60000]]')
})

test('what people said is on disk in the transcript before it leaves the inbox, also when nothing was answered', async () => {
  const bench = await flow()
  const order: string[] = []
  const { transcripts, work } = bench
  const append = transcripts.append.bind(transcripts)
  const sync = transcripts.sync.bind(transcripts)
  const finish = work.lanes.finish.bind(work.lanes)
  transcripts.append = async (...args) => {
    const entries = await append(...args)
    order.push(args[2].isKeptElsewhere ? 'written' : 'on disk')
    return entries
  }
  transcripts.sync = async (...args) => {
    await sync(...args)
    order.push('on disk')
  }
  work.lanes.finish = (...args) => {
    order.push('finished')
    return finish(...args)
  }
  await bench.channel.say('hello')
  await bench.settled()
  await bench.channel.say('[[offline: wait 1]]')
  await bench.settled()
  expect(order.join(', ')).toBe('written, on disk, finished, written, on disk, finished')
})

test('the answer of a retried turn is marked', async () => {
  const bench = await flow()
  const input = (await bench.work.inbox.accept(
    anInput(1, key, {
      message: {
        ...anInput(1).message,
        address: { channel: 'memory', accountId: 'default', to: '7' },
        text: '[[offline: say here it is]]',
      },
    }),
  ))!
  await bench.work.lanes.begin({
    id: 't1',
    lane: key,
    agentId: 'main',
    kind: 'message',
    owner: 'dead',
    inputs: [input.id],
  })
  await bench.stop()
  const again = await flow({ folder: bench.folder })
  await again.settled()
  expect(again.channel.texts).toEqual(['(Retried: the first try was cut off.)\n\nhere it is'])
})

test('a reply that was being sent when the process died is sent again, marked', async () => {
  const bench = await flow()
  await bench.work.outbox.add([
    aDelivery(1, { address: { channel: 'memory', accountId: 'default', to: '7' }, createdAt: Date.now() }),
  ])
  await bench.work.outbox.change('d1', { state: 'attempting', resent: false })
  await bench.stop()
  const again = await flow({ folder: bench.folder })
  await again.channel.untilSent(1)
  expect(again.channel.sent).toMatchObject([{ resent: true, reply: { text: 'reply 1' } }])
})

test('a session in which another process takes a turn is waited for; one that a dead process left is taken over', async () => {
  let alive = true
  const bench = await flow({ parts: { isAlive: () => alive } })
  await bench.work.lanes.begin({
    id: 'other',
    lane: key,
    agentId: 'main',
    kind: 'message',
    owner: 'somebody',
    inputs: [],
  })
  await bench.channel.say('[[offline: say at last]]')
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(bench.channel.texts).toEqual([])
  alive = false
  await bench.channel.untilSent(1)
  expect(bench.channel.texts).toEqual(['at last'])
})

test('where lanes are shared, a lane with a lost turn goes back: what was lost is taken before what came later', async () => {
  const bench = await flow()
  const failed: string[] = []
  const share: LaneShare = {
    serves: false,
    take: async (_room, up) => {
      failed.push(...up.failed)
      return []
    },
    lost: async () => [],
    wakeOthers: () => {},
    onWork: () => () => {},
    onDeclaredDead: () => {},
    holders: async () => [],
    keep: async () => false,
    unheld: async () => [],
    stopUnheld: async () => 0,
    setReach: async () => {},
  }
  const converse = new Converse({ ...bench.converse.parts, work: { ...bench.work, share } })
  const lost = { id: 'lost', lane: key, agentId: 'main', kind: 'message' as const, owner: 'me' }
  await bench.work.lanes.begin({ ...lost, inputs: [] })
  const later = (await bench.work.inbox.accept(anInput(2, key)))!
  converse.shared!.start()
  converse.resume([later])
  await expect.poll(() => failed).toEqual([key])
  expect(await bench.work.inbox.waiting(key)).toMatchObject([{ id: later.id }])
  await converse.shared!.stop()
})

test('stopping takes nothing new, waits for what runs, and loses nothing', async () => {
  const bench = await flow({ config: followup })
  const conversations = new Conversations(bench.converse.parts, [bench.channel])
  await conversations.start()
  await bench.channel.say('[[offline: wait 500]][[offline: say in time]]')
  await bench.channel.say('[[offline: say later]]')
  await conversations.stop(5_000)
  expect(bench.channel.texts).toEqual(['in time'])
  await bench.stop()
  const again = await flow({ folder: bench.folder, config: followup })
  await again.settled()
  expect(again.channel.texts).toEqual(['later'])
})

test('a turn that does not end in time is interrupted and retried after the next start', async () => {
  const bench = await flow({ config: followup })
  const conversations = new Conversations(bench.converse.parts, [bench.channel])
  await conversations.start()
  await bench.channel.say('[[offline: wait 60000]][[offline: say never]]')
  await expect.poll(async () => (await bench.work.lanes.running()).length).toBe(1)
  const began = performance.now()
  await conversations.stop(100)
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(bench.channel.texts).toEqual([])
  expect(await bench.work.lanes.running()).toMatchObject([{ lane: key, inputs: [{ lostTurns: 0 }] }])
})

test.each([
  [true, 1],
  [false, 0],
])('claude.spare %s: %i process is started before anybody has written', async (spare, wanted) => {
  const bench = await flow({ config: { claude: { spare } } })
  let started = 0
  const runtime = { ...bench.runtime, prewarm: async () => void started++ }
  const conversations = new Conversations({ ...bench.converse.parts, runtime }, [bench.channel])
  await conversations.start()
  await conversations.stop(1_000)
  expect(started).toBe(wanted)
})
