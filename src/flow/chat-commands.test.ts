import { expect, test } from 'vitest'
import { commandIn } from './chat-commands.ts'

const input = {
  key: 'k',
  lane: 'agent:main:main',
  agentId: 'main',
  message: {
    id: '1',
    event: 'message' as const,
    address: { channel: 'telegram', to: '7', accountId: 'default' },
    chatType: 'direct' as const,
    sender: { id: '7' },
    text: '/reset',
    sentAt: 0,
    mentioned: true,
    media: [],
  },
  mayCommand: true,
  owner: true,
}

test('a text is a command only if its sender may give commands', () => {
  expect(commandIn('/reset', input, {})).toMatchObject({ kind: 'built-in', name: 'reset' })
  expect(commandIn('/reset', { ...input, mayCommand: false }, {})).toBeUndefined()
})
