// Crowds, slow senders and rubbish: the gateway still answers others. Within 100 ms, as test/full/gateway-flood.test.ts
// and the bench show with each in a process of its own.
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bearer, connect, http, openHouse } from './support/gateway-house.ts'
import { rubbish } from './support/gateway-floods.ts'
import type { Client, House } from './support/gateway-house.ts'

let house: House
let client: Client
beforeAll(async () => {
  house = await openHouse()
  client = await connect(house, bearer(house.token))
})
afterAll(() => house.close())

/** The slowest of some answers to an honest client during `work`, in milliseconds. */
async function slowestAnswerDuring(work: () => Promise<void>): Promise<number> {
  const under = { way: true }
  const working = work().finally(() => (under.way = false))
  let slowest = 0
  while (under.way) {
    const started = performance.now()
    expect((await client.call('health')).result).toMatchObject({ ok: true })
    slowest = Math.max(slowest, performance.now() - started)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await working
  return slowest
}

/** This process is the gateway and the crowd at once, on a machine that may be busy: the limit is for one that is not. */
const limitMs = 100 * Number(process.env['ROCKPOOL_PATIENCE'] ?? 20)

test('T33: of 500 idle strangers 64 stay, and honest clients come and go as before', async () => {
  const crowd: Socket[] = []
  const answers: string[] = []
  const slowest = await slowestAnswerDuring(async () => {
    for (let n = 0; n < 500; n++) {
      const socket = connectTcp(house.gateway.port, '127.0.0.1')
      socket.on('data', (chunk) => answers.push(chunk.toString('latin1')))
      socket.on('error', () => {})
      crowd.push(socket)
      if (n % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await until(() => answers.length >= 400)
  })
  expect(answers.every((answer) => answer.startsWith('HTTP/1.1 503'))).toBe(true)
  const metrics = await http(house, '/metrics', { token: house.token })
  const waiting = Number(/^rockpool_unauthenticated_sockets (\d+)$/m.exec(metrics.body)![1])
  expect(waiting).toBeLessThanOrEqual(64)
  expect((await http(house, '/health')).status).toBe(200)
  const another = await connect(house, bearer(house.token))
  expect((await another.call('health')).error).toBeUndefined()
  another.socket.close()
  for (const socket of crowd) socket.destroy()
  expect(slowest).toBeLessThan(limitMs)
})

test('large frames, one after the other, close only the connection that sends them', async () => {
  const slowest = await slowestAnswerDuring(async () => {
    for (let n = 0; n < 10; n++) {
      const other = await connect(house, bearer(house.token))
      other.socket.send(Buffer.alloc(2 * 1024 * 1024, 'x'), { binary: false })
      expect((await other.closed).code).toBe(1009)
    }
  })
  expect(slowest).toBeLessThan(limitMs)
})

test('10,000 malformed frames are answered or cut off', async () => {
  let sent = 0
  const slowest = await slowestAnswerDuring(async () => {
    while (sent < 10_000) {
      const other = await connect(house, bearer(house.token))
      for (let n = 0; n < 1000; n++, sent++) other.socket.send(rubbish[n % rubbish.length]!)
      await Promise.race([other.closed, until(() => other.frames.length >= 1000)])
      other.socket.terminate()
    }
  })
  expect(slowest).toBeLessThan(limitMs)
  expect((await client.call('sessions.list')).error).toBeUndefined()
})

test('slow senders do not block others', async () => {
  const slow: Socket[] = []
  const slowest = await slowestAnswerDuring(async () => {
    for (let n = 0; n < 30; n++) {
      const socket = connectTcp(house.gateway.port, '127.0.0.1', () =>
        socket.write('POST /rpc HTTP/1.1\r\nContent-Length: 1000\r\nHos'),
      )
      socket.on('error', () => {})
      slow.push(socket)
    }
    for (let step = 0; step < 20; step++) {
      for (const socket of slow) socket.write('t')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })
  for (const socket of slow) socket.destroy()
  expect(slowest).toBeLessThan(limitMs)
})

async function until(condition: () => boolean): Promise<void> {
  const give = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > give) throw new Error('it did not happen in 20 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
