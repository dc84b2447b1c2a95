import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { runBounded, type RunLimits } from './git.ts'
import { ProgramShells } from './program-shells.ts'

let folder: string
let limits: RunLimits
const clock = makeMovableClock()
const shells = new ProgramShells(clock)

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-shells-')))
  limits = {
    cwd: folder,
    env: { PATH: process.env['PATH']!, LC_ALL: 'C', GREETING: "it's 'quoted'\n$(touch trapped)" },
    timeoutMs: 20_000,
    maxBytes: 1_000_000,
  }
})
afterAll(() => {
  shells.close()
  rmSync(folder, { recursive: true })
})

test('a program gets its folder, arguments and variables as they are, and nothing else', async () => {
  const odd = join(folder, `Ж '; touch trapped; "\n\\ -n`)
  mkdirSync(odd)
  const script = 'pwd; printf "<%s>" "$@"; printf "%s" "$GREETING"; cat; echo "to stderr" >&2; exit 3'
  const args = ['-c', script, 'sh', '', '-x', "'", '\n', '$HOME', '`touch trapped`', 'сто', '\\']
  const wanted = await runBounded('sh', args, { ...limits, cwd: odd })
  expect(await shells.run('sh', args, { ...limits, cwd: odd })).toEqual(wanted)
  expect(wanted).toMatchObject({ kind: 'done', code: 3, stderr: 'to stderr\n' })
  const variables = await Promise.all([shells.run, runBounded].map((run) => run('env', [], limits)))
  const [here, there] = variables.map((ran) => (ran.kind === 'done' ? ran.stdout.split('\n').sort() : []))
  expect(here).toEqual(there)
  expect(existsSync(join(folder, 'trapped')) || existsSync(join(odd, 'trapped'))).toBe(false)
})

test('a program that does not exist, too much output, and no answer in time are reported as without a shell', async () => {
  expect(await shells.run('no-such-program', [], limits)).toEqual({ kind: 'absent' })
  expect(await shells.run('pwd', [], { ...limits, cwd: join(folder, 'gone') })).toEqual({ kind: 'absent' })
  const much = await shells.run('yes', [], { ...limits, maxBytes: 1_000 })
  expect(much).toMatchObject({ kind: 'done', code: 0, stdout: expect.stringMatching(/^(?:y\n){500}/) })
  const late = await shells.run('sh', ['-c', 'echo $$ > pid; sleep 60'], { ...limits, timeoutMs: 300 })
  expect(late).toEqual({ kind: 'timed-out', afterMs: 300 })
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  await expect.poll(() => isRunning(pid)).toBe(false)
  expect(await shells.run('echo', ['still here'], limits)).toMatchObject({ stdout: 'still here\n' })
})

test('programs run at the same time, one shell is used again, and an idle one ends', async () => {
  const parent = ['-c', 'echo $PPID']
  const parentOf = async (): Promise<number> => {
    const ran = await shells.run('sh', parent, limits)
    return ran.kind === 'done' ? Number(ran.stdout) : 0
  }
  const [one, two] = await Promise.all([parentOf(), parentOf()])
  expect(one).not.toBe(two)
  expect([one, two]).toContain(await parentOf())
  await clock.advance(60_000)
  await expect.poll(() => isRunning(one) || isRunning(two)).toBe(false)
  // A shell that somebody ended is replaced.
  const next = await parentOf()
  process.kill(next, 'SIGKILL')
  expect(await parentOf()).not.toBe(next)
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
