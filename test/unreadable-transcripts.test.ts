// Transcripts and folders of Claude Code without read permission. Modes do not stop root, so for root the program runs
// without the capability to pass over them.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeHome, programFile } from './support/program.ts'
import type { Home } from './support/program.ts'

const withoutOverride = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search']
const isRoot = process.getuid?.() === 0
const canDrop = spawnSync(withoutOverride[0]!, [...withoutOverride.slice(1), 'true']).status === 0
let home: Home

beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

function rockpool(...args: string[]): string {
  const program = [process.execPath, programFile, ...args]
  const [command, ...rest] = isRoot ? [...withoutOverride, ...program] : program
  return execFileSync(command!, rest, { env: home.env, encoding: 'utf8' })
}

const id = (digit: number): string => `0000000${digit}-0000-4000-8000-00000000000a`

function transcript(project: string, digit: number): string {
  const folder = join(home.dir, 'claude/projects', project)
  mkdirSync(folder, { recursive: true })
  const record = {
    type: 'user',
    uuid: id(9),
    parentUuid: null,
    sessionId: id(digit),
    timestamp: '2026-11-01T10:00:00.000Z',
    cwd: '/repo',
    message: { role: 'user', content: `Task ${digit}` },
  }
  const file = join(folder, `${id(digit)}.jsonl`)
  writeFileSync(file, `${JSON.stringify(record)}\n`)
  return file
}

test.skipIf(isRoot && !canDrop)(
  'a transcript or project folder without read permission is listed with the reason, and found by doctor',
  () => {
    transcript('-repo', 1)
    const closed = transcript('-repo', 2)
    transcript('-closed', 3)
    const folder = join(home.dir, 'claude/projects/-closed')
    chmodSync(closed, 0)
    chmodSync(folder, 0)
    const reason = 'permission denied'
    const listed = JSON.parse(rockpool('cc', 'list', '--json')) as Record<string, unknown>
    expect(listed).toMatchObject({ total: 1, sessions: [{ sessionId: id(1) }] })
    expect(listed['unreadable']).toEqual([
      { path: folder, reason },
      { path: closed, reason },
    ])
    expect(rockpool('cc', 'list')).toContain(`Cannot read ${closed}: ${reason}`)
    expect(doctorFinds()).toEqual([folder, closed])

    chmodSync(folder, 0o700)
    chmodSync(closed, 0o600)
    const { total, unreadable } = JSON.parse(rockpool('cc', 'list', '--json')) as Record<string, unknown>
    expect({ total, unreadable }).toEqual({ total: 3, unreadable: undefined })
    chmodSync(closed, 0)
    expect(doctorFinds()).toEqual([closed])
  },
)

function doctorFinds(): string[] {
  const { findings } = JSON.parse(rockpool('doctor', '--json')) as {
    findings: Array<{ kind: string; where: string }>
  }
  return findings.filter(({ kind }) => kind === 'claude-unreadable').map(({ where }) => where)
}
