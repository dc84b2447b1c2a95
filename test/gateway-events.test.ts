// What a client receives while connected and after a reconnect, and what a slow client costs the others.
import { connect as connectTcp } from 'node:net'
import { createHash, randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { GatewayClient } from '../src/rpc/client.ts'
import type { RockpoolEvent } from '../src/domain/events.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { bearer, connect, openHouse, rpc } from './support/gateway-house.ts'
import type { Client, House } from './support/gateway-house.ts'

const houses: House[] = []
const open = async (): Promise<House> => {
  const house = await openHouse()
  houses.push(house)
  return house
}
afterEach(async () => {
  for (const house of houses.splice(0)) await house.close()
})

interface Heard {
  subscriptionId: string
  epoch: string
  seq: number
  event: RockpoolEvent
}
const heard = (client: Client): Heard[] =>
  client.frames.filter((frame) => frame['method'] === 'event').map((frame) => frame['params'] as Heard)
const patch = (house: House, key: string, n: number) =>
  rpc(house, 'sessions.patch', { key, label: `label ${n}` })
const subscribed = async (client: Client, topic: string, params: object = {}) =>
  (await client.call(`${topic}.subscribe`, params)).result as {
    subscriptionId: string
    gap: boolean
    epoch: string
    seq: number
  }

test('a subscriber gets every change, numbered', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  const { subscriptionId, seq } = await subscribed(client, 'sessions')
  for (let n = 0; n < 5; n++) await patch(house, 'main', n)
  await client.frame((frame) => frame['method'] === 'event' && (frame['params'] as Heard).seq === seq + 5)
  expect(heard(client).map((event) => event.seq)).toEqual([1, 2, 3, 4, 5].map((n) => seq + n))
  expect(heard(client)[0]).toMatchObject({
    subscriptionId,
    event: { type: 'session-changed', key: 'agent:main:main', why: 'patch' },
  })
})

test('after unsubscribing no further event arrives', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  const { subscriptionId } = await subscribed(client, 'sessions')
  expect((await client.call('sessions.unsubscribe', { subscriptionId })).result).toEqual({ removed: 1 })
  await patch(house, 'main', 1)
  await client.call('health')
  expect(heard(client)).toEqual([])
})

test('a client that was away gets what it missed', async () => {
  const house = await open()
  const first = await connect(house, bearer(house.token))
  const { epoch, seq } = await subscribed(first, 'sessions')
  first.socket.terminate()
  for (let n = 0; n < 3; n++) await patch(house, 'main', n)
  const again = await connect(house, bearer(house.token))
  expect(await subscribed(again, 'sessions', { since: { epoch, seq } })).toMatchObject({
    gap: false,
    seq: seq + 3,
  })
  await again.call('health')
  expect(heard(again).map((event) => event.seq)).toEqual([seq + 1, seq + 2, seq + 3])
})

test('a client that was away too long, or since before a restart, gets a gap event', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  const { epoch } = await subscribed(client, 'sessions')
  for (let n = 0; n < 6000; n++)
    house.app.events.emit({ type: 'session-deleted', agentId: 'main', key: `k${n}` })
  const again = await connect(house, bearer(house.token))
  expect((await subscribed(again, 'sessions', { since: { epoch, seq: 1 } })).gap).toBe(true)
  expect((await subscribed(again, 'sessions', { since: { epoch: 'another run', seq: 1 } })).gap).toBe(true)
  expect((await subscribed(again, 'sessions', { since: { epoch, seq: 5999 } })).gap).toBe(false)
})

test('the messages of one session reach only its subscribers', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  await subscribed(client, 'sessions.messages', { key: 'agent:main:a' })
  const turn = (key: string): RockpoolEvent => ({
    type: 'turn-event',
    agentId: 'main',
    key,
    turnId: 't',
    event: { type: 'text', text: 'hello' },
  })
  house.app.events.emit(turn('agent:main:b'))
  house.app.events.emit(turn('agent:main:a'))
  await client.frame((frame) => frame['method'] === 'event')
  expect(heard(client).map(({ event }) => 'key' in event && event.key)).toEqual(['agent:main:a'])
})

