import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { restoreLost, textOfNotes } from './kept-notes.ts'

let folder: string
const note = (name: string): string => join(folder, name)

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'rockpool-kept-')), 'memory')
  mkdirSync(folder)
  writeFileSync(note('day.md'), '# Day\n\n- the cat is Miez\n- tea at five\n')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true }))

test('a note that was overwritten has its old lines again, and then the new ones', async () => {
  const before = textOfNotes(folder)
  writeFileSync(note('day.md'), '# Day\n\n- the dog is Bello\n')
  expect(await restoreLost(before)).toEqual([note('day.md')])
  const mended = '# Day\n\n- the cat is Miez\n- tea at five\n\n- the dog is Bello\n'
  expect(readFileSync(note('day.md'), 'utf8')).toBe(mended)
  rmSync(note('day.md'))
  await restoreLost(before)
  expect(readFileSync(note('day.md'), 'utf8')).toBe(before.get(note('day.md')))
})

test('what was added, at the end or in between, is left as it is, and so is a new note', async () => {
  const before = textOfNotes(folder)
  const between = '# Day\n\n- the cat is Miez\n- it likes fish\n- tea at five\n'
  writeFileSync(note('day.md'), between)
  appendFileSync(note('day.md'), '- rain\n')
  writeFileSync(note('other.md'), 'new')
  expect(await restoreLost(before)).toEqual([])
  expect(readFileSync(note('day.md'), 'utf8')).toBe(`${between}- rain\n`)
})
