// Watching on a system that has fewer watches than there are folders.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { silentLog } from '../domain/log.ts'
import { watchTranscripts, type Change } from './watch.ts'

test('without watches for all folders, the ones that changed last are watched, the others polled, and the log says so once', async () => {
  const configDir = mkdtempSync(join(tmpdir(), 'rockpool-watch-'))
  onTestFinished(() => rmSync(configDir, { recursive: true }))
  const folders = ['old', 'older', 'new'].map((name) => join(configDir, 'projects', name))
  for (const folder of folders) mkdirSync(folder, { recursive: true })
  const [old, older] = folders.map((folder) => join(folder, 's.jsonl'))
  for (const file of [old!, older!]) writeFileSync(file, 'one\n')
  for (const [n, folder] of folders.entries()) utimesSync(folder, n === 2 ? 2e9 : n, n === 2 ? 2e9 : n)

  const watched: string[] = []
  const warnings: object[] = []
  const clock = makeMovableClock()
  const changes: Change[] = []
  const stop = watchTranscripts(
    {
      configDirs: [configDir],
      clock,
      recent: () => [],
      log: { ...silentLog, warn: (about: object) => void warnings.push(about) },
      watch(path, listener) {
        if (watched.length >= 3) throw Object.assign(new Error('no more watches'), { code: 'ENOSPC' })
        watched.push(path)
        return watch(path, listener)
      },
    },
    async (change) => void changes.push(change),
  )
  expect(watched).toContain(join(configDir, 'projects', 'new'))
  expect(warnings).toMatchObject([{ event: 'watch-limit', watched: 3 }])
  await clock.advance(3_000)
  appendFileSync(old!, 'two\n')
  await clock.advance(3_000)
  await stop()
  expect(changes).toEqual([{ transcripts: [old], live: false }])
})

test('when a check of all transcripts takes long, it is repeated later, and those that changed last are polled meanwhile', async () => {
  const configDir = mkdtempSync(join(tmpdir(), 'rockpool-watch-'))
  onTestFinished(() => rmSync(configDir, { recursive: true }))
  const project = join(configDir, 'projects', 'one')
  mkdirSync(project, { recursive: true })
  const movable = makeMovableClock()
  let spentMs = 0
  const clock = { ...movable, monotonic: () => movable.monotonic() + spentMs }
  const checks: Array<string[] | undefined> = []
  const stop = watchTranscripts(
    {
      configDirs: [configDir],
      clock,
      log: silentLog,
      recent: () => ['recent'],
      watch: (path) => watch(path),
    },
    async ({ transcripts }) => {
      checks.push(transcripts)
      if (transcripts === undefined) spentMs += 200
    },
  )
  for (let n = 0; n < 8; n++) await movable.advance(30_000)
  // A check of 200 ms is repeated after 200 seconds.
  const recent = ['recent']
  expect(checks).toEqual([undefined, recent, recent, recent, recent, recent, recent, undefined])
  // A new transcript, on a file system without notifications.
  writeFileSync(join(project, 's.jsonl'), 'one\n')
  await movable.advance(30_000)
  await movable.advance(30_000)
  await stop()
  expect(checks.slice(8)).toEqual([undefined, recent])
})
