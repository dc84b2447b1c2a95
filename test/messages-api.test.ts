// The scripted Messages API that the real Claude talks to in tests: it must do what the scripts say.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inline, overloaded, startMessagesApi } from './support/messages-api.ts'
import type { MessagesApi } from './support/messages-api.ts'

let api: MessagesApi
beforeAll(async () => void (api = await startMessagesApi()))
afterAll(() => api.close())

interface Answer {
  content: Array<{ type: string; text?: string; name?: string }>
  stop_reason: string
}

async function ask(messages: object[]): Promise<{ status: number; answer: Answer }> {
  const response = await fetch(`${api.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages }),
  })
  return { status: response.status, answer: (await response.json()) as Answer }
}

const user = (content: string): object => ({ role: 'user', content })
const assistant = (content: string): object => ({ role: 'assistant', content })

test('a script is found by a piece of the prompt, and the next answer takes the next step', async () => {
  api.script('list the files', [
    { tools: [{ name: 'Bash', input: { command: 'ls' } }] },
    { text: 'Two files.' },
  ])
  const first = await ask([user('please list the files')])
  expect(first.answer.content[0]).toMatchObject({ type: 'tool_use', name: 'Bash' })
  expect(first.answer.stop_reason).toBe('tool_use')
  const second = await ask([user('please list the files'), assistant('…'), user('a result')])
  expect(second.answer.content[0]).toEqual({ type: 'text', text: 'Two files.' })
})

test('a script may stand in the prompt itself', async () => {
  const { answer } = await ask([user(`hello ${inline({ text: 'quotes " and ] brackets' })} bye`)])
  expect(answer.content[0]?.text).toBe('quotes " and ] brackets')
})

test('a step that fails a number of times continues with the next step', async () => {
  const prompt = inline({ ...overloaded, times: 1, afterwards: { text: 'recovered' } })
  expect((await ask([user(prompt)])).status).toBe(529)
  expect((await ask([user(prompt)])).answer.content[0]?.text).toBe('recovered')
})

test('a held step waits until it is released', async () => {
  const answered = ask([user(inline({ text: 'free', hold: 'gate' }))])
  await api.requested((request) => request.prompt.includes('gate'))
  api.release('gate')
  expect((await answered).answer.content[0]?.text).toBe('free')
})
