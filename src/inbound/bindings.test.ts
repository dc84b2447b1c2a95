import { expect, test } from 'vitest'
import { configSchema } from '../domain/config.ts'
import type { Message } from '../domain/message.ts'
import { boundAgent } from './bindings.ts'

type Routed = Pick<Message, 'address' | 'chatType' | 'sender' | 'group'>

const agents = { list: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => ({ id })) }
const bound = (bindings: unknown, message: Routed): string | undefined =>
  boundAgent(message, configSchema.parse({ agents, bindings }).bindings)

const direct = (id: string, over: Partial<Routed['address']> = {}): Routed => ({
  address: { channel: 'telegram', accountId: 'default', to: id, ...over },
  chatType: 'direct',
  sender: { id },
})
const inServer = (roles: string[], threadId?: string): Routed => ({
  address: { channel: 'discord', accountId: 'default', to: '8001', ...(threadId ? { threadId } : {}) },
  chatType: 'group',
  sender: { id: '5', roles },
  group: { space: '6001' },
})

test('nothing is bound to a chat that no binding fits', () => {
  expect(bound([], direct('7'))).toBeUndefined()
  expect(bound([{ agentId: 'a', match: { channel: 'discord' } }], direct('7'))).toBeUndefined()
})

test('the most exact binding wins, wherever it stands', () => {
  const bindings = [
    { agentId: 'a', match: { channel: 'discord', accountId: '*' } },
    { agentId: 'b', match: { channel: 'discord' } },
    { agentId: 'c', match: { channel: 'discord', guildId: '6001' } },
    { agentId: 'd', match: { channel: 'discord', guildId: '6001', roles: ['9'] } },
    { agentId: 'e', match: { channel: 'discord', peer: { kind: 'channel', id: '8001' } } },
    { agentId: 'f', match: { channel: 'discord', peer: { kind: 'channel', id: '8002' } } },
  ]
  const least = (from: number, message: Routed) => bound(bindings.slice(0, from), message)
  expect(least(6, inServer(['9'], '8002'))).toBe('f')
  expect(least(6, inServer(['9'], '8003'))).toBe('e')
  expect(least(5, inServer(['9']))).toBe('e')
  expect(least(4, inServer(['9']))).toBe('d')
  expect(least(4, inServer(['1']))).toBe('c')
  expect(least(2, inServer([]))).toBe('b')
  expect(least(1, inServer([]))).toBe('a')
})

test('among equals the first one counts', () => {
  const match = { channel: 'telegram', peer: { kind: 'direct', id: 7 } }
  expect(
    bound(
      [
        { agentId: 'b', match },
        { agentId: 'a', match },
      ],
      direct('7'),
    ),
  ).toBe('b')
})

test('without an account the default one is meant, and the star means all', () => {
  const work = direct('7', { accountId: 'work' })
  expect(bound([{ agentId: 'a', match: { channel: 'telegram' } }], work)).toBeUndefined()
  expect(bound([{ agentId: 'a', match: { channel: 'telegram', accountId: 'work' } }], work)).toBe('a')
  expect(bound([{ agentId: 'a', match: { channel: 'telegram', accountId: '*' } }], work)).toBe('a')
})

test('a person is bound in private only, a group never by the person who speaks', () => {
  const person = [{ agentId: 'a', match: { channel: 'discord', peer: { kind: 'direct', id: '5' } } }]
  expect(bound(person, inServer([]))).toBeUndefined()
  const group = [{ agentId: 'a', match: { channel: 'telegram', peer: { kind: 'group', id: '7' } } }]
  expect(bound(group, direct('7'))).toBeUndefined()
})

test('a topic of Telegram is bound apart from its group', () => {
  const topic = (threadId: string): Routed => ({
    address: { channel: 'telegram', accountId: 'default', to: '-100', threadId },
    chatType: 'group',
    sender: { id: '7' },
  })
  const peers = (agentId: string, id: string) => ({
    agentId,
    match: { channel: 'telegram', peer: { kind: 'group', id } },
  })
  const bindings = [peers('a', '-100'), peers('b', '-100:topic:42')]
  expect([bound(bindings, topic('42')), bound(bindings, topic('43'))]).toEqual(['b', 'a'])
})

test('roles without their server, and an agent that does not exist, are not taken', () => {
  expect(
    bound([{ agentId: 'a', match: { channel: 'discord', roles: ['9'] } }], inServer(['9'])),
  ).toBeUndefined()
  expect(() => bound([{ agentId: 'zz', match: { channel: 'discord' } }], inServer([]))).toThrow(
    /there is no agent .*zz/,
  )
})
