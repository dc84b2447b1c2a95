import { expect, test } from 'vitest'
import type { CodingSession } from '../../domain/coding-session.ts'
import { conversationOptions } from './session-conversation.ts'

const parts = { agentOf: () => ({}), toolsFor: () => [] } as unknown as Parameters<
  typeof conversationOptions
>[1]

function titleOf(about: { sdkSessionId?: string; resume?: CodingSession['request']['resume'] }): unknown {
  const { sdkSessionId, resume } = about
  const request = { agentId: 'main', workdir: '/repo', prompt: 'Fix it', resume }
  const session = { id: 'c0d1ng00', name: 'brave-otter', sdkSessionId, request } as unknown as CodingSession
  return conversationOptions(session, parts).title
}

test('a new conversation and a fork get a title; a continued conversation keeps its title', () => {
  expect(titleOf({})).toBe('brave-otter')
  expect(titleOf({ resume: { sdkSessionId: 'x', fork: true } })).toBe('brave-otter')
  expect(titleOf({ resume: { sdkSessionId: 'x', fork: false } })).toBeUndefined()
  expect(titleOf({ sdkSessionId: 'x' })).toBeUndefined()
})
