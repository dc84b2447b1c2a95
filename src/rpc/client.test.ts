import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { GatewayClient } from './client.ts'

test('a client that is closed while it looks for the gateway opens no connection', async () => {
  const connections: string[] = []
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    connections.push(String(request.url))
    socket.destroy()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { promise: url, resolve: found } = Promise.withResolvers<string>()
  const client = new GatewayClient({ url: () => url })
  const call = client.callByName('health')
  client.close()
  found(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`)
  await expect(call).rejects.toMatchObject({ code: 'unavailable' })
  expect(connections).toEqual([])
})

test('a client that could not look for the gateway looks again at the next call', async () => {
  const answers = [Promise.reject(new Error('EACCES: gateway.json')), Promise.resolve(undefined)]
  const client = new GatewayClient({ url: async () => answers.shift() })
  await expect(client.callByName('health')).rejects.toThrow('EACCES')
  await expect(client.callByName('health')).rejects.toMatchObject({ code: 'unavailable' })
  expect(answers).toEqual([])
})
