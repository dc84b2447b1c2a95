import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../domain/log.ts'
import { protectNotes, restoreAbandonedNotes } from './protected-notes.ts'

let folder: string
const copies = (): string => join(folder, '..', 'copies')
const note = (name: string): string => join(folder, name)

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'rockpool-kept-')), 'memory')
  mkdirSync(folder)
  writeFileSync(note('day.md'), '# Day\n\n- the cat is Miez\n- tea at five\n')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true }))

test('a note that was overwritten has its old lines again, and then the new ones', async () => {
  const old = readFileSync(note('day.md'), 'utf8')
  const putBack = await protectNotes(folder, copies())
  writeFileSync(note('day.md'), '# Day\n\n- the dog is Bello\n')
  expect(await putBack()).toEqual([note('day.md')])
  expect(readFileSync(note('day.md'), 'utf8')).toBe(`${old}\n- the dog is Bello\n`)
  rmSync(note('day.md'))
  await putBack()
  expect(readFileSync(note('day.md'), 'utf8')).toBe(old)
  expect(readdirSync(copies())).toEqual([])
})

test('what was added, at the end or in between, is left as it is, and so is a new note', async () => {
  const putBack = await protectNotes(folder, copies())
  const between = '# Day\n\n- the cat is Miez\n- it likes fish\n- tea at five\n'
  writeFileSync(note('day.md'), between)
  appendFileSync(note('day.md'), '- rain\n')
  writeFileSync(note('other.md'), 'new')
  expect(await putBack()).toEqual([])
  expect(readFileSync(note('day.md'), 'utf8')).toBe(`${between}- rain\n`)
})

test('after a kill between an overwrite and its rollback, the next start rolls back; a live process does its own', async () => {
  const program = `const { protectNotes } = await import(${JSON.stringify(join(import.meta.dirname, 'protected-notes.ts'))})
    await protectNotes(${JSON.stringify(folder)}, ${JSON.stringify(copies())})
    const { writeFileSync } = await import('node:fs')
    writeFileSync(${JSON.stringify(note('day.md'))}, '')
    process.kill(process.pid, 'SIGKILL')`
  spawnSync(process.execPath, ['--input-type=module', '-e', program])
  expect(readFileSync(note('day.md'), 'utf8')).toBe('')
  const putBack = await protectNotes(folder, copies())
  await restoreAbandonedNotes(copies(), silentLog)
  expect(readFileSync(note('day.md'), 'utf8')).toContain('- tea at five')
  expect(readdirSync(copies())).toHaveLength(1)
  await putBack()
  expect(readdirSync(copies())).toEqual([])
})
