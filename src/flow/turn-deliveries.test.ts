import { expect, test } from 'vitest'
import { deliveriesOf } from './turn-deliveries.ts'

const about = {
  turnId: 't',
  sessionKey: 'agent:main:telegram:direct:7',
  address: { channel: 'telegram', accountId: 'default', to: '7' },
  maxTextLength: 20,
  now: 1,
}

test('an answer with a file takes the place of its preview, and the file follows', () => {
  const reply = { text: 'Here is the chart.', media: ['/m/chart.png'], replyToId: '5' }
  const made = deliveriesOf([reply], { ...about, preview: { messageId: 'p' } })
  expect(made).toMatchObject([
    { reply: { text: 'Here is the chart.', replyToId: '5' }, replacesMessageId: 'p' },
    { reply: { media: ['/m/chart.png'] } },
  ])
  expect(made[0]!.reply.media).toBeUndefined()
  expect(made[1]!.replacesMessageId).toBeUndefined()
  expect(deliveriesOf([reply], about)).toMatchObject([{ reply }])
})

test('when it is unknown whether the preview arrived, the answer is marked as the second copy', () => {
  const made = deliveriesOf([{ text: 'One two three four five six' }], {
    ...about,
    preview: { mayBeThere: true },
  })
  expect(made.map((one) => one.isSecondCopy)).toEqual([true, undefined])
})

test('each piece of an answer belongs to the point in the conversation where it was said', () => {
  const sessionPoint = { sessionId: 's', entryId: 'e' }
  const made = deliveriesOf([{ text: 'One two three four five six' }], { ...about, sessionPoint })
  expect(made.map((one) => one.sessionPoint)).toEqual([sessionPoint, sessionPoint])
})
