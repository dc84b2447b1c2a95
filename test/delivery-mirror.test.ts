// What is delivered to a chat beside its agent's answers is in the history of the chat's session, marked.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CodingSession } from '../src/domain/coding-session.ts'
import { bridgeWorld } from '../src/operations/cc/bridge-world.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'

const key = 'agent:main:web:direct:test'
let house: ChannelHouse

beforeEach(async () => {
  house = await openChannelHouse({ offline: true })
  await house.ask('web.write', { text: 'hello' })
  await house.conversations.converse.idle()
})
afterEach(() => house.close())

async function delivered(): Promise<string[]> {
  const { entries } = (await house.ask('sessions.history', { key })) as {
    entries: Array<{ message?: { model: string; content: Array<{ text: string }> } }>
  }
  return entries.flatMap(({ message }) =>
    message?.model === 'delivery-mirror' ? message.content.map(({ text }) => text) : [],
  )
}

test('a message that was sent by hand, with its file', async () => {
  const file = join(house.home.root, 'chart.txt')
  writeFileSync(file, 'a chart')
  const chat = { channel: 'web', target: 'dashboard' }
  await house.ask('message.send', { ...chat, message: 'Look at this.', media: file })
  expect(await delivered()).toEqual(['Look at this.\n\nchart.txt'])
})

test('an announcement of a session, and notices of a coding session; not its streamed output', async () => {
  const seat = { agentId: 'main', repoPath: house.home.project, sessionKey: key }
  await bridgeWorld(house.app, seat).announce('The tests pass.')
  const request = { originChannel: 'web|dashboard' }
  await house.app
    .coding()
    .notifications.routeEventMessage({ id: 'c1', request } as CodingSession, 'Deployed.', 'deploy')
  await house.app.storage.work.outbox.leave([
    {
      id: 'o1',
      lane: 'notices:web|dashboard',
      address: { channel: 'web', accountId: 'default', to: 'dashboard' },
      reply: { text: 'line by line' },
      idempotencyKey: 'coding:c1:out:1-2',
      sessionKey: 'coding:c1',
      continues: 'coding:c1',
      createdAt: Date.now(),
    },
  ])
  await vi.waitFor(async () => expect((await house.app.storage.work.outbox.get('o1'))?.state).toBe('sent'), {
    timeout: 20_000,
  })
  expect((await delivered()).toSorted()).toEqual(['Deployed.', 'The tests pass.'])
})

test('the answer to a command, and the notice of a reset', async () => {
  await house.ask('web.write', { text: '/verbose on' })
  await house.conversations.converse.idle()
  expect(await delivered()).toEqual(['Showing tools: on.'])
  await house.ask('web.write', { text: '/new' })
  await house.conversations.converse.idle()
  expect(await delivered()).toEqual(['New session.'])
})

test('a chat without any message stays without a session', async () => {
  await house.ask('message.send', { channel: 'web', target: 'elsewhere', message: 'Is somebody here?' })
  expect(await delivered()).toEqual([])
  expect(await house.ask('sessions.list', {})).toMatchObject({ total: 1 })
})
