// The seeds' transcript functions, by the library's front door.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  appendAssistantMessageToSessionTranscript,
  emitSessionTranscriptUpdate,
  loadSessionStore,
  onSessionTranscriptUpdate,
  updateSessionStore,
} from '../src/index.ts'
import { lines } from './support/transcript-folder.ts'

const sessionKey = 'agent:main:discord:direct:user123'

async function storeWithSession() {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-library-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const storePath = join(dir, 'sessions.json')
  await updateSessionStore(storePath, (store) => {
    store[sessionKey] = { sessionId: 'abc', updatedAt: 1 }
  })
  return { dir, storePath }
}

test('what was delivered stands in the transcript, the row names the file, and listeners hear of it', async () => {
  const { dir, storePath } = await storeWithSession()
  const heard: string[] = []
  onTestFinished(onSessionTranscriptUpdate(({ sessionFile }) => heard.push(sessionFile)))
  const sessionFile = join(dir, 'abc.jsonl')
  const said = { storePath, sessionKey, text: 'Message sent to user' }
  expect(await appendAssistantMessageToSessionTranscript(said)).toEqual({ ok: true, sessionFile })
  expect(
    await appendAssistantMessageToSessionTranscript({
      ...said,
      mediaUrls: ['https://example.com/image.png'],
    }),
  ).toMatchObject({ ok: true })
  const [header, first, second] = lines(sessionFile).map((line) => JSON.parse(line))
  expect(header).toMatchObject({ type: 'session', version: 3, id: 'abc' })
  expect(first).toMatchObject({
    parentId: null,
    message: { provider: 'openclaw', model: 'delivery-mirror', content: [{ text: 'Message sent to user' }] },
  })
  expect(second).toMatchObject({
    parentId: first.id,
    message: { content: [{ text: 'Message sent to user\n\nimage.png' }] },
  })
  expect(loadSessionStore(storePath)[sessionKey]).toMatchObject({ sessionFile })
  expect(heard).toEqual([sessionFile, sessionFile])
})

test('an unknown session and an empty text are refused in words', async () => {
  const { storePath } = await storeWithSession()
  const unknown = { storePath, sessionKey: 'agent:main:nobody', text: 'x' }
  expect(await appendAssistantMessageToSessionTranscript(unknown)).toEqual({
    ok: false,
    reason: 'unknown sessionKey: agent:main:nobody',
  })
  expect(await appendAssistantMessageToSessionTranscript({ ...unknown, sessionKey: ' ' })).toMatchObject({
    ok: false,
  })
  expect(await appendAssistantMessageToSessionTranscript({ storePath, sessionKey, text: ' ' })).toEqual({
    ok: false,
    reason: 'empty text',
  })
})

test('a removed listener gets no event', () => {
  const heard: string[] = []
  const stop = onSessionTranscriptUpdate(({ sessionFile }) => heard.push(sessionFile))
  emitSessionTranscriptUpdate(' /a.jsonl ')
  emitSessionTranscriptUpdate('  ')
  stop()
  emitSessionTranscriptUpdate('/b.jsonl')
  expect(heard).toEqual(['/a.jsonl'])
})
