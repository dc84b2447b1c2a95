import { expect, test } from 'vitest'
import { mailConfig } from '../domain/config/mail-settings.ts'
import { whyNotWake } from './wake-rules.ts'

const fresh = { wakesOfSession: 0, wakesOfAll: 0 }
const session = { sender: 'session:a', depth: 0 }
const owner = { sender: 'owner', depth: 0 }
const config = mailConfig.parse({})
const open = mailConfig.parse({ wake: 'anyone' })

test('only the owner wakes sessions, unless the owner allows others', () => {
  expect(whyNotWake(owner, fresh, config)).toBeUndefined()
  expect(whyNotWake(session, fresh, config)).toContain('Only the owner')
  expect(whyNotWake(session, fresh, open)).toBeUndefined()
  expect(whyNotWake(session, { ...fresh, policy: 'anyone' }, config)).toBeUndefined()
  expect(whyNotWake(session, { ...fresh, policy: 'owner' }, open)).toContain('Only the owner')
  expect(whyNotWake(owner, { ...fresh, policy: 'never' }, open)).toContain('No message')
})

test('depth, hour and day end every loop of sessions; the owner is not limited', () => {
  expect(whyNotWake({ ...session, depth: 2 }, fresh, open)).toBeUndefined()
  expect(whyNotWake({ ...session, depth: 3 }, fresh, open)).toContain('depth 3')
  expect(whyNotWake(session, { ...fresh, wakesOfSession: 6 }, open)).toContain('mail.wakesPerHour')
  expect(whyNotWake(session, { ...fresh, wakesOfAll: 60 }, open)).toContain('mail.wakesPerDay')
  expect(whyNotWake(owner, { wakesOfSession: 99, wakesOfAll: 99 }, open)).toBeUndefined()
})
