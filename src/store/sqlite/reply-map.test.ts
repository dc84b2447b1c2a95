import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { routeReply, sentKeptMs, sqliteReplyMap } from './reply-map.ts'
import { openStateDatabase } from './state-database.ts'

const address = { channel: 'telegram', accountId: 'default', to: '501' }
const sent = {
  agentId: 'main',
  sessionKey: 'agent:main:telegram:direct:501',
  sessionId: 's-1',
  entryId: 'abcd1234',
  sentAt: 5,
}

test('every message of a reply leads back to its session, also after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-replies-'))
  const path = join(folder, 'rockpool.sqlite')
  const database = openStateDatabase(path)
  await sqliteReplyMap(database).record(address, ['7', '8'], sent)
  await database.close()

  const again = openStateDatabase(path)
  const map = sqliteReplyMap(again)
  expect(await map.find(address, '7')).toEqual(sent)
  expect(await map.find(address, '8')).toEqual(sent)
  expect(await map.find({ ...address, to: '502' }, '7')).toBeUndefined()
  expect(await map.find({ ...address, accountId: 'work' }, '7')).toBeUndefined()
  await map.forget(sent.sentAt + sentKeptMs)
  expect(await map.find(address, '7')).toEqual(sent)
  await map.forget(sent.sentAt + sentKeptMs + 1)
  expect(await map.find(address, '7')).toBeUndefined()
  await again.close()
  rmSync(folder, { recursive: true })
})

test('an answer continues the session, or forks it where it was when the session has moved on', () => {
  expect(routeReply(sent, { sessionId: 's-1' })).toMatchObject({
    kind: 'continue',
    sessionKey: sent.sessionKey,
  })
  expect(routeReply(sent, { sessionId: 's-2' })).toMatchObject({
    kind: 'fork',
    sessionId: 's-1',
    entryId: 'abcd1234',
  })
  expect(routeReply(sent, undefined)).toMatchObject({ kind: 'fork' })
  expect(routeReply({ ...sent, sessionId: undefined }, undefined)).toMatchObject({ kind: 'continue' })
})
