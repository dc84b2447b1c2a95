import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEnvironment } from '../store/config-file.ts'
import { identifyProcess } from '../store/disk/process-identity.ts'
import { callingSession } from './calling-session.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-caller-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const called = (more: Record<string, string>): Promise<string | undefined> =>
  callingSession(readEnvironment({ HOME: home, CLAUDE_CONFIG_DIR: join(home, 'claude'), ...more }))

test('a process below a Claude session is that session, whatever its environment says', async () => {
  expect(await called({})).toBeUndefined()
  mkdirSync(join(home, 'claude', 'sessions'), { recursive: true })
  const pid = process.ppid
  const entry = { pid, sessionId: 'real-session', procStart: identifyProcess(pid)!.startTime, status: 'busy' }
  writeFileSync(join(home, 'claude', 'sessions', `${pid}.json`), JSON.stringify(entry))
  expect(await called({})).toBe('real-session')
  expect(await called({ CLAUDE_CODE_SESSION_ID: 'another', CLAUDECODE: '1' })).toBe('real-session')
})

test('without a registry the environment names the session; a session without a name is refused', async () => {
  expect(await called({ CLAUDE_CODE_SESSION_ID: 'Named' })).toBe('named')
  await expect(called({ CLAUDECODE: '1' })).rejects.toMatchObject({ code: 'forbidden' })
})
