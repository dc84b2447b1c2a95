// Two sets of tests: the default run (every behaviour, small sizes) and the full one (real sizes, minutes).
import { join } from 'node:path'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const full = process.env['ROCKPOOL_TEST'] === 'full'

const shared: TestProjectInlineConfiguration['test'] = {
  pool: 'forks',
  // Workers and processes that tests start from the sources: each start would strip the same types anew.
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/test-workers') },
  // A test that hangs ends here. Full tests say nothing about speed by it: beside other work they take several times as long.
  testTimeout: full ? 1_200_000 : 90_000,
  hookTimeout: full ? 600_000 : 60_000,
  setupFiles: ['test/support/patience.ts'],
  expect: { poll: { timeout: full ? 60_000 : 20_000, interval: 20 } },
}

/** Node reads the sources itself, as it does in the processes that tests start; no test replaces a module. */
const byNode = { viteModuleRunner: false, nodeLoader: false }

/** Tests that start databases. */
const globalSetup = ['test/support/shared-folder.ts']

const fullRun: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...shared,
      name: 'full',
      include: ['test/full/**/*.test.ts'],
      experimental: byNode,
      globalSetup,
    },
  },
]

const defaultRun: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...shared,
      name: 'program',
      include: ['src/**/*.test.ts', 'test/*.test.ts'],
      experimental: byNode,
      globalSetup,
      // Nothing in src/ and test/support/ has state at module level, so the files of one worker share what they import.
      isolate: false,
    },
  },
  // The page is TypeScript with markup, which Vite must transform.
  {
    test: {
      ...shared,
      name: 'page',
      include: ['web/**/*.test.ts'],
      isolate: false,
      sequence: { groupOrder: 1 },
    },
  },
]

export default defineConfig({
  test: {
    projects: full ? fullRun : defaultRun,
    // Two more than there are cores: journeys spend half of their time waiting for other processes.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ['./test/support/closing-lines.ts'],
  },
})
