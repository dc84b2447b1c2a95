// A folder in place of one of our files, as a restore or a wrong `mv` leaves it: the doctor answers, and `doctor --fix` sets the folder aside
// with what is in it, after which every command works.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeHome, type Home } from './support/program.ts'

let home: Home

beforeEach(async () => {
  home = makeHome()
  for (const words of [
    ['agent', '-m', 'hello there'],
    ['agent', '-m', 'of an otter', '--session-key', 'agent:main:otter'],
    ['mail', 'send', 'owner', 'a letter'],
    ['vault', 'keep'],
    ['search', 'hello'],
  ])
    expect(await home.type(words), words.join(' ')).toMatchObject({ code: 0 })
})
afterEach(() => home.remove())

const reads = [['sessions'], ['cc', 'list'], ['mail', 'list'], ['search', 'hello'], ['vault', 'list']]

test.each([
  'rockpool.sqlite',
  'index/discovery.sqlite',
  'index/search.sqlite',
  'index/vault.sqlite',
  'agents/main/sessions/sessions.sqlite',
  'agents/main/sessions/sessions.json',
])('a folder in place of %s', async (name) => {
  const path = join(home.dir, 'state', name)
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(path, 'note'), 'of a person', { mode: 0o600 })
  for (const words of [...reads, ['doctor']]) {
    const { code, stdout } = await home.type([...words, '--json'])
    expect(() => JSON.parse(stdout) as unknown, words.join(' ')).not.toThrow()
    if (words[0] === 'doctor') expect({ code, stdout }).toMatchObject({ code: 0 })
  }
  const { code, stdout } = await home.type(['doctor', '--fix', '--json'])
  expect({ code, answer: JSON.parse(stdout) as unknown }).toMatchObject({ code: 0, answer: { failed: [] } })
  const aside = readdirSync(dirname(path)).filter((each) => existsSync(join(dirname(path), each, 'note')))
  expect(aside).toEqual([expect.stringContaining('.corrupt-')])
  for (const words of [...reads, ['agent', '-m', 'on we go']])
    expect(await home.type(words), words.join(' ')).toMatchObject({ code: 0 })
  expect((await home.type(['sessions', '--json'])).json()).toMatchObject({ total: 2 })
})
