import { expect, test } from 'vitest'
import { configSchema } from '../domain/config.ts'
import {
  DEFAULT_MEMORY_FLUSH_PROMPT,
  flushDone,
  memoryFlushPrompt,
  resolveMemoryFlushSettings,
  shouldRunMemoryFlush,
} from './memory-flush.ts'

const limits = { contextWindowTokens: 100_000, reserveTokensFloor: 5_000, softThresholdTokens: 4_000 }

test.each([
  [90_999, false],
  [91_000, true],
])("with the seed's example of 100K, 5K and 4K, %i tokens flush: %s", (totalTokens, due) => {
  expect(shouldRunMemoryFlush({ entry: { totalTokens }, ...limits })).toBe(due)
})

test('the first cycle flushes too: a count of 0 is not a flush at 0', () => {
  expect(shouldRunMemoryFlush({ entry: { totalTokens: 95_000, compactionCount: 0 }, ...limits })).toBe(true)
})

test('once in a cycle, and again after the next compaction', () => {
  const entry = { totalTokens: 95_000, compactionCount: 2 }
  const flushed = { ...entry, ...flushDone(entry, 1) }
  expect(shouldRunMemoryFlush({ entry: flushed, ...limits })).toBe(false)
  expect(shouldRunMemoryFlush({ entry: { ...flushed, compactionCount: 3 }, ...limits })).toBe(true)
})

test.each([
  ['nothing is known of the session', undefined, limits],
  ['the number is from before a compaction', { totalTokens: 95_000, totalTokensFresh: false }, limits],
  [
    'the window is smaller than the reserve',
    { totalTokens: 9_000 },
    { ...limits, contextWindowTokens: 8_000 },
  ],
])('no flush when %s', (_why, entry, sizes) => {
  expect(shouldRunMemoryFlush({ entry, ...sizes })).toBe(false)
})

test('settings: an agent over all agents over the defaults, or off', () => {
  const config = configSchema.parse({
    agents: {
      defaults: { memoryFlush: { softThresholdTokens: 1 } },
      list: [
        { id: 'own', memoryFlush: { prompt: ' Write. ' } },
        { id: 'off', memoryFlush: { enabled: false } },
      ],
    },
  })
  expect(resolveMemoryFlushSettings(config, 'main')).toMatchObject({
    softThresholdTokens: 1,
    reserveTokensFloor: 20_000,
    prompt: DEFAULT_MEMORY_FLUSH_PROMPT,
  })
  expect(resolveMemoryFlushSettings(config, 'own')).toMatchObject({
    prompt: 'Write.',
    softThresholdTokens: 4_000,
  })
  expect(resolveMemoryFlushSettings(config, 'off')).toBeNull()
})

test("the file is named by the person's date, not by the machine's", () => {
  const settings = resolveMemoryFlushSettings(configSchema.parse({}), 'main')!
  const lateEvening = Date.UTC(2026, 0, 31, 23, 30)
  expect(memoryFlushPrompt(settings, lateEvening, 'UTC')).toContain('memory/2026-01-31.md')
  const inBerlin = memoryFlushPrompt(settings, lateEvening, 'Europe/Berlin')
  expect(inBerlin).toContain('memory/2026-02-01.md')
  expect(inBerlin).toMatch(/APPEND new content only/)
  expect(inBerlin).toMatch(/Current time: .*1 February 2026.*00:30/)
})
