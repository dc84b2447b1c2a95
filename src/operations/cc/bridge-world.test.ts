import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../app.ts'
import { OpenClawLink } from '../../channels/openclaw-link.ts'
import type { OpenClawAnswer } from '../../channels/openclaw-link.ts'
import { makeMovableClock } from '../../../test/support/movable-clock.ts'
import { discoveredSession } from '../../../test/support/discovered-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { DiscoveredSession, Discovery } from '../../domain/discovered-session.ts'
import { formatOpenClawOrigin } from '../../domain/openclaw-contract.ts'
import type { OpenClawQuestion } from '../../domain/openclaw-contract.ts'
import { readEnvironment } from '../../store/config-file.ts'
import type { App } from '../app.ts'
import { bridgeWorld } from './bridge-world.ts'

let folder = ''
let app: App
let sessions: DiscoveredSession[] = []

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-world-')))
  sessions = []
  const config = { channels: { ownerAllowFrom: ['telegram:7'] } }
  mkdirSync(join(folder, '.rockpool'))
  writeFileSync(join(folder, '.rockpool', 'rockpool.json'), JSON.stringify(config))
  const environment = readEnvironment({ HOME: folder, PATH: process.env['PATH'] })
  app = await openApp(environment, { version: '0' })
  const list: Discovery['list'] = async () => ({ total: sessions.length, sessions })
  const transcripts = async () => []
  const snapshot = async () => ({ stamp: '', transcripts })
  app.discovery = () => ({ list, snapshot, transcripts }) as unknown as Discovery
})

afterEach(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const key = 'agent:main:telegram:direct:7'

async function chat(): Promise<void> {
  await app.storage.sessions('main').update(key, () => ({
    sessionId: 'chat-1',
    updatedAt: 1,
    estimatedCostUsd: 0.5,
    deliveryContext: { channel: 'telegram', to: '7', threadId: 3 },
  }))
  await app.storage.transcripts('main').append(
    { sessionId: 'chat-1' },
    [
      { type: 'message', message: { role: 'user', content: 'Please fix the login', timestamp: 1 } },
      {
        type: 'message',
        message: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'secret thought' },
            { type: 'text', text: 'I begin.' },
          ],
          api: 'a',
          provider: 'anthropic',
          model: 'm',
          usage: {
            input: 1,
            output: 1,
            cacheRead: 0,
            cacheWrite: 0,
            totalTokens: 2,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
          },
          stopReason: 'stop',
          timestamp: 2,
        },
      },
    ],
    { cwd: folder },
  )
}

function coding(about: Partial<CodingSession> = {}): CodingSession {
  return {
    id: 'c0d1ng00',
    name: 'brave-otter',
    request: {
      prompt: 'Fix the login form',
      workdir: folder,
      agentId: 'main',
      budgetUsd: 5,
      allowedTools: [],
      permissionMode: 'default',
      multiTurn: true,
      originChannel: 'telegram|7',
      originThreadId: '9',
      originSessionKey: key,
      spawnDepth: 0,
    },
    status: 'running',
    lifecycle: 'active',
    createdAt: 1,
    lastActivityAt: 1,
    budgetUsd: 5,
    allowances: {},
    inbox: [],
    given: [],
    costUsd: 1.25,
    turns: 1,
    autoResponds: 0,
    waitedMs: 0,
    lastSeq: 0,
    ...about,
  }
}

test('a chat session sees its own conversation, cost and chat', async () => {
  await chat()
  const world = bridgeWorld(app, { agentId: 'main', repoPath: folder, sessionKey: key })
  expect(await world.conversation(10)).toMatchObject([
    { role: 'user', text: 'Please fix the login' },
    { role: 'assistant', text: 'I begin.' },
  ])
  expect(await world.spending()).toEqual({ costUsd: 0.5 })
  const said = await world.announce('Half done')
  const rows = await app.storage.work.outbox.list()
  expect(rows).toMatchObject([
    {
      state: 'queued',
      delivery: {
        id: (said as { deliveryId: string }).deliveryId,
        lane: key,
        sessionKey: key,
        address: { channel: 'telegram', to: '7', accountId: 'default', threadId: '3' },
        reply: { text: 'Half done' },
      },
    },
  ])
})

test('a coding session sees the conversation that launched it, and its live cost and budget', async () => {
  await chat()
  const store = app.storage.coding
  await store.save(coding())
  const world = bridgeWorld(app, { agentId: 'main', repoPath: folder, codingId: 'c0d1ng00' })
  expect(await world.task()).toBe('Fix the login form')
  expect((await world.conversation(10))[0]).toMatchObject({ text: 'Please fix the login' })
  expect(await world.spending()).toEqual({ costUsd: 1.25, budgetUsd: 5 })
  await store.update('c0d1ng00', (session) => Object.assign(session, { costUsd: 2, budgetUsd: 9 }))
  expect(await world.spending()).toEqual({ costUsd: 2, budgetUsd: 9 })
  await world.announce('Done')
  expect((await app.storage.work.outbox.list())[0]!.delivery.address).toEqual({
    channel: 'telegram',
    to: '7',
    accountId: 'default',
    threadId: '9',
  })
})