test('of many open pages each gets the events of its own subscriptions and rights, in order and under its own ids', async () => {
  const house = await open()
  const token = newToken()
  const hash = hashOf(token).toString('base64url')
  writeTokenRecords(house.dir, [{ name: 'work', scopes: ['read'], agentId: 'work', createdAt: 0, hash }])
  await rpc(house, 'agents.add', { id: 'work' })
  const kinds = [
    { credential: house.token, topics: [{}], expected: ['main 0', 'work 0', 'main 1', 'work 1'] },
    { credential: house.token, topics: [{ agentId: 'main' }], expected: ['main 0', 'main 1'] },
    { credential: token, topics: [{}], expected: ['work 0', 'work 1'] },
    { credential: token, topics: [{ agentId: 'main' }], expected: [] },
    { credential: token, topics: [{}, {}], expected: ['work 0', 'work 0', 'work 1', 'work 1'] },
  ]
  const pages = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const kind = kinds[n % kinds.length]!
      const client = await connect(house, bearer(kind.credential))
      const ids: string[] = []
      for (const topic of kind.topics) ids.push((await subscribed(client, 'sessions', topic)).subscriptionId)
      return { client, ids, expected: kind.expected }
    }),
  )
  for (let n = 0; n < 2; n++)
    for (const agentId of ['main', 'work'])
      house.app.events.emit({ type: 'session-deleted', agentId, key: `${agentId} ${n}` })
  const whole = pages.filter(({ expected }) => expected.length > 0)
  for (const { client, expected } of whole)
    await expect.poll(() => heard(client)).toHaveLength(expected.length)
  for (const { client, ids, expected } of pages) {
    const got = heard(client).map(({ event, subscriptionId }) => ({
      key: 'key' in event && event.key,
      subscriptionId,
    }))
    expect(got).toEqual(expected.map((key, n) => ({ key, subscriptionId: ids[ids.length > 1 ? n % 2 : 0] })))
  }
})

test('a new agent and its removal are announced, also if it has no settings', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  await subscribed(client, 'system')
  await rpc(house, 'agents.add', { id: 'work' })
  await rpc(house, 'agents.remove', { id: 'work' })
  await expect
    .poll(() => heard(client).map(({ event }) => event))
    .toMatchObject([
      { type: 'config-changed', reloaded: ['agents'] },
      { type: 'config-changed', reloaded: ['agents'] },
    ])
})

test('a token that is bound to an agent sees that agent only', async () => {
  const house = await open()
  const token = newToken()
  const hash = hashOf(token).toString('base64url')
  writeTokenRecords(house.dir, [{ name: 'work', scopes: ['write'], agentId: 'work', createdAt: 0, hash }])
  await rpc(house, 'agents.add', { id: 'work' })
  await rpc(house, 'sessions.patch', { key: 'agent:main:main', label: 'private' })
  const client = await connect(house)
  await client.call('connect', { token, agentId: 'main' })
  await subscribed(client, 'sessions')
  expect((await client.call('sessions.list')).result).toMatchObject({ count: 0 })
  expect((await client.call('sessions.get', { key: 'agent:main:main' })).error?.data?.code).toBe('not-found')
  expect((await client.call('sessions.get', { key: 'private' })).error?.data?.code).toBe('not-found')
  expect(
    (await client.call('sessions.patch', { key: 'agent:main:main', label: 'x' })).error?.data?.code,
  ).toBe('not-found')
  expect((await client.call('sessions.list', { agentId: 'main' })).error?.data?.code).toBe('not-found')
  await rpc(house, 'sessions.patch', { key: 'agent:main:main', label: 'still private' })
  await client.call('sessions.patch', { key: 'agent:work:main', label: 'mine' })
  await client.frame((frame) => frame['method'] === 'event')
  expect(heard(client).map(({ event }) => 'key' in event && event.key)).toEqual(['agent:work:main'])
})

