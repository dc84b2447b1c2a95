import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openMachineFolder } from './machine-folder.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-machine-'))
})
afterEach(() => rmSync(root, { recursive: true }))

test('the folder is made for us alone, and closed when it was open', () => {
  const path = openMachineFolder(join(root, 'ours'))
  expect(statSync(path).mode & 0o777).toBe(0o700)
  chmodSync(path, 0o777)
  openMachineFolder(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a link or a file in its place is refused', () => {
  mkdirSync(join(root, 'elsewhere'))
  symlinkSync(join(root, 'elsewhere'), join(root, 'link'))
  writeFileSync(join(root, 'file'), '')
  for (const name of ['link', 'file']) {
    expect(() => openMachineFolder(join(root, name))).toThrow(/is no folder/)
  }
})
