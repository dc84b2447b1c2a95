import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { makeEvents } from '../domain/events.ts'
import { silentLog } from '../domain/log.ts'
import { loadConfig, readEnvironment } from './config-file.ts'
import { reloadConfigOnChange } from './config-reload.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-reload-'))
})
afterEach(() => rmSync(home, { recursive: true }))

test('a file that an editor is still writing is not reported; an invalid one is, once', async () => {
  const environment = readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: home })
  const { config } = await loadConfig(environment)
  const clock = makeMovableClock()
  const reported: unknown[] = []
  const log = { ...silentLog, error: (fields: object) => void reported.push(fields) }
  const events = makeEvents(() => undefined)
  const stop = reloadConfigOnChange({ environment, config, clock, log, events })
  const write = (text: string): void => writeFileSync(environment.configFile, text, { mode: 0o600 })

  write('')
  await clock.advance(1_100)
  write('{ "coding": { "maxSessions": 9 } }')
  await vi.waitFor(async () => {
    await clock.advance(1_100)
    expect(config.coding.maxSessions).toBe(9)
  })
  expect(reported).toEqual([])

  write('{ "coding": ')
  await vi.waitFor(async () => {
    await clock.advance(1_100)
    expect(reported).toMatchObject([{ event: 'config-invalid', reason: expect.stringContaining('not JSON') }])
  })
  for (let poll = 0; poll < 5; poll++) await clock.advance(1_100)
  expect(reported).toHaveLength(1)
  expect(config.coding.maxSessions).toBe(9)
  stop()
})
