import { expect, test } from 'vitest'
import { channelsConfig } from './channel-settings.ts'
import { accountsOf, accountSettingsOf, withAccounts } from './read-settings.ts'

const problems = (value: unknown): string => {
  const checked = channelsConfig.safeParse(value)
  return checked.success ? '' : checked.error.issues.map((issue) => issue.message).join('; ')
}

test('nothing configured is a valid configuration', () => {
  expect(channelsConfig.parse(undefined)).toEqual({
    ownerAllowFrom: [],
    messagesPerMinute: 20,
    ownerMessagesPerMinute: 300,
  })
})

test('people are named by id, as a text or a number, with or without the platform before it', () => {
  const config = channelsConfig.parse({
    telegram: { allowFrom: [123456789, 'telegram:42', '7'] },
    whatsapp: { allowFrom: ['+491701234567'] },
    ownerAllowFrom: ['telegram:42', 'whatsapp:+491701234567'],
  })
  expect(config.telegram?.allowFrom).toEqual(['123456789', '42', '7'])
})

test('a name in an allow list is refused, with a hint to the id', () => {
  expect(problems({ telegram: { allowFrom: ['@alice'] } })).toMatch(/"@alice" is not a person's id.*numeric/)
  expect(problems({ discord: { allowFrom: ['alice#1234'] } })).toMatch(/numeric user id/)
  expect(problems({ ownerAllowFrom: ['telegram:@alice'] })).toMatch(/is not an owner/)
})

test('a group is not a person, and an empty id matches no one', () => {
  expect(problems({ whatsapp: { allowFrom: ['120363041234567890@g.us'] } })).toMatch(/phone number/)
  expect(problems({ telegram: { allowFrom: [''] } })).not.toBe('')
  expect(problems({ telegram: { allowFrom: ['-100123'] } })).not.toBe('')
})

test('a webhook needs a real secret, also on one account alone', () => {
  const url = 'https://example.org/telegram'
  expect(problems({ telegram: { webhook: { url, secret: '' } } })).toMatch(/blank secret/)
  expect(problems({ telegram: { webhook: { url, secret: '                ' } } })).toMatch(/blank secret/)
  expect(problems({ telegram: { webhook: { url } } })).not.toBe('')
  expect(problems({ telegram: { accounts: { work: { webhook: { url, secret: ' ' } } } } })).toMatch(/blank/)
})

test('an account has what is set for its platform, and its own words count more', () => {
  const config = channelsConfig.parse({
    telegram: { dmPolicy: 'allowlist', allowFrom: ['1'], accounts: { work: { allowFrom: ['2'] }, home: {} } },
    discord: {},
  })
  expect(accountsOf(config, 'telegram')).toEqual([
    { accountId: 'work', settings: { dmPolicy: 'allowlist', allowFrom: ['2'] } },
    { accountId: 'home', settings: { dmPolicy: 'allowlist', allowFrom: ['1'] } },
  ])
  expect(accountsOf(config, 'discord')).toEqual([{ accountId: 'default', settings: {} }])
  expect(accountsOf(config, 'whatsapp')).toEqual([])
})

test('an account that was added by command is there beside those of the file', () => {
  const config = channelsConfig.parse({ telegram: { dmPolicy: 'disabled' } })
  const all = withAccounts(config, [
    { channel: 'telegram', accountId: 'work' },
    { channel: 'discord', accountId: 'default' },
  ])
  expect(accountsOf(all, 'telegram').map((one) => one.accountId)).toEqual(['default', 'work'])
  expect(accountsOf(all, 'discord')).toEqual([{ accountId: 'default', settings: {} }])
  expect(accountSettingsOf(config, 'telegram', 'work')).toEqual({ dmPolicy: 'disabled' })
})
