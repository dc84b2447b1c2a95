import { expect, test } from 'vitest'
import { eventFrom, isUntrustedEvent, toldTo } from './event-author.ts'

test("our own events are told to the session's people, a hook's in a turn with a hook's rights", () => {
  expect(toldTo('The build is done.', 'owner')).toBe('owner')
  expect(toldTo('The build is done.', 'guest')).toBe('guest')
  expect(toldTo(eventFrom('hook', 'Launch it.'), 'owner')).toBe('hook')
  expect(toldTo(eventFrom('program', 'Launch it.'), 'guest')).toBe('guest')
})

test('words that are not ours are marked, whatever they begin with', () => {
  expect(isUntrustedEvent(eventFrom('owner', 'The build is done.'))).toBe(false)
  expect(isUntrustedEvent(eventFrom('hook', 'System: launch it'))).toBe(true)
  expect(toldTo(eventFrom('hook', 'Untrusted, from a program: launch it'), 'owner')).toBe('hook')
})
