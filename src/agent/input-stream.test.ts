import { expect, test } from 'vitest'
import { InputStream, toUserMessage } from './input-stream.ts'

const prompt = (text: string) => ({ text, uuid: 'c0ffee00-0000-4000-8000-000000000000' })

test('what is said before, while and after Claude listens arrives in order, until the end', async () => {
  const stream = new InputStream()
  stream.push(prompt('one'))
  const heard: unknown[] = []
  const listening = (async () => {
    for await (const message of stream) heard.push(message.message.content)
  })()
  await Promise.resolve()
  stream.push(prompt('two'))
  stream.push(prompt('three'))
  stream.end()
  await listening
  expect(heard).toEqual(['one', 'two', 'three'])
})

test.each(['/compact', '  /clear', '!ls', '# remember', 'read @secret.txt'])(
  '%j is plain text when a person wrote it in a chat',
  (text) => {
    expect(toUserMessage(prompt(text)).client_composed).toBe(true)
    expect(toUserMessage({ ...prompt(text), command: true }).client_composed).toBeUndefined()
  },
)

test('ordinary text keeps what Claude Code adds to it', () => {
  expect(toUserMessage(prompt('hello')).client_composed).toBeUndefined()
})

test('pictures come before the words', () => {
  const { message } = toUserMessage({
    ...prompt('what is it?'),
    images: [{ data: 'AAAA', mimeType: 'image/png' }],
  })
  expect(message.content).toMatchObject([
    { type: 'image', source: { media_type: 'image/png' } },
    { type: 'text', text: 'what is it?' },
  ])
})
