import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { checkOrigin } from './origin.ts'

test('the refusal of an unknown host name says how to allow it', () => {
  const request = new IncomingMessage(new Socket())
  request.rawHeaders.push('Host', 'box.tail.ts.net')
  request.headers.host = 'box.tail.ts.net'
  const allowed = { hosts: new Set(['127.0.0.1:18789']), origins: new Set<string>() }
  expect(() => checkOrigin(request, allowed)).toThrow('gateway.hosts')
})