test('a client that does not read is closed; the others hear everything', async () => {
  const house = await open()
  const sluggish = await stalledSocket(house)
  const client = await connect(house, bearer(house.token))
  const { seq } = await subscribed(client, 'sessions')
  const text = 'x'.repeat(100_000)
  const before = process.memoryUsage().rss
  for (let n = 0; n < 400; n++) {
    house.app.events.emit({ type: 'session-changed', agentId: 'main', key: 'agent:main:main', why: text })
    // As fast as the one who reads can follow.
    if (n % 10 === 9)
      await client.frame((frame) => (frame['params'] as Heard | undefined)?.seq === seq + n + 1)
  }
  await sluggish.closed
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
})

test('one token has at most 2,000 subscriptions over all its connections; those of a closed connection are free again', async () => {
  const house = await open()
  const client = await connect(house, bearer(house.token))
  const { token } = (await client.call('tokens.add', { name: 'many', scopes: ['read'] })).result as {
    token: string
  }
  const codesOf = async (other: Client, count: number): Promise<unknown[]> => {
    const answers = await Promise.all(Array.from({ length: count }, () => other.call('sessions.subscribe')))
    return [...new Set(answers.map(({ error }) => error?.data?.code))]
  }
  const others: Client[] = []
  for (let n = 0; n < 20; n++) others.push(await connect(house, bearer(token)))
  for (const other of others) expect(await codesOf(other, 100)).toEqual([undefined])
  const late = await connect(house, bearer(token))
  expect(await codesOf(late, 1)).toEqual(['busy'])
  expect((await client.call('sessions.subscribe')).error).toBeUndefined()
  await others[0]!.call('sessions.unsubscribe')
  expect(await codesOf(late, 100)).toEqual([undefined])
  expect(await codesOf(others[0]!, 1)).toEqual(['busy'])
  others[1]!.socket.terminate()
  await vi.waitFor(async () => expect(await codesOf(others[0]!, 1)).toEqual([undefined]), 20_000)
})

test('a request that is too large says so, and the next one is answered', async () => {
  const house = await open()
  const client = new GatewayClient({ url: house.gateway.wsUrl, token: house.token })
  const large = { message: 'x'.repeat(1_100_000) }
  await expect(client.callByName('turns.send', large)).rejects.toMatchObject({
    code: 'input-invalid',
    message: expect.stringContaining('too large'),
  })
  await expect(client.callByName('health')).resolves.toMatchObject({ ok: true })
  client.close()
})

test('a repeated request with the same idempotency key is done once and answered alike', async () => {
  const house = await open()
  const request = { key: 'main', label: 'once', idempotencyKey: 'k1' }
  const first = await rpc(house, 'sessions.patch', request)
  await rpc(house, 'sessions.patch', { key: 'main', label: 'later' })
  expect(await rpc(house, 'sessions.patch', request)).toEqual(first)
  expect((await rpc(house, 'sessions.get', { key: 'main' })).result).toMatchObject({
    entry: { label: 'later' },
  })
  const other = await rpc(house, 'sessions.patch', { ...request, label: 'other' })
  expect(other.error?.data?.code).toBe('conflict')
})

test('a token that is shown once is kept nowhere, not even for a repeat', async () => {
  const house = await open()
  const request = { name: 'grafana', idempotencyKey: 'k3' }
  const { token } = (await rpc(house, 'tokens.add', request)).result as { token: string }
  expect((await rpc(house, 'tokens.add', request)).error?.data?.code).toBe('conflict')
  const files = globSync('**/*', { cwd: house.dir, withFileTypes: true }).filter((file) => file.isFile())
  const holders = files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(token))
  expect(files.length).toBeGreaterThan(0)
  expect(holders).toEqual([])
})

