import { expect, test } from 'vitest'
import { applyReplyThreading, asReply, buildReplyPayloads } from './compose.ts'
import { filterMessagingToolDuplicates } from './dedupe.ts'
import { parseReplyDirectives } from './directives.ts'
import { isRenderablePayload } from './payload.ts'
import { isSilentReplyText, stripHeartbeatToken } from './silent-tokens.ts'

test.each([
  ['HEARTBEAT_OK', 'message', true, ''],
  ['**HEARTBEAT_OK**', 'message', true, ''],
  ['<b>HEARTBEAT_OK</b>', 'message', true, ''],
  ['HEARTBEAT_OK\n\nThe build is red.', 'message', false, 'The build is red.'],
  ['The build is red. HEARTBEAT_OK', 'message', false, 'The build is red.'],
  ['All calm. HEARTBEAT_OK', 'heartbeat', true, ''],
  [`HEARTBEAT_OK ${'x'.repeat(301)}`, 'heartbeat', false, 'x'.repeat(301)],
  ['I said HEARTBEAT_OK to it', 'message', false, 'I said HEARTBEAT_OK to it'],
  ['', 'message', true, ''],
  ['hello', 'heartbeat', false, 'hello'],
] as const)('heartbeat token in %j (%s)', (raw, mode, shouldSkip, text) => {
  expect(stripHeartbeatToken(raw, { mode })).toMatchObject({ shouldSkip, text })
})

test.each([
  ['NO_REPLY', true],
  [' no_reply. ', true],
  ['`NO_REPLY`', true],
  ['NO_REPLY is what I would say', false],
  ['', false],
])('is %j silence? %s', (text, silent) => {
  expect(isSilentReplyText(text)).toBe(silent)
})

test.each([
  ['[[reply_to_current]] Yes.', { text: 'Yes.', replyToCurrent: true, replyToId: 'm1', replyToTag: true }],
  ['[[ reply_to : abc ]]Yes.', { text: 'Yes.', replyToCurrent: false, replyToId: 'abc' }],
  ['Here.\nMEDIA:chart.png', { text: 'Here.', mediaUrls: ['chart.png'] }],
  ['MEDIA: `out/my chart.png`', { text: '', mediaUrls: ['out/my chart.png'] }],
  ['[[audio_as_voice]]\nMEDIA:a.ogg', { text: '', audioAsVoice: true, mediaUrls: ['a.ogg'] }],
  ['MEDIA:https://example.test/a.png', { text: 'MEDIA:https://example.test/a.png', refused: [] }],
  ['NO_REPLY', { text: '', isSilent: true }],
  ['[[reply_to_current]] NO_REPLY', { text: '', isSilent: true }],
  ['Saved.\nNO_REPLY', { text: 'Saved.', isSilent: false }],
  ['`[[reply_to_current]]` is a directive', { text: '`[[reply_to_current]]` is a directive' }],
  ['```\nMEDIA:x.png\n```', { text: '```\nMEDIA:x.png\n```' }],
])('directives in %j', (raw, expected) => {
  expect(parseReplyDirectives(raw, { currentMessageId: 'm1' })).toMatchObject(expected)
})

test.each([
  '/etc/passwd',
  '~/.ssh/id_rsa',
  'file:///etc/passwd',
  '\\\\host\\share',
  '../../etc/passwd',
  'a/../../x',
  'C:\\Windows\\x',
])('MEDIA:%s is refused', (path) => {
  const parsed = parseReplyDirectives(`Here.\nMEDIA:${path}`)
  expect(parsed.mediaUrls).toBeUndefined()
  expect(parsed.text).toBe('Here.')
  expect(parsed.refused).toHaveLength(1)
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
  expect(replyPayloads.map(asReply)).toEqual([{ text: 'First.', replyToId: 'm1' }, { text: 'Last.' }])
  expect(refused).toEqual(['/etc/shadow: only files of the workspace can be sent'])
})
