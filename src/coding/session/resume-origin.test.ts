import { expect, test } from 'vitest'
import { codingConfig } from '../../domain/config/coding-settings.ts'
import { nativeOrigin, resumeChanges } from './resume-origin.ts'

const native = {
  sessionId: 's',
  repoPath: '/r',
  isRunning: false,
  source: 'native-only',
  entrypoint: 'cli',
} as const
const config = { defaultModel: 'claude-haiku-5-5', permissionMode: 'default' } as const

test('a session that Claude Code started says what a resume changes', () => {
  const changes = resumeChanges({ ...native, model: 'claude-opus-5', permissionMode: 'acceptEdits' }, config)
  expect(changes).toMatch(/Rockpool's tools and settings/)
  expect(changes).toMatch(/model claude-haiku-5-5 instead of claude-opus-5/)
  expect(changes).toMatch(/permission mode default instead of acceptEdits/)
})

test('a model and a mode that stay are not named', () => {
  const changes = resumeChanges({ ...native, model: 'claude-opus-5' }, { permissionMode: 'default' })
  expect(changes).not.toMatch(/model|mode/)
})

test("a session of Rockpool's own changes nothing", () => {
  expect(resumeChanges({ ...native, source: 'rockpool', entrypoint: 'sdk-ts' }, config)).toBeUndefined()
})

test('a conversation stays with its agent, and belongs to main if it has none', async () => {
  const ownerOf = async (agentId?: string): Promise<string> => {
    const parts = { findNative: async () => ({ ...native, agentId }), config: codingConfig.parse({}) }
    return (await nativeOrigin(parts, 'x', {})).request.agentId
  }
  expect(await ownerOf('openclaw-main')).toBe('openclaw-main')
  expect(await ownerOf()).toBe('main')
})
