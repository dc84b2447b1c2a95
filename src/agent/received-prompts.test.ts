import { expect, test } from 'vitest'
import { receivedPrompts } from './received-prompts.ts'

const prompt = (uuid: string, text: string) => ({ uuid, text })
const written = (uuid: string, content: unknown) => ({
  type: 'user',
  uuid,
  message: { role: 'user', content },
})

test('a prompt is found as a record of its own, and as an attachment when it joined a turn', async () => {
  const joined = { type: 'attachment', uuid: 'x', attachment: { type: 'queued_command', source_uuid: 'b' } }
  const records = [written('a', 'one'), joined, { type: 'queue-operation', content: 'three' }]
  const prompts = [prompt('a', 'one'), prompt('b', 'two'), prompt('c', 'three')]
  expect(await receivedPrompts(prompts, records)).toEqual(new Set(['a', 'b']))
})

test('several that waited together are one record under the name of the last', async () => {
  const records = [written('b', 'one\ntwo')]
  const prompts = [prompt('a', 'one'), prompt('b', 'two'), prompt('c', 'three')]
  expect(await receivedPrompts(prompts, records)).toEqual(new Set(['a', 'b']))
})

test('the result of a tool that repeats a prompt is no prompt', async () => {
  const records = [written('other', [{ type: 'tool_result', content: 'one\n' }])]
  expect(await receivedPrompts([prompt('a', 'one')], records)).toEqual(new Set())
})
