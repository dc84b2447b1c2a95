import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { editConfigFile } from './config-edit.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-config-'))
  file = join(folder, 'rockpool.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a change that would make the configuration invalid is not written', async () => {
  const before = '{ "timeZone": "UTC" }'
  writeFileSync(file, before)
  const bound = { bindings: [{ agentId: 'nobody', match: { channel: 'telegram' } }] }
  await expect(editConfigFile(file, (config) => ({ ...config, ...bound }))).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringMatching(/^Not changed\. .*there is no agent "nobody"/),
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test.each([
  ['with comments', '{ // mine\n "timeZone": "UTC" }', 'refused', /is written in JSON5/],
  ['without comments', "{ timeZone: 'UTC', }", 'refused', /is written in JSON5/],
  ['with a missing brace', '{ timeZone: "UTC"', 'config-invalid', /is not JSON/],
])('a file %s is not rewritten, and the error says what it is', async (_, text, code, message) => {
  writeFileSync(file, text)
  await expect(editConfigFile(file, (config) => config)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test('a file that does not exist is created', async () => {
  await editConfigFile(file, (config) => ({ ...config, timeZone: 'UTC' }))
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ timeZone: 'UTC' })
})
