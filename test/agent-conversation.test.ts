// A conversation with the real Claude binary: many turns in one process, resumed, forked, compacted, cleared.
import { readFileSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findTranscript } from '../src/agent/transcripts.ts'
import type { Conversation } from '../src/domain/agent.ts'
import { descendantsOf } from './support/descendants.ts'
import type { TestAgent } from './support/claude-agent.ts'
import { makeTestAgent, prompt, take } from './support/claude-agent.ts'
import { inline } from './support/messages-api.ts'

let t: TestAgent
let conversation: Conversation
let firstAnswer: string
beforeAll(async () => {
  t = await makeTestAgent()
  conversation = await t.open()
})
afterAll(() => t.close())

/** Claude's processes below ours. */
function claudes(): number {
  const names = descendantsOf(process.pid).map(({ pid }) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  return names.filter((name) => name === 'claude').length
}

test('several turns are taken by one process, and Claude remembers the earlier ones', async () => {
  const first = await take(conversation, `my name is Ada ${inline({ text: 'Hello Ada.' })}`)
  expect(first).toMatchObject({ end: { kind: 'completed' }, text: 'Hello Ada.', compactions: 0 })
  expect(first.usage).toEqual({ input: 100, output: 20, cacheRead: 0, cacheWrite: 0 })
  expect(first.costUsd).toBeCloseTo(0.0006)
  expect(first.events.map((event) => event.type)).toEqual(
    expect.arrayContaining(['session-id', 'turn-start', 'text-delta', 'text', 'usage']),
  )
  const again = await t.open({ resume: { sdkSessionId: first.sdkSessionId! } })
  expect(again).toBe(conversation)
  const second = await take(again, `who am I? ${inline({ text: 'Ada.' })}`)
  expect(second.sdkSessionId).toBe(first.sdkSessionId)
  expect(second.costUsd).toBeCloseTo(0.0006)
  expect(t.api.calls().at(-1)!.text).toContain('my name is Ada')
  expect(claudes()).toBe(1)
  expect(t.agent.live('agent:main:main')).toBe(conversation)
})

test('a conversation continues after its process was closed, and its history is not billed twice', async () => {
  const id = conversation.sdkSessionId!
  await conversation.close()
  expect(await conversation.ended).toEqual({ why: 'closed' })
  expect(t.agent.live('agent:main:main')).toBeUndefined()
  expect(claudes()).toBe(0)
  expect(await t.agent.resumable(id)).toEqual({ ok: true })
  conversation = await t.open({ resume: { sdkSessionId: id } })
  const resumed = await take(conversation, `and now? ${inline({ text: 'Still Ada.' })}`)
  expect(resumed.sdkSessionId).toBe(id)
  expect(resumed.costUsd).toBeCloseTo(0.0006)
  expect(t.api.calls().at(-1)!.text).toContain('my name is Ada')
})

test('text that looks like a command is only text, unless it is meant as one', async () => {
  const shown = await take(conversation, `/clear the table, please ${inline({ text: 'Which table?' })}`)
  expect(shown.text).toBe('Which table?')
  expect(t.api.calls().at(-1)!.prompt).toContain('/clear the table')
})

test('a fork leaves the original as it was, and may begin at an earlier message', async () => {
  const id = conversation.sdkSessionId!
  const fork = await t.open({ key: 'fork', resume: { sdkSessionId: id, fork: true } })
  const forked = await take(fork, `in the fork ${inline({ text: 'Forked.' })}`)
  expect(forked.sdkSessionId).not.toBe(id)
  expect(forked.costUsd).toBeCloseTo(0.0006)
  const lines = readFileSync(findTranscript(t.home.configDir, id)!, 'utf8').trim().split('\n')
  const records = lines.map((line) => JSON.parse(line) as { type: string; uuid: string })
  expect(lines.join('\n')).not.toContain('in the fork')
  firstAnswer = records.find((record) => record.type === 'assistant')!.uuid
  await fork.close()
  const earlier = await t.open({
    key: 'fork',
    resume: { sdkSessionId: id, fork: true, atMessage: firstAnswer },
  })
  await take(earlier, `from the first answer on ${inline({ text: 'Ok.' })}`)
  expect(t.api.calls().at(-1)!.text).toContain('my name is Ada')
  expect(t.api.calls().at(-1)!.text).not.toContain('who am I?')
  await earlier.close()
})

test('compaction can be asked for; the memory flush runs before it', async () => {
  const flushed: string[] = []
  const options = {
    resume: { sdkSessionId: conversation.sdkSessionId! },
    beforeCompaction: async (compaction: { trigger: string }) => void flushed.push(compaction.trigger),
  }
  const compacting = await t.open(options)
  expect(compacting).toBe(conversation)
  const result = await take(conversation, prompt('/compact', { command: true }))
  expect(result).toMatchObject({ end: { kind: 'completed' }, compactions: 1 })
  expect(flushed).toEqual(['manual'])
  expect(result.events).toContainEqual(expect.objectContaining({ type: 'compaction', phase: 'end' }))
  const beforeIt = { sdkSessionId: conversation.sdkSessionId!, fork: true, atMessage: firstAnswer }
  await expect(t.open({ key: 'fork', resume: beforeIt })).rejects.toMatchObject({ code: 'not-found' })
})

test('/clear gives the conversation another id, and the mapping follows', async () => {
  const before = conversation.sdkSessionId
  const cleared = await take(conversation, prompt('/clear', { command: true }))
  expect(cleared.sdkSessionId).not.toBe(before)
  expect(cleared.events).toContainEqual({ type: 'session-id', sdkSessionId: cleared.sdkSessionId })
  await take(conversation, `a new beginning ${inline({ text: 'Hello.' })}`)
  expect(t.api.calls().at(-1)!.text).not.toContain('my name is Ada')
})

test('without an id a new conversation is meant, though one lives under this key', async () => {
  const before = conversation.sdkSessionId!
  const fresh = await t.open({ newSdkSessionId: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' })
  expect(fresh).not.toBe(conversation)
  const result = await take(fresh, inline({ text: 'New.' }))
  expect(result.sdkSessionId).toBe('6f9619ff-8b86-4d01-b42d-00cf4fc964ff')
  conversation = await t.open({ resume: { sdkSessionId: before } })
})

test('a change that needs another process restarts it with the same conversation', async () => {
  await take(conversation, `remember blue ${inline({ text: 'Blue.' })}`)
  const id = conversation.sdkSessionId!
  const changed = await t.open({ resume: { sdkSessionId: id }, systemPromptAppend: 'Answer in rhymes.' })
  expect(changed.pid).not.toBe(conversation.pid)
  const result = await take(changed, inline({ text: 'Blue, too.' }))
  expect(result.sdkSessionId).toBe(id)
  expect(t.api.calls().at(-1)!.text).toMatch(/Answer in rhymes[\s\S]*remember blue/)
  conversation = changed
})

test('a transcript that was deleted or damaged is noticed before it is resumed', async () => {
  await take(conversation, inline({ text: 'x' }))
  const id = conversation.sdkSessionId!
  const path = findTranscript(t.home.configDir, id)!
  expect(await t.agent.resumable(id)).toEqual({ ok: true })
  rmSync(path)
  // A live process wins over the file.
  expect(await t.agent.resumable(id)).toEqual({ ok: true })
  await conversation.kill()
  rmSync(path, { force: true })
  expect(await t.agent.resumable(id)).toMatchObject({ ok: false, why: 'gone' })
  await expect(t.open({ resume: { sdkSessionId: id } })).rejects.toMatchObject({ code: 'not-found' })
})
