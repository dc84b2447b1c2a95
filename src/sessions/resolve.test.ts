import { describe, expect, test } from 'vitest'
import { sessionFolder } from '../../test/session-folder.ts'
import type { Message } from '../domain/message.ts'
import { newEntry, openSession } from './lifecycle.ts'
import { recordInbound } from './record.ts'
import { resolveSession } from './resolve.ts'

describe('which session is meant', () => {
  async function three() {
    const folder = sessionFolder()
    await openSession(folder.parts, 'agent:main:main', { sessionId: 'aaaa1111' })
    await openSession(folder.parts, 'agent:main:telegram:direct:7', { sessionId: 'aaaa2222', label: 'work' })
    await openSession(folder.parts, 'agent:main:whatsapp:group:1@g.us', {
      sessionId: 'bbbb',
      displayName: 'whatsapp:g-family',
    })
    return folder
  }

  test.each([
    ['agent:main:telegram:direct:7', 'agent:main:telegram:direct:7'],
    ['agent:main:telegram:dm:7', 'agent:main:telegram:direct:7'],
    ['Agent:Main:Telegram:DM:7', 'agent:main:telegram:direct:7'],
    ['main', 'agent:main:main'],
    ['group:1@g.us', 'agent:main:whatsapp:group:1@g.us'],
    ['aaaa2222', 'agent:main:telegram:direct:7'],
    ['bb', 'agent:main:whatsapp:group:1@g.us'],
    ['work', 'agent:main:telegram:direct:7'],
  ])('%s is %s', async (ref, key) => {
    const { sessions } = await three()
    expect((await resolveSession([sessions], ref)).key).toBe(key)
  })

  test('what may mean several lists them; what means none says where to look', async () => {
    const { sessions } = await three()
    await expect(resolveSession([sessions], 'aaaa')).rejects.toThrow(
      /2 sessions: .*direct:7 \(aaaa2222, work\); agent:main:main \(aaaa1111\)/,
    )
    await expect(resolveSession([sessions], 'aaaa')).rejects.toMatchObject({ code: 'ambiguous' })
    for (const ref of ['nothing', '', ' ', 'agent:other:main', '%', '_', '*']) {
      await expect(resolveSession([sessions], ref)).rejects.toMatchObject({ code: 'not-found' })
    }
  })
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

  test('settings and unknown fields stay', () => {
    const before = { ...newEntry(1), thinkingLevel: 'high', fromTheFuture: 1, updatedAt: 99 }
    expect(recordInbound(key, before, message, 50)).toMatchObject({
      thinkingLevel: 'high',
      fromTheFuture: 1,
      updatedAt: 99,
    })
  })
})
