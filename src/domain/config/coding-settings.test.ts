import { expect, test } from 'vitest'
import { mcpBridgeConfig, sessionSelectionConfig, sessionSelectionOverrides } from './coding-settings.ts'

test('the selection of sessions has the defaults of the seed', () => {
  expect(sessionSelectionConfig.parse({})).toEqual({
    relevanceModel: 'claude-haiku',
    relevanceMaxTokens: 500,
    relevanceTimeoutMs: 3_000,
    resumeThreshold: 0.6,
    enabled: true,
  })
})

test('what an agent wants otherwise names only that, so that the rest stays as it is', () => {
  const overrides = sessionSelectionOverrides.parse({ resumeThreshold: 0.7 })
  expect(overrides).toEqual({ resumeThreshold: 0.7 })
  expect({ ...sessionSelectionConfig.parse({}), ...overrides }).toMatchObject({
    resumeThreshold: 0.7,
    relevanceTimeoutMs: 3_000,
  })
})

test('the flags of the seed that nothing ever read are no settings', () => {
  for (const flag of ['exposeMemory', 'exposeConversation'])
    expect(mcpBridgeConfig.safeParse({ [flag]: true }).success).toBe(false)
})
