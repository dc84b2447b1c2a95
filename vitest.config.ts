// Two sets of tests: the default run (every behaviour, small sizes) and the full one (real sizes, minutes).
import { join } from 'node:path'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { defineConfig } from 'vitest/config'

const full = process.env['ROCKPOOL_TEST'] === 'full'

const shared: TestProjectInlineConfiguration['test'] = {
  pool: 'forks',
  // Workers that tests start from the sources: each start would strip the same types anew.
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/test-workers') },
  testTimeout: full ? 600_000 : 90_000,
  hookTimeout: 60_000,
  setupFiles: ['test/support/patience.ts'],
  expect: { poll: { timeout: 20_000, interval: 20 } },
}

const fullRun: TestProjectInlineConfiguration[] = [
  { test: { ...shared, name: 'full', include: ['test/full/**/*.test.ts'] } },
]

const defaultRun: TestProjectInlineConfiguration[] = [
  // Nothing in src/ has state at module level, so the files of one worker can share what they import.
  {
    test: { ...shared, name: 'parts', isolate: false, include: ['src/**/*.test.ts', 'web/**/*.test.ts'] },
  },
  { test: { ...shared, name: 'journeys', include: ['test/*.test.ts'] } },
]

export default defineConfig({
  test: {
    projects: full ? fullRun : defaultRun,
    // One more than there are cores: journeys spend half of their time waiting for other processes.
    maxWorkers: 3,
    reporters: ['./test/support/closing-lines.ts'],
  },
})
