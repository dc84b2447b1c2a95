import { join } from 'node:path'
import { expect, test, describe } from 'vitest'
import { sessionFolder } from '../../test/support/session-folder.ts'
import { configSchema } from '../domain/config.ts'
import { silentLog } from '../domain/log.ts'
import type { Message } from '../domain/message.ts'
import { olderSessionKeys } from '../domain/session-key-forms.ts'
import { FileSessions } from '../store/files/sessions-in-file.ts'
import { findSession, inboundChanges } from './find-session.ts'
import { newEntry } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

const config = configSchema.parse({})

const spellings = [
  ['agent:main:telegram:dm:42', 'agent:main:telegram:direct:42'],
  ['telegram:dm:42', 'agent:main:telegram:direct:42'],
  ['main', 'agent:main:main'],
  ['agent:main:bob', 'agent:main:direct:bob'],
  ['group:123@g.us', 'agent:main:whatsapp:group:123@g.us'],
  ['agent:main:matrix:direct:@bob:example.org', 'agent:main:matrix:direct:@bob%3aexample.org'],
] as const

/** The same folder, with its rows in SQLite or in sessions.json. */
function partsIn(kind: 'sqlite' | 'file'): SessionParts {
  const { parts, dir, clock } = sessionFolder()
  if (kind === 'sqlite') return parts
  const path = join(dir, 'sessions.json')
  return { ...parts, sessions: new FileSessions({ agentId: 'main', path, clock, log: silentLog }) }
}

function nextMessage(parts: SessionParts, key: string): ReturnType<typeof findSession> {
  return findSession({ key, commandText: 'on with it', config, parts })
}

for (const kind of ['sqlite', 'file'] as const) {
  test.each(spellings)(`the session of %s continues as %s (${kind})`, async (older, key) => {
    const parts = partsIn(kind)
    const entry = { sessionId: 'old-one', updatedAt: parts.clock.now(), label: 'home' }
    await parts.sessions.update(older, () => entry)
    expect(await nextMessage(parts, key)).toMatchObject({
      isNew: false,
      session: { entry: { sessionId: 'old-one' } },
    })
    const { sessions } = await parts.sessions.list()
    expect(sessions).toMatchObject([{ key, entry: { sessionId: 'old-one', label: 'home' } }])
  })
}

test('where today’s key has a session, one under an older spelling is left alone', async () => {
  const parts = partsIn('sqlite')
  const now = parts.clock.now()
  await parts.sessions.update('main', () => ({ sessionId: 'old-one', updatedAt: now }))
  await parts.sessions.update('agent:main:main', () => ({ sessionId: 'new-one', updatedAt: now }))
  expect(await nextMessage(parts, 'agent:main:main')).toMatchObject({
    session: { entry: { sessionId: 'new-one' } },
  })
  expect((await parts.sessions.get('main'))?.sessionId).toBe('old-one')
})

test('a session of another person cannot be taken over', () => {
  const spelling = { agentId: 'work', isDefaultAgent: false }
  expect(olderSessionKeys('agent:work:main', spelling)).toEqual([])
  const bob = olderSessionKeys('agent:main:telegram:direct:%42ob', { agentId: 'main', isDefaultAgent: true })
  expect(bob).not.toContain('agent:main:telegram:direct:bob')
  expect(bob).not.toContain('agent:main:telegram:dm:bob')
})

describe('what a message tells about its session', () => {
  const message: Message = {
    id: '1',
    event: 'message',
    address: { channel: 'telegram', to: '7', accountId: 'default' },
    chatType: 'direct',
    sender: { id: '7', name: 'Alice' },
    text: 'hi',
    sentAt: 1,
    mentioned: true,
    media: [],
  }
  const key = 'agent:main:telegram:direct:7'

  test('who, where, and where the reply goes', () => {
    expect(inboundChanges(key, newEntry(1), message, 50)).toMatchObject({
      channel: 'telegram',
      chatType: 'direct',
      origin: {
        label: 'Alice (7)',
        provider: 'telegram',
        surface: 'telegram',
        chatType: 'direct',
        from: 'telegram:7',
        to: '7',
      },
      deliveryContext: { channel: 'telegram', to: '7', accountId: 'default' },
      lastChannel: 'telegram',
      lastTo: '7',
      lastInteractionAt: 50,
      updatedAt: 50,
    })
  })

  test('a session that is no thread keeps no thread of an earlier message', () => {
    const before = {
      ...newEntry(1),
      lastThreadId: '99',
      deliveryContext: { channel: 'telegram', to: '7', threadId: '99' },
    }
    const after = inboundChanges(key, before, message, 50)
    expect(after).toHaveProperty('lastThreadId', undefined)
    expect(after.deliveryContext).not.toHaveProperty('threadId')
    const inThread = { ...message, address: { ...message.address, threadId: '5' } }
    expect(inboundChanges(key, before, inThread, 50)).toHaveProperty('lastThreadId', undefined)
    expect(inboundChanges(`${key}:thread:5`, before, inThread, 50)).toMatchObject({
      lastThreadId: '5',
      deliveryContext: { threadId: '5' },
    })
  })

  test.each([
    [{ title: 'Family 🦞' }, 'whatsapp:g-family'],
    [{ channelName: '#general', space: 'Acme' }, 'whatsapp:acme#general'],
    [{ channelName: '#general' }, 'whatsapp:#general'],
    [{}, 'whatsapp:g-120363@g.us'],
  ])('a group %o is shown as %s', (group, displayName) => {
    const address = { channel: 'whatsapp', to: '120363@g.us', accountId: 'default' }
    const entry = inboundChanges(
      'agent:main:whatsapp:group:120363@g.us',
      newEntry(1),
      { ...message, chatType: 'group', address, group },
      1,
    )
    expect(entry).toMatchObject({ displayName, groupId: '120363@g.us', chatType: 'group' })
  })

  test('a row of an older program learns when its session began', () => {
    const { sessionStartedAt: _none, ...old } = newEntry(7)
    expect(inboundChanges(key, old, message, 50).sessionStartedAt).toBe(7)
    expect(inboundChanges(key, newEntry(9), message, 50).sessionStartedAt).toBe(9)
  })

  test('settings and unknown fields stay', () => {
    const before = { ...newEntry(1), thinkingLevel: 'high', fromTheFuture: 1, updatedAt: 99 }
    expect({ ...before, ...inboundChanges(key, before, message, 50) }).toMatchObject({
      thinkingLevel: 'high',
      fromTheFuture: 1,
      updatedAt: 99,
    })
  })
})
