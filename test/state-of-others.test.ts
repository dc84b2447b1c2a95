// The gateway on a state directory that this user may not write: one clear error with its remedy, and no stack. Root may write
// everywhere, so for root the gateway runs as another user.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const isRoot = process.getuid?.() === 0
const other = 54_321
let folder: string
let state: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-others-'))
  chmodSync(folder, 0o755)
  state = join(folder, 'state')
})
afterEach(() => {
  chmodSync(folder, 0o755)
  rmSync(folder, { recursive: true })
})

interface Failure {
  code: string
  message: string
  hint: string
}

/** What the daemon throws at its start. The program is loaded before the user changes, who may not read it. */
function failureOf(): Failure {
  const source = (name: string): string => JSON.stringify(join(import.meta.dirname, '../src', name))
  const script = `
    import { runDaemon } from ${source('daemon.ts')}
    import { readEnvironment } from ${source('store/config-file.ts')}
    if (${isRoot}) { process.setgroups([]); process.setgid(${other}); process.setuid(${other}) }
    const variables = { HOME: ${JSON.stringify(folder)}, ROCKPOOL_STATE_DIR: ${JSON.stringify(state)} }
    const environment = readEnvironment(variables)
    const untilStopped = Promise.resolve('test')
    const input = { port: 0 }
    await runDaemon({ environment, version: '0', input, ready() {}, untilStopped })
      .catch(({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as Failure
}

function makeOwn(mode: number): void {
  mkdirSync(state, { mode: 0o700 })
  if (isRoot) chownSync(state, other, other)
  chmodSync(state, mode)
}

test('a folder in which no state directory can be made', () => {
  chmodSync(folder, 0o555)
  expect(failureOf()).toEqual({
    code: 'disk-failed',
    message: `The state directory ${state} cannot be made.`,
    hint: 'Point ROCKPOOL_STATE_DIR at a place where you may write.',
  })
})

test('a state directory that is not writable', () => {
  makeOwn(0o500)
  const { code, message, hint } = failureOf()
  expect(code).toBe('disk-failed')
  expect(message).toContain(`${join(state, 'gateway.lock')} cannot be opened: `)
  expect(hint).toContain('ROCKPOOL_STATE_DIR')
})

test.runIf(isRoot)('a state directory of another user', () => {
  mkdirSync(state, { mode: 0o700 })
  expect(failureOf()).toMatchObject({ code: 'refused', message: `${state} belongs to another user (uid 0).` })
})

test.runIf(isRoot)('a lock of another user in it, as after one start as root', () => {
  makeOwn(0o700)
  writeFileSync(join(state, 'gateway.lock'), '', { mode: 0o666 })
  chmodSync(join(state, 'gateway.lock'), 0o666)
  expect(failureOf()).toMatchObject({ code: 'disk-failed', hint: expect.stringContaining(state) })
})
