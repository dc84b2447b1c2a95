import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sessionFolder } from '../../test/support/session-folder.ts'
import { configSchema } from '../domain/config.ts'
import { silentLog } from '../domain/log.ts'
import { olderSessionKeys } from '../domain/session-key-forms.ts'
import { FileSessions } from '../store/files/sessions-in-file.ts'
import { findSession } from './find-session.ts'
import type { SessionParts } from './session-parts.ts'

const config = configSchema.parse({})

const spellings = [
  ['agent:main:telegram:dm:42', 'agent:main:telegram:direct:42'],
  ['telegram:dm:42', 'agent:main:telegram:direct:42'],
  ['main', 'agent:main:main'],
  ['agent:main:bob', 'agent:main:direct:bob'],
  ['group:123@g.us', 'agent:main:whatsapp:group:123@g.us'],
  ['agent:main:matrix:direct:@bob:example.org', 'agent:main:matrix:direct:@bob%3aexample.org'],
] as const

/** The same folder, with its rows in SQLite or in sessions.json. */
function partsIn(kind: 'sqlite' | 'file'): SessionParts {
  const { parts, dir, clock } = sessionFolder()
  if (kind === 'sqlite') return parts
  const path = join(dir, 'sessions.json')
  return { ...parts, sessions: new FileSessions({ agentId: 'main', path, clock, log: silentLog }) }
}

function nextMessage(parts: SessionParts, key: string): ReturnType<typeof findSession> {
  return findSession({ key, commandText: 'on with it', config, parts })
}

for (const kind of ['sqlite', 'file'] as const) {
  test.each(spellings)(`the session of %s goes on as %s (${kind})`, async (older, key) => {
    const parts = partsIn(kind)
    const entry = { sessionId: 'old-one', updatedAt: parts.clock.now(), label: 'home' }
    await parts.sessions.update(older, () => entry)
    expect(await nextMessage(parts, key)).toMatchObject({
      isNew: false,
      session: { entry: { sessionId: 'old-one' } },
    })
    const { sessions } = await parts.sessions.list()
    expect(sessions).toMatchObject([{ key, entry: { sessionId: 'old-one', label: 'home' } }])
  })
}

test('where today’s key has a session, one under an older spelling is left alone', async () => {
  const parts = partsIn('sqlite')
  const now = parts.clock.now()
  await parts.sessions.update('main', () => ({ sessionId: 'old-one', updatedAt: now }))
  await parts.sessions.update('agent:main:main', () => ({ sessionId: 'new-one', updatedAt: now }))
  expect(await nextMessage(parts, 'agent:main:main')).toMatchObject({
    session: { entry: { sessionId: 'new-one' } },
  })
  expect((await parts.sessions.get('main'))?.sessionId).toBe('old-one')
})

test('nobody takes over somebody else’s session', () => {
  const spelling = { agentId: 'work', isDefaultAgent: false }
  expect(olderSessionKeys('agent:work:main', spelling)).toEqual([])
  const bob = olderSessionKeys('agent:main:telegram:direct:%42ob', { agentId: 'main', isDefaultAgent: true })
  expect(bob).not.toContain('agent:main:telegram:direct:bob')
  expect(bob).not.toContain('agent:main:telegram:dm:bob')
})
