// The doctor while rockpool.json is damaged: it examines the state by the configuration before.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeHome, type Home } from './support/program.ts'

let home: Home
const file = (): string => join(home.dir, 'state', 'rockpool.json')

beforeEach(async () => {
  home = makeHome()
  await home.type(['config', 'set', 'store', 'files'])
  await home.type(['agent', '-m', 'hello there'])
})
afterEach(() => home.remove())

test.each([
  ['cut', '{ "store": "fi'],
  ['empty', ''],
  ['with wrong bytes', '{ "store": "\u0000\ufffd" '],
  ['with an unknown key', '{ "stare": "files" }'],
])('%s: the doctor answers, names the file, and other commands name it, too', async (_, text) => {
  writeFileSync(file(), text, { mode: 0o600 })
  for (const words of [['doctor'], ['doctor', '--fix']]) {
    const { code, stdout } = await home.type([...words, '--json'])
    expect({ code, answer: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      answer: { ok: false, findings: [{ kind: 'config-invalid', where: file() }] },
    })
  }
  expect(await home.type(['sessions'])).toMatchObject({ code: 2, stderr: expect.stringContaining(file()) })
})

test('without a configuration before it the doctor says what is wrong with the file', async () => {
  rmSync(join(home.dir, 'state', 'index'), { recursive: true })
  writeFileSync(file(), '{', { mode: 0o600 })
  expect(await home.type(['doctor'])).toMatchObject({ code: 2, stderr: expect.stringContaining(file()) })
})
