import { expect, test } from 'vitest'
import { composeReplies, isSilentReplyText, parseDirectives, stripHeartbeatToken } from './compose.ts'

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
  ['[[reply_to_current]] Yes.', { text: 'Yes.', replyToCurrent: true, replyToId: 'm1' }],
  ['[[ reply_to : abc ]]Yes.', { text: 'Yes.', replyToCurrent: false, replyToId: 'abc' }],
  ['Here.\nMEDIA:chart.png', { text: 'Here.', media: ['chart.png'] }],
  ['MEDIA: `out/my chart.png`', { text: '', media: ['out/my chart.png'] }],
  ['[[audio_as_voice]]\nMEDIA:a.ogg', { text: '', audioAsVoice: true, media: ['a.ogg'] }],
  ['MEDIA:https://example.test/a.png', { text: 'MEDIA:https://example.test/a.png', refused: [] }],
  ['NO_REPLY', { text: '', isSilent: true }],
  ['[[reply_to_current]] NO_REPLY', { text: '', isSilent: true }],
  ['Saved.\nNO_REPLY', { text: 'Saved.', isSilent: false }],
  ['`[[reply_to_current]]` is a directive', { text: '`[[reply_to_current]]` is a directive' }],
  ['```\nMEDIA:x.png\n```', { text: '```\nMEDIA:x.png\n```' }],
])('directives in %j', (raw, expected) => {
  expect(parseDirectives(raw, 'm1')).toMatchObject(expected)
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
  const parsed = parseDirectives(`Here.\nMEDIA:${path}`)
  expect(parsed.media).toBeUndefined()
  expect(parsed.text).toBe('Here.')
  expect(parsed.refused).toHaveLength(1)
})

test('replies: tokens removed, directives carried out, only what can be shown', () => {
  const said = [
    'HEARTBEAT_OK',
    '[[reply_to_current]] First.\nMEDIA:/etc/shadow',
    'NO_REPLY',
    'Last.\nMEDIA:chart.png',
  ]
  expect(composeReplies(said, { currentMessageId: 'm1' })).toEqual({
    replies: [
      { text: 'First.', replyToId: 'm1' },
      { text: 'Last.', media: ['chart.png'] },
    ],
    refused: ['/etc/shadow: only files of the workspace can be sent'],
  })
})
