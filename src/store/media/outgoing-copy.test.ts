import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyForSending } from './outgoing-copy.ts'

test('the copy of a file that everybody may write is ours alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-outgoing-'))
  const file = join(folder, 'tide.txt')
  writeFileSync(file, 'low at six')
  chmodSync(file, 0o666)
  const copy = await copyForSending(join(folder, 'media'), file)
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})
