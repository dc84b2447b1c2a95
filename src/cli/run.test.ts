import { expect, test } from 'vitest'
import { findOperation } from '../operations/all.ts'
import { RockpoolError } from '../domain/errors.ts'
import { confirm } from './run.ts'

const answers: Record<string, unknown> = {
  'agents.list': { defaultId: 'main', agents: [{ id: 'main' }] },
  'tokens.list': { tokens: [] },
  'channels.list': { channels: [{ channel: 'telegram', accountId: 'default' }] },
  'vault.list': { total: 1, sessions: [{ sessionId: '3f2a' }] },
  'pairing.list': { people: [{ channel: 'telegram', accountId: 'default', senderId: '7' }] },
}

// A prompt would wait forever here.
test.each([
  ['agents.remove', { id: 'nobody' }],
  ['agents.remove', { id: 'main' }],
  ['tokens.remove', { name: 'none' }],
  ['channels.remove', { channel: 'telegram', accountId: 'other' }],
  ['channels.remove', { channel: 'discord' }],
  ['pairing.remove', { channel: 'telegram', senderId: '8' }],
  ['vault.purge', { id: 'nope' }],
])('%s %j: no confirmation for a missing target', async (name, input) => {
  const asked: string[] = []
  const callByName = async (name: string): Promise<unknown> => {
    asked.push(name)
    return answers[name]
  }
  await confirm((await findOperation(name))!, input, { callByName })
  expect(asked).toHaveLength(1)
})

test.each([
  ['sessions.delete', { key: 'x' }],
  ['schedules.remove', { schedule: 'x' }],
])('%s %j: a missing target is reported before any confirmation', async (name, input) => {
  const callByName = async () => Promise.reject(new RockpoolError('not-found', 'No such one.'))
  await expect(confirm((await findOperation(name))!, input, { callByName })).rejects.toThrow('No such one.')
})
