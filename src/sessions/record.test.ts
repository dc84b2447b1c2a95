import { describe, expect, test } from 'vitest'
import type { Message } from '../domain/message.ts'
import { newEntry } from './lifecycle.ts'
import { recordInbound } from './record.ts'

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
    expect(recordInbound(key, newEntry(1), message, 50)).toMatchObject({
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
    const after = recordInbound(key, before, message, 50)
    expect(after).not.toHaveProperty('lastThreadId')
    expect(after.deliveryContext).not.toHaveProperty('threadId')
    const inThread = { ...message, address: { ...message.address, threadId: '5' } }
    expect(recordInbound(key, before, inThread, 50)).not.toHaveProperty('lastThreadId')
    expect(recordInbound(`${key}:thread:5`, before, inThread, 50)).toMatchObject({
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
    const entry = recordInbound(
      'agent:main:whatsapp:group:120363@g.us',
      newEntry(1),
      { ...message, chatType: 'group', address, group },
      1,
    )
    expect(entry).toMatchObject({ displayName, groupId: '120363@g.us', chatType: 'group' })
  })

  test('a row of an older program learns when its session began', () => {
    const { sessionStartedAt: _none, ...old } = newEntry(7)
    expect(recordInbound(key, old, message, 50).sessionStartedAt).toBe(7)
    expect(recordInbound(key, newEntry(9), message, 50).sessionStartedAt).toBe(9)
  })

  test('settings and unknown fields stay', () => {
    const before = { ...newEntry(1), thinkingLevel: 'high', fromTheFuture: 1, updatedAt: 99 }
    expect(recordInbound(key, before, message, 50)).toMatchObject({
      thinkingLevel: 'high',
      fromTheFuture: 1,
      updatedAt: 99,
    })
  })
})
