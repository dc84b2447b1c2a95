// Rockpools with homes of their own that share one PostgreSQL, each as on a machine of its own; put together in this process
// by the same code as the program.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../src/app.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { App } from '../../src/operations/app.ts'
import { perform } from '../../src/operations/all.ts'
import { readEnvironment } from '../../src/store/config-file.ts'

export interface SharedHome {
  app: App
  /** What `rockpool <operation> --json` says. */
  ask<T>(operation: string, input?: Record<string, unknown>): Promise<T>
  close(): Promise<void>
}

export async function openSharedHome(
  url: string,
  name: string,
  options: { config?: Record<string, unknown>; isGateway?: boolean; clock?: Clock } = {},
): Promise<SharedHome> {
  const home = mkdtempSync(join(tmpdir(), `rockpool-${name}-`))
  const stateDir = join(home, 'state')
  mkdirSync(stateDir, { mode: 0o700 })
  const settings = {
    store: 'postgres',
    machine: { name },
    claude: { credential: 'none' },
    // The words are what is tested; a model takes seconds.
    memory: { meaning: { use: 'none' } },
    ...options.config,
  }
  writeFileSync(join(stateDir, 'rockpool.json'), JSON.stringify(settings), { mode: 0o600 })
  const environment = readEnvironment({
    HOME: home,
    ROCKPOOL_STATE_DIR: stateDir,
    ROCKPOOL_DATABASE_URL: url,
    CLAUDE_CONFIG_DIR: join(home, 'claude'),
  })
  const app = await openApp(environment, {
    version: '0.0.0-test',
    isGateway: options.isGateway ?? false,
    clock: options.clock,
  })
  return {
    app,
    ask: async <T>(operation: string, input: Record<string, unknown> = {}) =>
      (await perform(app, operation, input, { via: 'cli', scopes: ['admin'] })) as T,
    async close() {
      await app.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
