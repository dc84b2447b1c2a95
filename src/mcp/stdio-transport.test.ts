import { PassThrough } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { expect, test, vi } from 'vitest'
import { StdioTransport } from './stdio-transport.ts'

const large = 'x'.repeat(11 * 1024 * 1024)

async function open(): Promise<{ input: PassThrough; received: JSONRPCMessage[]; answers: () => unknown[] }> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const received: JSONRPCMessage[] = []
  const transport = new StdioTransport(input, output)
  transport.onmessage = (message) => void received.push(message)
  await transport.start()
  let written = ''
  output.on('data', (chunk: Buffer) => (written += chunk.toString()))
  const answers = (): unknown[] =>
    written
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown)
  return { input, received, answers }
}

const next = { jsonrpc: '2.0', id: 'next', method: 'ping' } as const

/** What is answered to a line, once the message after it has been read. */
async function answersTo(line: string): Promise<unknown[]> {
  const { input, received, answers } = await open()
  const text = `${line}\n${JSON.stringify(next)}\n`
  for (let from = 0; from < text.length; from += 65_536) input.write(text.slice(from, from + 65_536))
  await vi.waitFor(() => expect(received).toEqual([next]), 20_000)
  return answers()
}

const refusal = (id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32_600, message: expect.stringMatching(/larger than 10 MB/) },
})

test.each([
  ['first', 7, JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { id: 1, large } })],
  ['last', 'ü"1', JSON.stringify({ params: { a: ['}"\\', { large }] }, jsonrpc: '2.0', id: 'ü"1' })],
  ['nowhere that can be known', null, JSON.stringify({ large, id: 7 })],
  ['in something that is not JSON', null, large],
])(
  'a request that is too large is refused with its id, which is %s, and the next one is read',
  async (_where, id, line) => {
    expect(await answersTo(line)).toEqual([refusal(id)])
  },
)

test('a notification that is too large gets no answer', async () => {
  expect(await answersTo(JSON.stringify({ jsonrpc: '2.0', method: 'note', params: { large } }))).toEqual([])
})

test('a request of just less than 10 MB arrives in one piece, in however many it was sent', async () => {
  const { input, received } = await open()
  const message = { ...next, params: { text: 'ü'.repeat(5 * 1024 * 1024 - 100) } }
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`)
  for (let from = 0; from < bytes.length; from += 9_999) input.write(bytes.subarray(from, from + 9_999))
  await vi.waitFor(() => expect(received).toHaveLength(1), 20_000)
  expect(received).toEqual([message])
})