test('a request that failed may be tried again under its key', async () => {
  const house = await open()
  const request = { key: 'nobody', idempotencyKey: 'k2' }
  expect((await rpc(house, 'sessions.reset', request)).error?.data?.code).toBe('not-found')
  await rpc(house, 'sessions.patch', { key: 'agent:main:nobody', label: 'nobody' })
  expect((await rpc(house, 'sessions.reset', request)).error).toBeUndefined()
})

test('our client reconnects by itself and gets what it missed', async () => {
  const house = await open()
  const client = new GatewayClient({ url: house.gateway.wsUrl, token: house.token })
  const events: RockpoolEvent[] = []
  let wake = (): void => {}
  client.subscribe('sessions', {}, { event: (event) => (events.push(event), wake()) })
  await client.call('sessions.patch', { key: 'main', label: 'one' })
  const until = async (count: number): Promise<void> => {
    while (events.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  await until(1)
  house.gateway.dropConnections()
  await patch(house, 'main', 2)
  await until(2)
  await expect(client.callByName('nothing.like.this')).rejects.toMatchObject({ code: 'not-found' })
  client.close()
})

/** A WebSocket whose owner never reads what it is sent. */
async function stalledSocket(house: House): Promise<{ closed: Promise<void> }> {
  const socket = connectTcp(house.gateway.port, '127.0.0.1')
  const key = randomBytes(16).toString('base64')
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${house.gateway.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nAuthorization: Bearer ${house.token}\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  socket.write(masked(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sessions.subscribe', params: {} })))
  const closed = new Promise<void>((resolve) => {
    const look = setInterval(() => {
      // A paused socket notices its end only when it writes.
      socket.write(masked('{}'), (error) => {
        if (!error) return
        clearInterval(look)
        resolve()
      })
    }, 50)
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(look)
      resolve()
    })
  })
  return { closed }
}

/** A text frame as a client must send it. */
function masked(text: string): Buffer {
  const payload = Buffer.from(text)
  const mask = createHash('sha1').update(text).digest().subarray(0, 4)
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255]
  const head = Buffer.from([0x81, ...length])
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ mask[i % 4]!)])
}

test('a client that reuses its connection later than it was told to is answered, not cut off', async () => {
  const house = await openHouse({ limits: { keepAliveMs: 1_000 } })
  houses.push(house)
  const socket = connectTcp(house.gateway.port, '127.0.0.1')
  let answers = ''
  let isClosed = false
  socket.on('data', (data) => (answers += String(data)))
  socket.on('close', () => (isClosed = true))
  const ask = (): boolean =>
    socket.write(`GET /health HTTP/1.1\r\nhost: 127.0.0.1:${house.gateway.port}\r\n\r\n`)
  const count = (): number => answers.match(/HTTP\/1\.1 200/g)?.length ?? 0
  ask()
  await expect.poll(count).toBe(1)
  expect(answers).toMatch(/keep-alive: timeout=1\r/i)
  // Without a reserve of its own, Node closes a second after the time that it names.
  await new Promise((resolve) => setTimeout(resolve, 3_500))
  expect(isClosed).toBe(false)
  ask()
  await expect.poll(count).toBe(2)
  socket.destroy()
})

test('a client that answers pings stays connected, one that does not is disconnected', async () => {
  const house = await openHouse({ limits: { pingMs: 1_000 } })
  houses.push(house)
  const answering = await connect(house, bearer(house.token))
  const silent = await connect(house, bearer(house.token))
  let pings = 0
  answering.socket.on('ping', () => pings++)
  // Neither reads nor answers.
  silent.socket.pause()
  await expect.poll(() => pings, { timeout: 10_000 }).toBeGreaterThan(2)
  silent.socket.resume()
  expect(await silent.closed).toMatchObject({ code: 1006 })
  expect((await answering.call('sessions.list', { limit: 1 })).error).toBeUndefined()
})
