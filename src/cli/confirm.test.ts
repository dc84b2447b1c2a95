import { expect, test } from 'vitest'
import { findOperation } from '../operations/all.ts'
import { RockpoolError } from '../domain/errors.ts'
import { confirm } from './confirm.ts'

const answers: Record<string, unknown> = {
  'agents.list': { defaultId: 'main', agents: [{ id: 'main' }] },
  'tokens.list': { tokens: [] },
  'channels.list': { channels: [{ channel: 'telegram', accountId: 'default' }] },
  'pairing.list': { people: [{ channel: 'telegram', accountId: 'default', senderId: '7' }] },
}

// Whoever is asked would be waited for: there is nobody here to answer.
test.each([
  ['agents.remove', { id: 'nobody' }],
  ['agents.remove', { id: 'main' }],
  ['tokens.remove', { name: 'none' }],
  ['channels.remove', { channel: 'telegram', accountId: 'other' }],
  ['channels.remove', { channel: 'discord' }],
  ['pairing.remove', { channel: 'telegram', senderId: '8' }],
])('%s %j: nobody is asked about what is not there or cannot be', async (name, input) => {
  const asked: string[] = []
  const asker = {
    ask: async (operation: { name: string }) => {
      asked.push(operation.name)
      return answers[operation.name]
    },
    close: async () => {},
  }
  await confirm((await findOperation(name))!, input, asker)
  expect(asked).toHaveLength(1)
})

test('a session that is not there is said to be missing before anybody is asked', async () => {
  const ask = async () => Promise.reject(new RockpoolError('not-found', 'No session.'))
  const deletes = (await findOperation('sessions.delete'))!
  await expect(confirm(deletes, { key: 'x' }, { ask, close: async () => {} })).rejects.toThrow('No session.')
})
