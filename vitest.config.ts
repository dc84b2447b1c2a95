// Two sets of tests: the default run (every behaviour, small sizes) and the full one (real sizes, minutes).
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const full = process.env['ROCKPOOL_TEST'] === 'full'

export default defineConfig({
  test: {
    include: full
      ? ['test/full/**/*.test.ts']
      : ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: full ? ['node_modules/**'] : ['node_modules/**', 'test/full/**'],
    pool: 'forks',
    // One more than there are cores: journeys spend half of their time waiting for other processes.
    maxWorkers: 3,
    // Workers that tests start from the sources: each start would strip the same types anew.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/test-workers') },
    testTimeout: full ? 600_000 : 60_000,
    hookTimeout: 60_000,
    reporters: ['./test/closing-lines.ts'],
  },
})
