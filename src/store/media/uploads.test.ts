import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addToUpload, dropUpload, removeOldUploads, maxUploadBytes, readUpload } from './uploads.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'rockpool-uploads-'))))
afterEach(() => rmSync(folder, { recursive: true }))
const bytes = (words: string): Uint8Array => Buffer.from(words)

test('pieces are put together, and a piece that comes twice is there once', async () => {
  await addToUpload(folder, 'one', 0, bytes('sea '))
  await addToUpload(folder, 'one', 4, bytes('stars'))
  expect(await addToUpload(folder, 'one', 4, bytes('stars'))).toBe(9)
  expect(await text(await readUpload(folder, 'one'))).toBe('sea stars')
  await dropUpload(folder, 'one')
  await expect(readUpload(folder, 'one')).rejects.toThrow('did not arrive')
})

test('a gap, a file without a beginning and one that is too large are refused', async () => {
  await expect(addToUpload(folder, 'late', 5, bytes('x'))).rejects.toThrow('The beginning')
  await addToUpload(folder, 'gap', 0, bytes('x'))
  await expect(addToUpload(folder, 'gap', 5, bytes('x'))).rejects.toThrow('A piece is missing')
  await expect(addToUpload(folder, 'big', maxUploadBytes, bytes('x'))).rejects.toThrow('25 MB')
})

test('what was never sent is forgotten after a day', async () => {
  await addToUpload(folder, 'old', 0, bytes('x'))
  await addToUpload(folder, 'new', 0, bytes('x'))
  utimesSync(join(folder, 'old.part'), 1, 1)
  await removeOldUploads(folder, Date.now())
  expect(readdirSync(folder)).toEqual(['new.part'])
})
