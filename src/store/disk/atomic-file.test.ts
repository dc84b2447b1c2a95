import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ensureDirectory,
  fileIdentity,
  readFileSafely,
  removeAbandonedFiles,
  writeFileAtomically,
} from './atomic-file.ts'

let folder: string
let path: string
let umask: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-file-'))
  path = join(folder, 'x.json')
  umask = process.umask()
})
afterEach(() => {
  process.umask(umask)
  rmSync(folder, { recursive: true, force: true })
})

test.each([0, 0o077, 0o777])('files are 0600 in directories 0700 with umask %o', async (mask) => {
  process.umask(mask)
  await ensureDirectory(join(folder, 'a', 'b'))
  const file = join(folder, 'a', 'b', 'x.json')
  await writeFileAtomically(file, 'one')
  await writeFileAtomically(file, 'two', { backup: `${file}.bak` })
  process.umask(umask)
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'a', 'b')).mode & 0o777).toBe(0o700)
  for (const name of ['x.json', 'x.json.bak'])
    expect(statSync(join(folder, 'a', 'b', name)).mode & 0o777).toBe(0o600)
})

test('a file that others could read becomes ours alone, and so does its backup', async () => {
  writeFileSync(path, 'old', { mode: 0o644 })
  chmodSync(path, 0o644)
  await writeFileAtomically(path, 'new', { backup: `${path}.bak` })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(`${path}.bak`).mode & 0o777).toBe(0o600)
  expect(readFileSync(`${path}.bak`, 'utf8')).toBe('old')
})

test('an error before the commit leaves the old file and nothing else', async () => {
  writeFileSync(path, 'old')
  const failing = writeFileAtomically(path, 'new', {
    beforeCommit: () => {
      throw new Error('no')
    },
  })
  await expect(failing).rejects.toThrow('no')
  async function* pieces(): AsyncGenerator<string> {
    yield 'half'
    throw new Error('torn')
  }
  await expect(writeFileAtomically(path, pieces())).rejects.toThrow('torn')
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(readdirSync(folder)).toEqual(['x.json'])
})

test('the identity changes with every write and is the one that a reader sees', async () => {
  const first = await writeFileAtomically(path, 'same')
  expect(readFileSafely(path)).toEqual({ text: 'same', identity: first })
  const second = await writeFileAtomically(path, 'same')
  expect(second).not.toBe(first)
  expect(fileIdentity(path)).toBe(second)
  expect(fileIdentity(join(folder, 'none'))).toBeUndefined()
})

test('symbolic links and pipes are refused; a link is replaced by the file, not followed', async () => {
  const target = join(folder, 'target')
  writeFileSync(target, 'secret')
  symlinkSync(target, path)
  expect(() => readFileSafely(path)).toThrow(/symbolic link/)
  await expect(writeFileAtomically(path, 'new', { backup: `${path}.bak` })).rejects.toThrow(
    /not a regular file/,
  )
  expect(readFileSync(target, 'utf8')).toBe('secret')
  mkdirSync(join(folder, 'dir'))
  expect(() => readFileSafely(join(folder, 'dir'))).toThrow(/not a regular file/)
})

test('a file that has another name elsewhere is refused, and the mode of the other name stays', async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'rockpool-elsewhere-'))
  const other = join(elsewhere, 'theirs.json')
  writeFileSync(other, '{"theirs":true}')
  chmodSync(other, 0o644)
  linkSync(other, path)
  expect(() => readFileSafely(path)).toThrow(/hard link/)
  const write = writeFileAtomically(path, '{}', { backup: `${path}.bak` })
  await expect(write).rejects.toMatchObject({ code: 'refused' })
  expect(statSync(other).mode & 0o777).toBe(0o644)
  expect(readFileSync(other, 'utf8')).toBe('{"theirs":true}')
  rmSync(elsewhere, { recursive: true })
})

test('a backup that is already a link of the same file is no problem', async () => {
  writeFileSync(path, 'old')
  linkSync(path, `${path}.bak`)
  await writeFileAtomically(path, 'new', { backup: `${path}.bak` })
  expect(readFileSync(`${path}.bak`, 'utf8')).toBe('old')
  expect(readdirSync(folder).sort()).toEqual(['x.json', 'x.json.bak'])
})

test('what killed processes left is removed, what living ones write is not', async () => {
  const uuid = '00000000-0000-4000-8000-000000000000'
  const dead = `${path}.${2 ** 22 + 1}.${uuid}.tmp`
  const alive = `${path}.${process.pid}.${uuid}.tmp`
  for (const name of [dead, alive, `${path}.tmp`]) writeFileSync(name, '')
  await removeAbandonedFiles(folder)
  expect(existsSync(dead)).toBe(false)
  expect(existsSync(alive)).toBe(true)
  expect(existsSync(`${path}.tmp`)).toBe(true)
})
