import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { linesOfFile, type ReadProgress } from './file-lines.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-lines-'))
afterAll(() => rmSync(folder, { recursive: true }))

function read(
  text: string,
  from = 0,
  maxLineBytes?: number,
): { lines: string[]; offsets: number[]; soFar: ReadProgress } {
  const file = join(folder, 'x')
  writeFileSync(file, text)
  const fd = openSync(file, 'r')
  const reader = linesOfFile(fd, from, maxLineBytes)
  const lines: string[] = []
  const offsets: number[] = []
  for (;;) {
    const next = reader.next()
    if (next.done) {
      closeSync(fd)
      return { lines, offsets, soFar: next.value }
    }
    lines.push(next.value.bytes.toString())
    offsets.push(next.value.offset)
  }
}

test('gives each complete line with its offset and leaves an unfinished one for later', () => {
  const { lines, offsets, soFar } = read('one\n\nthree\nunfinished')
  expect(lines).toEqual(['one', '', 'three'])
  expect(offsets).toEqual([0, 4, 5])
  expect(soFar).toEqual({ end: 11, lines: 3, skipped: 0 })
  expect(read('one\n\nthree\nfinished\n', soFar.end).lines).toEqual(['finished'])
})

test('lines longer than the chunk are read whole, and those over the limit are passed over', () => {
  const long = 'x'.repeat(3 << 20)
  const huge = 'y'.repeat(5 << 20)
  const { lines, soFar } = read(`a\n${long}\n${huge}\nb\n`, 0, 4 << 20)
  expect(lines.map((line) => line.length)).toEqual([1, long.length, 1])
  expect(soFar).toMatchObject({ lines: 4, skipped: 1, end: long.length + huge.length + 6 })
})

test('any text is read back as its lines', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 30 })), (parts) => {
      const wanted = parts.map((part) => part.replaceAll('\n', ' '))
      expect(read(wanted.map((line) => `${line}\n`).join('')).lines).toEqual(wanted)
    }),
    { numRuns: 50 },
  )
})