test('a native session sees its own words and what it cost, and has no chat', async () => {
  const filePath = join(folder, 'native.jsonl')
  const line = { type: 'user', message: { content: 'Hello' }, timestamp: '2026-11-15T00:00:00.000Z' }
  writeFileSync(filePath, `${JSON.stringify(line)}\n`)
  sessions = [
    discoveredSession({ filePath, costUsd: 0.75, firstMessage: 'Hello', isRunning: true, pid: process.ppid }),
  ]
  const world = bridgeWorld(app, { agentId: 'main', repoPath: folder, pid: process.pid })
  expect(await world.conversation(5)).toEqual([
    { role: 'user', text: 'Hello', at: '2026-11-15T00:00:00.000Z' },
  ])
  expect(await world.spending()).toEqual({ costUsd: 0.75 })
  expect(await world.task()).toBe('Hello')
  expect(await world.announce('x')).toBeUndefined()
})

test('an agent reaches nothing of another agent, by no key and no id', async () => {
  await chat()
  await app.storage.coding.save(coding({ sdkSessionId: 'theirs' }))
  sessions = [
    discoveredSession({
      sessionId: 'theirs',
      source: 'rockpool',
      agentId: 'main',
      costUsd: 9,
      pid: process.ppid,
    }),
  ]
  const world = bridgeWorld(app, {
    agentId: 'other',
    repoPath: folder,
    sessionKey: key,
    codingId: 'c0d1ng00',
    pid: process.pid,
  })
  expect(await world.conversation(10)).toEqual([])
  expect(await world.task()).toBeUndefined()
  expect(await world.spending()).toEqual({ costUsd: 0 })
  expect(await world.announce('x')).toBeUndefined()
  expect(await world.sessions()).toEqual([])
  expect((await world.projectStatus()).sessions.ownRecent).toEqual([])
})

test('memory is searched in the notes of this agent only', async () => {
  const write = (agentId: string, file: string, text: string): void => {
    mkdirSync(join(app.paths.agent(agentId), file, '..'), { recursive: true })
    writeFileSync(join(app.paths.agent(agentId), file), text)
  }
  write('main', 'memory/2026-11-15.md', 'The LOGIN form uses cookies.')
  write('main', 'workspace/MEMORY.md', 'Nothing about it.')
  write('main', 'workspace/memory/more.md', `${'x'.repeat(10_000)} the login again`)
  write('main', 'memory/code.ts', 'login')
  write('other', 'memory/theirs.md', 'Their login secret')
  symlinkSync(
    join(app.paths.agent('other'), 'memory/theirs.md'),
    join(app.paths.agent('main'), 'memory/link.md'),
  )
  const world = bridgeWorld(app, { agentId: 'main', repoPath: folder })
  const hits = await world.searchMemory('login')
  expect(hits.map(({ source }) => source.slice(app.paths.agent('main').length)).sort()).toEqual([
    '/memory/2026-11-15.md',
    '/workspace/memory/more.md',
  ])
  expect(hits.every(({ text }) => text.length <= 3_000 && /login/i.test(text))).toBe(true)
})

test('a session of OpenClaw asks OpenClaw, and never reads the data of an agent here', async () => {
  await chat()
  const clock = makeMovableClock()
  app.openclaw = new OpenClawLink(clock)
  const target = { channel: 'telegram', to: '7', sessionKey: 'agent:main:main', agentId: 'main' }
  const sessionOf = (agentId: string): CodingSession => {
    const { request } = coding()
    return coding({ request: { ...request, agentId, originChannel: formatOpenClawOrigin(target) } })
  }
  const seat = { agentId: 'openclaw-main', repoPath: folder, codingId: 'c0d1ng00' }
  await app.storage.coding.save(sessionOf('openclaw-main'))
  const world = bridgeWorld(app, seat)

  const unanswered = expect(world.conversation(10)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'OpenClaw cannot be reached at the moment.',
  })
  await clock.advance(10_000)
  await unanswered

  const asked: OpenClawQuestion[] = []
  app.openclaw.connect((event) => event.type === 'openclaw-question' && void asked.push(event.question))
  const answering = (answer: OpenClawAnswer): boolean => app.openclaw.answer(asked.at(-1)!.id, answer)
  const conversation = world.conversation(1)
  expect(asked).toMatchObject([{ kind: 'conversation', target, limit: 1 }])
  const lines = ['one', 'two'].map((text) => ({ role: 'user' as const, text }))
  answering({ lines })
  expect(await conversation).toEqual([lines[1]])
  const memory = world.searchMemory('heron')
  answering({ error: 'no memory is configured' })
  await expect(memory).rejects.toThrow('OpenClaw could not answer: no memory is configured')
  expect(asked).toMatchObject([{ kind: 'conversation' }, { kind: 'memory', query: 'heron', target }])

  // An operator gave an agent of Rockpool an origin in OpenClaw: neither side's data is shown.
  await app.storage.coding.save(sessionOf('main'))
  const mixed = bridgeWorld(app, { ...seat, agentId: 'main' })
  await expect(mixed.conversation(10)).rejects.toMatchObject({ code: 'refused' })
  expect(asked).toHaveLength(2)
})
