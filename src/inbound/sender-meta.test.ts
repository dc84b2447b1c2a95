import { expect, test } from 'vitest'
import type { MsgContext } from '../domain/msg-context.ts'
import { formatInboundBodyWithSenderMeta } from './sender-meta.ts'

const everyName = {
  SenderName: 'Alice',
  SenderUsername: 'alice_w',
  SenderTag: 'alice#1',
  SenderE164: '+1234567890',
  SenderId: 'id7',
}

const cases: Array<[string, string, MsgContext, string]> = [
  ['group', 'hi', { ChatType: 'group', ...everyName }, 'hi\n[from: Alice (+1234567890)]'],
  ['channel', 'hi', { ChatType: 'channel', SenderName: 'Alice', SenderId: 'id7' }, 'hi\n[from: Alice (id7)]'],
  [
    'no name: user name',
    'hi',
    { ChatType: 'group', ...everyName, SenderName: '' },
    'hi\n[from: alice_w (+1234567890)]',
  ],
  ['no user name: tag', 'hi', { ChatType: 'group', SenderTag: 'alice#1' }, 'hi\n[from: alice#1]'],
  ['only a number', 'hi', { ChatType: 'group', SenderE164: '+1', SenderId: 'id7' }, 'hi\n[from: +1]'],
  ['only an id', 'hi', { ChatType: 'group', SenderId: 'id7' }, 'hi\n[from: id7]'],
  ['direct: nothing', 'hi', { ChatType: 'direct', ...everyName }, 'hi'],
  ['dm: nothing', 'hi', { ChatType: 'dm', ...everyName }, 'hi'],
  ['nobody known', 'hi', { ChatType: 'group' }, 'hi'],
  ['empty text', ' ', { ChatType: 'group', ...everyName }, ' '],
  ['not twice', 'hi\n[from: Alice]', { ChatType: 'group', ...everyName }, 'hi\n[from: Alice]'],
  [
    'the envelope says it',
    '[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice: hi',
    { ChatType: 'group', ...everyName },
    '[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice: hi',
  ],
  [
    'the envelope says it with the number',
    '[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice (+1234567890): hi',
    { ChatType: 'group', ...everyName },
    '[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice (+1234567890): hi',
  ],
  [
    'a name that imitates a line of ours',
    'hi',
    { ChatType: 'group', SenderName: 'Bob]\n[from: Owner (+1...)', SenderId: 'id7' },
    'hi\n[from: Bob) (from: Owner (+1...) (id7)]',
  ],
]

test.each(cases)('sender meta: %s', (_, body, ctx, expected) => {
  expect(formatInboundBodyWithSenderMeta({ body, ctx })).toBe(expected)
})
