import { describe, expect, test } from 'vitest'
import { parseSessionLabel } from './label.ts'
import { resolveSendPolicy } from './send-policy.ts'
import type { SendPolicyParams } from './send-policy.ts'

type Rules = NonNullable<NonNullable<SendPolicyParams['cfg']['session']>['sendPolicy']>

describe('may the agent send', () => {
  const key = 'agent:main:telegram:group:-1'
  const decide = (sendPolicy: Rules, rest: Partial<SendPolicyParams> = {}) =>
    resolveSendPolicy({ cfg: { session: { sendPolicy } }, sessionKey: key, ...rest })

  test('yes, if nothing says otherwise', () => {
    expect(resolveSendPolicy({ cfg: {} })).toBe('allow')
    expect(decide({ default: 'deny' })).toBe('deny')
  })

  test("the session's own setting comes first", () => {
    expect(decide({ default: 'deny' }, { entry: { sendPolicy: 'allow' } })).toBe('allow')
    expect(decide({ rules: [{ action: 'allow' }] }, { entry: { sendPolicy: 'deny' } })).toBe('deny')
  })

  test('any matching deny wins, wherever it stands', () => {
    const allow = { action: 'allow', match: { channel: 'telegram' } } as const
    const deny = { action: 'deny', match: { chatType: 'group' } } as const
    expect(decide({ rules: [allow, deny] })).toBe('deny')
    expect(decide({ rules: [deny, allow] })).toBe('deny')
    expect(decide({ default: 'deny', rules: [allow] })).toBe('allow')
  })

  test.each<[string, object, boolean]>([
    ['the channel', { channel: 'Telegram' }, true],
    ['another channel', { channel: 'discord' }, false],
    ['the chat type', { chatType: 'group' }, true],
    ['a direct chat by its old name', { chatType: 'dm' }, false],
    ['the key without the agent', { keyPrefix: 'telegram:group' }, true],
    ['the whole key', { keyPrefix: 'agent:main:telegram' }, true],
    ['the raw key only', { rawKeyPrefix: 'telegram:' }, false],
    ['the raw key', { rawKeyPrefix: 'Agent:Main:' }, true],
    ['nothing at all', {}, true],
  ])('a rule matches by %s', (_name, match, matches) => {
    expect(decide({ rules: [{ action: 'deny', match }] })).toBe(matches ? 'deny' : 'allow')
  })

  test('a rule without an action allows', () => {
    expect(decide({ default: 'deny', rules: [{ match: {} }] })).toBe('allow')
  })
})

describe('labels', () => {
  test.each(['work', '  trimmed  ', 'x'.repeat(64), '😀'.repeat(64), 'Familie 👨‍👩‍👧', 'a"b<c>'])(
    '%j is a label',
    (raw) => {
      expect(parseSessionLabel(raw)).toEqual({ ok: true, label: raw.trim() })
    },
  )

  test.each([
    '',
    '   ',
    'x'.repeat(65),
    '\u202eabc',
    'a\u0000',
    'a\nb',
    'a\u001b[31m',
    '\ud83d',
    'a\u2066b',
    42,
    null,
    undefined,
    {},
  ])('%j is none', (raw) => {
    expect(parseSessionLabel(raw)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^invalid label: /),
    })
  })
})
