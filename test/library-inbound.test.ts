// The seeds' functions for the way of a message, as somebody who builds on the library uses them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import * as rockpool from '../src/index.ts'

function storePath(): string {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-library-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return join(root, 'sessions.json')
}

test.each(
  `initSessionState finalizeInboundContext formatInboundBodyWithSenderMeta stripMentions
   stripStructuralPrefixes normalizeInboundTextNewlines appendUntrustedContext prependSystemEvents
   appendHistoryEntry buildHistoryContextFromMap evictOldHistoryKeys clearHistoryEntries
   shouldRunMemoryFlush runMemoryFlushIfNeeded incrementCompactionCount persistSessionUsageUpdate
   applyResetModelOverride ensureSkillSnapshot buildReplyPayloads forkSessionFromParent
   evaluateSessionFreshness appendAssistantMessageToSessionTranscript resolveSendPolicy`.split(/\s+/),
)('%s is a function of the library', (name) => {
  expect(rockpool).toHaveProperty(name, expect.any(Function))
})

test('a session starts, continues, and starts again with /new', async () => {
  const ctx = { Body: 'hello', ChatType: 'direct', Provider: 'telegram', From: '7', SenderId: '7' }
  const path = storePath()
  const first = await rockpool.initSessionState({ ctx, storePath: path })
  expect(first).toMatchObject({
    sessionKey: 'agent:main:main',
    isNewSession: true,
    resetTriggered: false,
    bodyStripped: 'hello',
    triggerBodyNormalized: 'hello',
    isGroup: false,
    sessionScope: 'per-sender',
    storePath: path,
  })
  expect(first.sessionStore['agent:main:main']?.sessionId).toBe(first.sessionId)
  expect(first.sessionCtx).toMatchObject({
    SessionId: first.sessionId,
    IsNewSession: 'true',
    BodyStripped: 'hello',
  })
  const second = await rockpool.initSessionState({ ctx, storePath: path })
  expect(second).toMatchObject({ isNewSession: false, sessionId: first.sessionId })
  const reset = { ...ctx, Body: '/NEW summarize this' }
  expect(await rockpool.initSessionState({ ctx: reset, storePath: path })).toMatchObject({
    resetTriggered: false,
  })
  const third = await rockpool.initSessionState({ ctx: reset, storePath: path, commandAuthorized: true })
  expect(third).toMatchObject({ resetTriggered: true, isNewSession: true, bodyStripped: 'summarize this' })
  expect(third.previousSessionEntry?.sessionId).toBe(first.sessionId)
  expect(third.sessionId).not.toBe(first.sessionId)
})

test('resolveSession begins the session of a message, and finds one by its label', async () => {
  const ctx = { Body: 'hello', ChatType: 'direct', Provider: 'telegram', From: '7', SenderId: '7' }
  const path = storePath()
  const begun = await rockpool.resolveSession({ ctx, storePath: path })
  expect(begun).toMatchObject({ sessionKey: 'agent:main:main', isNewSession: true })
  expect(await rockpool.resolveSession({ label: 'home', storePath: path })).toBeUndefined()
  const update = () => ({ label: 'home' })
  await rockpool.updateSessionStoreEntry({ storePath: path, sessionKey: 'agent:main:main', update })
  expect(await rockpool.resolveSession({ label: 'home', storePath: path })).toMatchObject({
    sessionKey: 'agent:main:main',
    sessionId: begun?.sessionId,
    isNewSession: false,
  })
})

test('a group has its own session, an explicit key is used as it is', async () => {
  const group = { Body: 'hi', ChatType: 'group', Provider: 'whatsapp', From: '123@g.us', SenderName: 'Alice' }
  const path = storePath()
  const found = await rockpool.initSessionState({ ctx: group, storePath: path })
  expect(found).toMatchObject({ sessionKey: 'agent:main:whatsapp:group:123@g.us', isGroup: true })
  const explicit = { ...group, SessionKey: 'agent:main:slack:channel:c1' }
  expect((await rockpool.initSessionState({ ctx: explicit, storePath: path })).sessionKey).toBe(
    explicit.SessionKey,
  )
})

test('a model named after a reset is applied to the entry', async () => {
  const sessionEntry = { sessionId: 's', updatedAt: 0 }
  const sessionStore = {}
  const result = await rockpool.applyResetModelOverride({
    cfg: { agents: { defaults: { models: { minimax: 'minimax-m2' } } } },
    resetTriggered: true,
    bodyStripped: 'minimax summarize',
    sessionEntry,
    sessionStore,
    sessionKey: 'k',
  })
  expect(result).toMatchObject({ selection: { model: 'minimax-m2' }, cleanedBody: 'summarize' })
  expect(sessionEntry).toMatchObject({ modelOverride: 'minimax-m2' })
  expect(sessionStore).toEqual({ k: sessionEntry })
})

test('system events are said once, before the text', async () => {
  rockpool.enqueueSystemEvent('Model switched.', { sessionKey: 'k' })
  const params = {
    cfg: { timeZone: 'UTC' },
    sessionKey: 'k',
    isMainSession: true,
    isNewSession: false,
    prefixedBodyBase: 'hi',
  }
  expect(await rockpool.prependSystemEvents(params)).toMatch(
    /^System: \[[\d :-]+ UTC\] Model switched\.\n\nhi$/,
  )
  expect(await rockpool.prependSystemEvents(params)).toBe('hi')
})

test('a new main session gets a description of the channels', async () => {
  const params = {
    sessionKey: 'agent:main:main',
    prefixedBodyBase: 'hello',
    channelSummary: ['telegram: connected'],
    isNewSession: true,
  }
  expect(await rockpool.prependSystemEvents({ ...params, isMainSession: true })).toBe(
    'System: telegram: connected\n\nhello',
  )
  expect(await rockpool.prependSystemEvents({ ...params, isMainSession: false })).toBe('hello')
})
