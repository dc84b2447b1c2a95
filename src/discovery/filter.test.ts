import { expect, test } from 'vitest'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import { sortSessions } from './filter.ts'

test('running sessions come first, then the last changed; equal ones by id', () => {
  const sessions = [
    discoveredSession({ sessionId: 'old', lastModified: new Date(1) }),
    discoveredSession({ sessionId: 'b', lastModified: new Date(3) }),
    discoveredSession({ sessionId: 'a', lastModified: new Date(3) }),
    discoveredSession({ sessionId: 'runs', lastModified: new Date(0), isRunning: true }),
    discoveredSession({ sessionId: 'runs-newer', lastModified: new Date(2), isRunning: true }),
  ]
  const order = sortSessions(sessions, 'recent').map(({ sessionId }) => sessionId)
  expect(order).toEqual(['runs-newer', 'runs', 'a', 'b', 'old'])
})
