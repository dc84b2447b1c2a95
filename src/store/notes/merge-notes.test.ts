import { expect, test } from 'vitest'
import { mergeNotes } from './merge-notes.ts'

const text = (note: string | undefined): Buffer | undefined =>
  note === undefined ? undefined : Buffer.from(note)

function merged(base: string | undefined, here: string | undefined, there: string | undefined) {
  const { body, beside } = mergeNotes(text(base), text(here), text(there))
  return beside ? { body: body?.toString(), beside: beside.toString() } : body?.toString()
}

test('what only one side changed is taken, also a removal', () => {
  expect(merged('a\n', 'a\nb\n', 'a\n')).toBe('a\nb\n')
  expect(merged('a\n', 'a\n', 'z\n')).toBe('z\n')
  expect(merged('a\n', undefined, 'a\n')).toBeUndefined()
  expect(merged('a\n', 'a\n', undefined)).toBeUndefined()
  expect(merged(undefined, undefined, 'a\n')).toBe('a\n')
})

test('what both added is there, the others first', () => {
  expect(merged('a\n', 'a\nhere\n', 'a\nthere\n')).toBe('a\nthere\nhere\n')
  expect(merged('', 'here\n', 'there')).toBe('there\nhere\n')
})

test('what one added goes below what the other rewrote', () => {
  expect(merged('a\nb\n', 'a\nb\nhere\n', 'A\n')).toBe('A\nhere\n')
  expect(merged('a\nb\n', 'A\n', 'a\nb\nthere\n')).toBe('A\nthere\n')
})

test('when both sides continue after a merge, only what is new is added', () => {
  // The base is older than the merge: a process was killed before it noted that.
  const base = 'a\nours\n'
  expect(merged(base, 'a\ntheirs\nours\nhere\n', 'a\ntheirs\nours\nthere\n')).toBe(
    'a\ntheirs\nours\nthere\nhere\n',
  )
  expect(merged(base, 'a\ntheirs\nours\nhere\n', 'a\ntheirs\nours\n')).toBe('a\ntheirs\nours\nhere\n')
})

test('where both rewrote it, both are kept', () => {
  expect(merged('a\nb\n', 'here\n', 'there\n')).toEqual({ body: 'there\n', beside: 'here\n' })
})

test('a change is kept when the other side removed the note', () => {
  expect(merged('a\n', 'a\nb\n', undefined)).toBe('a\nb\n')
  expect(merged('a\n', undefined, 'a\nb\n')).toBe('a\nb\n')
})

test('two that never knew of each other are joined line by line; bytes that are no text are kept beside', () => {
  expect(merged(undefined, '# day\n\nhere\n', '# day\n\nthere\n')).toBe('# day\n\nthere\n\nhere\n')
  expect(merged(undefined, 'a\n', 'a\nb\n')).toBe('a\nb\n')
  const bytes = Buffer.from([0xff, 0xfe])
  expect(mergeNotes(undefined, bytes, Buffer.from('there'))).toEqual({
    body: Buffer.from('there'),
    beside: bytes,
  })
})
