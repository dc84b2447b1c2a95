import { expect, test } from 'vitest'
import { formatOriginChannel, parseOriginChannel, personAt, privateChatWith } from './address.ts'

test('an origin that looks like an option, lacks a part or is endless is none', () => {
  for (const text of [
    'telegram|acct|-rf',
    '-rf',
    '|',
    'telegram|',
    '|5',
    'telegram',
    `telegram|${'x'.repeat(10_000)}`,
  ])
    expect(parseOriginChannel(text), text.slice(0, 30)).toBeUndefined()
})

test('groups with negative numbers and targets with a bar in them are understood, and written back', () => {
  for (const text of ['telegram|-100777', 'a|b|c|d', 'telegram|work|501']) {
    const address = parseOriginChannel(text)!
    expect(parseOriginChannel(formatOriginChannel(address))).toEqual(address)
  }
  expect(parseOriginChannel('a|b|c|d')).toEqual({ channel: 'a', accountId: 'b', to: 'c|d' })
})

test('a private chat knows its person on every platform', () => {
  for (const channel of ['telegram', 'discord', 'whatsapp']) {
    const address = privateChatWith({ channel, accountId: 'default', senderId: '+49123' })
    expect(personAt(address)).toBe('+49123')
  }
})

test('a person on WhatsApp is the same in both forms of the address; an id of WhatsApp’s own and a group stay as they are', () => {
  expect(personAt({ to: '491701234567@s.whatsapp.net' })).toBe('+491701234567')
  for (const to of ['+491701234567', '12345678@lid', '120363@g.us']) expect(personAt({ to })).toBe(to)
})
