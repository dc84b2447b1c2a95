import { expect, test } from 'vitest'
import {
  applyReplyThreading,
  buildReplyPayloads,
  filterMessagingToolDuplicates,
  isRenderablePayload,
  parseReplyDirectives,
} from './reply-payloads.ts'

test('directives have the seeds’ names', () => {
  expect(parseReplyDirectives('[[reply_to_current]] Yes.\nMEDIA:a.png', { currentMessageId: 'm1' })).toEqual({
    text: 'Yes.',
    isSilent: false,
    refused: [],
    mediaUrls: ['a.png'],
    replyToId: 'm1',
    replyToCurrent: true,
    replyToTag: true,
  })
})

test.each([
  [{ text: 'x' }, true],
  [{ text: ' ' }, false],
  [{ mediaUrl: 'a' }, true],
  [{ mediaUrls: [] }, false],
  [{ audioAsVoice: true }, true],
  [{ channelData: { a: 1 } }, true],
  [{}, false],
])('can %j be shown? %s', (payload, expected) => {
  expect(isRenderablePayload(payload)).toBe(expected)
})

test('threading: off, first, all; what the agent asks for wins', () => {
  const payloads = [{ text: 'a' }, { text: 'b' }, { text: 'c', replyToId: 'z' }]
  const ids = (replyToMode: 'off' | 'first' | 'all') =>
    applyReplyThreading(payloads, { replyToMode, currentMessageId: 'm' }).map((payload) => payload.replyToId)
  expect(ids('off')).toEqual([undefined, undefined, 'z'])
  expect(ids('first')).toEqual(['m', undefined, 'z'])
  expect(ids('all')).toEqual(['m', 'm', 'z'])
})

test('what a tool has sent is not said again; short words are', () => {
  const payloads = [
    { text: 'The report is ready. 🎉' },
    { text: 'Done.' },
    { text: 'The report is ready.', mediaUrl: 'r.pdf' },
  ]
  expect(filterMessagingToolDuplicates({ payloads, sentTexts: ['the report is  ready.', 'Done.'] })).toEqual(
    payloads.slice(1),
  )
})

test('the whole way: token, threading, directives, only what can be shown, no repeats', () => {
  const { replyPayloads, refused } = buildReplyPayloads(
    [
      { text: 'HEARTBEAT_OK' },
      { text: '[[reply_to_current]] First.\nMEDIA:/etc/shadow' },
      { text: 'NO_REPLY' },
      { text: 'A tool has said this.' },
      { text: 'The stream has shown this.' },
      { text: 'Last.' },
    ],
    {
      currentMessageId: 'm1',
      sentTexts: ['A tool has said this.'],
      streamedTexts: ['The stream has shown this.'],
    },
  )
  expect(replyPayloads).toMatchObject([{ text: 'First.', replyToId: 'm1' }, { text: 'Last.' }])
  expect(refused).toEqual(['/etc/shadow: only files of the workspace can be sent'])
})
