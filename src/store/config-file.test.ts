import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadConfig, readEnvironment } from './config-file.ts'

const dir = mkdtempSync(join(tmpdir(), 'rockpool-config-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('a file that ROCKPOOL_CONFIG names must be there; the usual one need not', async () => {
  const environment = readEnvironment({ HOME: dir })
  expect((await loadConfig(environment)).written).toEqual({})
  const named = readEnvironment({ HOME: dir, ROCKPOOL_CONFIG: join(dir, 'gone.json') })
  await expect(loadConfig(named)).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining('gone.json does not exist'),
    hint: expect.stringContaining('ROCKPOOL_CONFIG'),
  })
})

test('a file in place of the state directory is named', async () => {
  const file = join(dir, 'state')
  writeFileSync(file, '')
  await expect(loadConfig(readEnvironment({ HOME: dir, ROCKPOOL_STATE_DIR: file }))).rejects.toMatchObject({
    code: 'config-invalid',
    message: `${file} is not a directory.`,
    hint: expect.stringContaining('ROCKPOOL_STATE_DIR'),
  })
})

test.each(['{"store": ', '[]', '{"agents":{"list":[{"id":"../x"}]}}'])(
  'a file with %j is refused with a remedy',
  async (text) => {
    const file = join(dir, 'wrong.json')
    writeFileSync(file, text)
    await expect(loadConfig(readEnvironment({ HOME: dir, ROCKPOOL_CONFIG: file }))).rejects.toMatchObject({
      code: 'config-invalid',
      hint: expect.stringMatching(/\S/),
    })
  },
)
