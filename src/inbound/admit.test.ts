import { expect, test } from 'vitest'
import type { Message } from '../domain/message.ts'
import { admit, messageKey } from './admit.ts'

const message = (over: Partial<Message> = {}): Message => ({
  id: '1',
  event: 'message',
  address: { channel: 'telegram', to: '-100', accountId: 'default' },
  chatType: 'group',
  sender: { id: '7' },
  text: 'hello',
  sentAt: 0,
  mentioned: false,
  media: [],
  ...over,
})
const allowed = { kind: 'allowed', owner: true, byOwner: true, requireMention: true } as const
const byMention = { config: 'mention' } as const

test('a refused person gets the answer that the policy gives, and no access', () => {
  const refused = { kind: 'refused', reason: 'not-paired', say: 'Your code: ABCD' } as const
  expect(admit(message(), refused, byMention)).toEqual(refused)
})

test('in a group only a mention is answered; the rest is overheard, commands too', () => {
  expect(admit(message({ mentioned: true }), allowed, byMention)).toEqual({
    kind: 'accepted',
    owner: true,
    byMember: true,
    byOwner: true,
  })
  expect(admit(message(), allowed, byMention)).toEqual({ kind: 'overheard' })
  expect(admit(message({ text: '/approve 1' }), allowed, byMention)).toEqual({ kind: 'overheard' })
  expect(admit(message({ text: 'hi @rocky' }), allowed, byMention, { names: ['rocky'] }).kind).toBe(
    'accepted',
  )
})

test('the session decides about activation before the group, the group before the configuration', () => {
  const always = { ...allowed, requireMention: false }
  expect(admit(message(), allowed, { config: 'always' }).kind).toBe('accepted')
  expect(admit(message(), always, byMention).kind).toBe('accepted')
  expect(admit(message(), always, { session: 'mention', config: 'always' }).kind).toBe('overheard')
  expect(admit(message(), allowed, { session: 'always', config: 'mention' }).kind).toBe('accepted')
})

test('direct messages and buttons need no mention; reactions and empty messages are ignored', () => {
  expect(admit(message({ chatType: 'direct' }), allowed, byMention).kind).toBe('accepted')
  const button = { data: 'x', messageId: '9' }
  expect(admit(message({ event: 'button', text: '', button }), allowed, byMention).kind).toBe('accepted')
  expect(admit(message({ event: 'reaction' }), allowed, byMention).kind).toBe('ignored')
  expect(admit(message({ text: ' ' }), allowed, byMention).kind).toBe('ignored')
})

test('no two messages share a name, even if an id holds our separator', () => {
  const one = messageKey(message({ id: 'b|c', address: { channel: 't', accountId: 'a', to: 'x' } }))
  const two = messageKey(message({ id: 'c', address: { channel: 't', accountId: 'a', to: 'x|b' } }))
  expect(one).not.toBe(two)
})
