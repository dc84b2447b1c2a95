// When something was last said in a chat, which decides whether a plain "yes" answers a question.
import { expect, test } from 'vitest'
import type { Approval } from '../domain/coding-session.ts'
import type { Delivery } from '../domain/reply.ts'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { LastMessages } from './chat-answers.ts'

const address = { channel: 'telegram', accountId: 'default', to: '501' }
const delivery = (reply: Delivery['reply'], createdAt: number): Delivery => ({
  id: 'd',
  lane: 'l',
  address,
  reply,
  idempotencyKey: 'k',
  createdAt,
})

test('a message counts from the time at which it was sent, and a question from the time at which it was shown', async () => {
  const clock = makeMovableClock(1_000)
  const last = new LastMessages(clock, () => true)
  const approval = { id: 'a1', askedAt: 1_200 } as Approval
  expect(last.shownAt(address, approval)).toBe(1_200)
  await clock.advance(1_000)
  last.sent(delivery({ text: 'May I?', approvalId: 'a1' }, 1_200))
  expect(last.shownAt(address, approval)).toBe(2_000)
  expect(last.shownAt({ ...address, to: '502' }, approval)).toBe(1_200)
  expect(last.at(address)).toBe(0)
  // Written before the question, and sent after it.
  await clock.advance(1_000)
  last.sent(delivery({ text: 'Shall I water the plants?' }, 1_100))
  expect(last.at(address)).toBe(3_000)
})
