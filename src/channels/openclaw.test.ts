import { expect, test } from 'vitest'
import { formatOpenClawOrigin, parseOpenClawOrigin } from '../domain/openclaw-contract.ts'
import type { OpenClawEvent } from '../domain/openclaw-contract.ts'
import { parseOriginChannel } from '../domain/address.ts'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { testHost } from '../../test/support/channel-host.ts'
import { OpenClawLink } from './openclaw-link.ts'
import { OpenClawChannel } from './openclaw.ts'

const target = { channel: 'telegram', to: '501', sessionKey: 'agent:main:main', agentId: 'main' }
const address = parseOriginChannel(formatOpenClawOrigin(target))!

async function openChannel() {
  const clock = makeMovableClock()
  const link = new OpenClawLink(clock)
  const channel = new OpenClawChannel(testHost(clock), link)
  await channel.start()
  const send = (key: string) => channel.send(address, { text: key }, { idempotencyKey: key, resent: false })
  return { clock, link, channel, send }
}

/** A plugin that only notes what it is offered. */
function connectTo(link: OpenClawLink): { ids: string[]; events: OpenClawEvent[]; leave: () => void } {
  const events: OpenClawEvent[] = []
  const ids: string[] = []
  const leave = link.connect((event) => {
    events.push(event)
    ids.push(event.type === 'openclaw-delivery' ? event.delivery.id : event.question.id)
  })
  return { ids, events, leave }
}

test('a delivery without a plugin waits, and the status says why', async () => {
  const { link, channel, send } = await openChannel()
  expect(channel.status()).toMatchObject({ state: 'starting', lastError: 'No OpenClaw plugin is connected.' })
  expect(channel.canSend).toBe(false)
  expect(await send('early')).toMatchObject({ kind: 'retry' })
  const { leave } = connectTo(link)
  expect(channel.status()).toMatchObject({ state: 'connected' })
  leave()
  expect(channel.status()).toMatchObject({ state: 'starting' })
})

test('the plugin acknowledges, refuses, or asks for a later attempt; without an answer the outcome is unknown', async () => {
  const { clock, link, send } = await openChannel()
  const plugin = connectTo(link)
  const answers = [
    [{ messageIds: ['7'] }, { kind: 'sent', messageIds: ['7'] }],
    [{ refused: 'the chat is gone' }, { kind: 'refused', reason: 'the chat is gone' }],
    [
      { refused: 'slow down', retryAfterMs: 50 },
      { kind: 'retry', reason: 'slow down', retryAfterMs: 50 },
    ],
  ] as const
  for (const [said, outcome] of answers) {
    const sending = send(JSON.stringify(said))
    const id = plugin.ids.at(-1)!
    expect(link.answer(id, {})).toBe(false)
    expect(
      link.acknowledge(id, { ...said, messageIds: 'messageIds' in said ? [...said.messageIds] : undefined }),
    ).toBe(true)
    expect(await sending).toEqual(outcome)
    expect(link.acknowledge(id, {})).toBe(false)
  }
  const sending = send('silence')
  await clock.advance(30_000)
  expect(await sending).toMatchObject({ kind: 'unknown' })
})

test('the newest of several plugins gets everything; when it leaves, the one before it gets what is open', async () => {
  const { link, send } = await openChannel()
  const older = connectTo(link)
  const newer = connectTo(link)
  const sending = send('once')
  expect([older.ids.length, newer.ids.length]).toEqual([0, 1])
  newer.leave()
  expect(older.ids).toEqual(newer.ids)
  link.acknowledge(older.ids[0]!, {})
  expect(await sending).toMatchObject({ kind: 'sent' })
})

test('what is open is offered again, under the same id, to a plugin that connects', async () => {
  const { link, send } = await openChannel()
  const before = connectTo(link)
  const sending = send('once')
  before.leave()
  const after = connectTo(link)
  expect(after.events).toEqual(before.events)
  link.acknowledge(after.ids[0]!, {})
  expect(await sending).toMatchObject({ kind: 'sent' })
  expect(connectTo(link).ids).toEqual([])
})

test('an address that is no target of OpenClaw is refused', async () => {
  const { link, channel } = await openChannel()
  connectTo(link)
  const odd = [{ ...target, more: 1 }, { agentId: 'main' }, 'text', null]
  const targets = odd.map((value) => Buffer.from(JSON.stringify(value)).toString('base64url'))
  for (const to of [...targets, '%%%', 'e30']) {
    expect(parseOpenClawOrigin(`openclaw|default|${to}`)).toBeUndefined()
    const options = { idempotencyKey: 'k', resent: false }
    expect(await channel.send({ ...address, to }, { text: 'x' }, options)).toMatchObject({ kind: 'refused' })
  }
})
