import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aDelivery } from '../../test/support/work-store-contract.ts'
import { systemClock } from '../domain/clock.ts'
import { configSchema } from '../domain/config.ts'
import { makeEvents } from '../domain/events.ts'
import { silentLog } from '../domain/log.ts'
import type { Delivery } from '../domain/reply.ts'
import type { Message } from '../domain/message.ts'
import { resetSession } from '../sessions/lifecycle.ts'
import { openSession } from '../../test/support/session-folder.ts'
import type { Database } from '../store/sqlite/database.ts'
import { statePaths } from '../store/paths.ts'
import { sqliteSql } from '../store/sqlite/sql.ts'
import { replyMapIn } from '../store/tables/reply-map.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'
import { openStateDatabase } from '../store/sqlite/state-database.ts'
import { openSessionStore, openTranscriptStore } from '../store/open.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { makeReplyRouting } from './reply-routing.ts'
import type { ReplyRouting } from './reply-routing.ts'

const key = 'agent:main:telegram:direct:501'
const address = { channel: 'telegram', accountId: 'default', to: '501' }
let root: string
let database: Database
let sessions: SessionStore
let transcripts: TranscriptStore
let routing: ReplyRouting

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-routing-'))
  open()
})
afterEach(async () => {
  await close()
  rmSync(root, { recursive: true })
})

function open(): void {
  const paths = statePaths(root)
  const events = makeEvents(() => {})
  const parts = { config: configSchema.parse({}), paths, clock: systemClock, log: silentLog, events }
  database = openStateDatabase(paths.database)
  sessions = openSessionStore('main', parts)
  transcripts = openTranscriptStore('main', parts)
  routing = makeReplyRouting({
    replies: replyMapIn(sqliteSql(database)),
    sessions: () => sessions,
    transcripts: () => transcripts,
    clock: systemClock,
    events,
    isOwners: () => true,
    codingCommand: (codingId, text) => `/claude_respond ${codingId} ${text}`,
  })
}

async function close(): Promise<void> {
  await sessions.close()
  await database.close()
}

async function say(text: string): Promise<void> {
  const { entry } = await openSession(
    { sessions, transcripts, clock: systemClock, events: { emit: () => {} } },
    key,
  )
  const message = { role: 'user' as const, content: text, timestamp: Date.now() }
  await transcripts.append(transcriptOf({ key, entry }), [{ type: 'message', message }], { cwd: '/' })
}

function answerTo(id: string, more: Partial<Message> = {}): Message {
  return {
    id: '900',
    event: 'message',
    address,
    chatType: 'direct',
    sender: { id: '501' },
    text: 'about that…',
    sentAt: 0,
    mentioned: true,
    media: [],
    replyTo: { id },
    ...more,
  }
}

const delivered = (sessionKey: string | undefined, more: Partial<Delivery> = {}): Delivery =>
  aDelivery(1, { address, ...(sessionKey === undefined ? {} : { sessionKey }), ...more })

const texts = async (sessionKey: string): Promise<string[]> => {
  const entry = (await sessions.get(sessionKey))!
  const page = await transcripts.tail(transcriptOf({ key: sessionKey, entry }), 50)
  return page.entries.flatMap((one) =>
    one.type === 'message' ? [String((one.message as { content: unknown }).content)] : [],
  )
}

test('an answer goes to the session that the message came from, also after a restart', async () => {
  await say('one')
  await routing.onSent(delivered(key), ['71', '72'])
  await close()
  open()
  for (const id of ['71', '72']) {
    expect(await routing.routeReply(answerTo(id))).toMatchObject({ agentId: 'main', sessionKey: key })
  }
  expect(await routing.routeReply(answerTo('73'))).toBeUndefined()
  expect(await routing.routeReply(answerTo('71', { address: { ...address, to: '502' } }))).toBeUndefined()
})

test('after a reset, the answer goes to a fork at that point, and always to the same one', async () => {
  await say('one')
  await say('two')
  await routing.onSent(delivered(key), ['71'])
  await say('three')
  const parts = { sessions, transcripts, clock: systemClock, events: { emit: () => {} } }
  await resetSession(parts, key)
  await say('a new day')

  const route = await routing.routeReply(answerTo('71'))
  expect(route?.sessionKey).toMatch(/^agent:main:dashboard:/)
  expect(await texts(route!.sessionKey)).toEqual(['one', 'two'])
  expect(await routing.routeReply(answerTo('71', { id: '901' }))).toEqual(route)
  expect(await texts(key)).toEqual(['a new day'])
  expect((await transcripts.archives()).map((one) => one.reason)).toEqual(['reset'])
})

test('an answer that was sent only after a reset still belongs to the old conversation', async () => {
  await say('one')
  const entry = (await sessions.get(key))!
  const page = await transcripts.tail(transcriptOf({ key, entry }), 1)
  const sessionPoint = { sessionId: entry.sessionId, entryId: page.entries[0]!.id }
  await resetSession({ sessions, transcripts, clock: systemClock, events: { emit: () => {} } }, key)
  await say('a new day')
  await routing.onSent(delivered(key, { sessionPoint }), ['71'])

  const route = await routing.routeReply(answerTo('71'))
  expect(await texts(route!.sessionKey)).toEqual(['one'])
})

test('a notice without a session has no one to answer', async () => {
  await routing.onSent(delivered(undefined), ['80'])
  expect(await routing.routeReply(answerTo('80'))).toBeUndefined()
})

test('an answer to a notice of a coding session is words for that session', async () => {
  await routing.onSent(delivered('coding:k3n'), ['90'])
  expect(await routing.replyCommand(answerTo('90', { text: 'use the other branch' }))).toBe(
    '/claude_respond k3n use the other branch',
  )
  expect(await routing.replyCommand(answerTo('90', { text: '/claude_kill k3n' }))).toBeUndefined()
  expect(await routing.routeReply(answerTo('90'))).toBeUndefined()
  expect(await routing.replyCommand(answerTo('91'))).toBeUndefined()
})
