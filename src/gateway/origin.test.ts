import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { checkOrigin, isLocalOrigin } from './origin.ts'

test('the refusal of an unknown host name says how to allow it', () => {
  const request = new IncomingMessage(new Socket())
  request.rawHeaders.push('Host', 'box.tail.ts.net')
  request.headers.host = 'box.tail.ts.net'
  const allowed = { hosts: new Set(['127.0.0.1:18789']), origins: new Set<string>() }
  expect(() => checkOrigin(request, allowed)).toThrow('gateway.hosts')
})

test.each([
  ['127.0.0.1', 'http://127.0.0.1:1', true],
  ['192.0.2.7', 'http://192.0.2.7:1', true],
  ['::ffff:192.0.2.7', 'http://192.0.2.7:1', true],
  ['fd00::7', 'http://[fd00::7]:1', true],
  ['127.0.0.1', 'https://box.tail.ts.net', false],
  ['::ffff:192.0.2.7', 'http://192.0.2.8:1', false],
])(
  'a page that reached %s at %s was opened at an address of this machine: %s',
  (localAddress, origin, isLocal) => {
    const socket = new Socket()
    Object.defineProperty(socket, 'localAddress', { value: localAddress })
    const request = new IncomingMessage(socket)
    request.headers.origin = origin
    expect(isLocalOrigin(request)).toBe(isLocal)
  },
)
