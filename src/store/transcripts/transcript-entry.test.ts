import { expect, test } from 'vitest'
import { historyBlock } from '../../flow/restore-context.ts'
import { contextOf, type TranscriptEntry } from '../../domain/transcript.ts'
import { readLine } from './transcript-entry.ts'

function read(fields: object): TranscriptEntry {
  const content = Buffer.from(JSON.stringify(fields))
  const line = readLine({ content, number: 1, offset: 0, bytes: content.length, ended: true })
  if (line.kind !== 'entry') throw new Error(`no entry: ${line.kind}`)
  return line.entry
}

const place = { id: 'a', parentId: null, timestamp: '2026-01-01T00:00:00.000Z' }
const message = (content: unknown, role: unknown = 'user'): TranscriptEntry =>
  read({ ...place, type: 'message', message: { role, content } })

test.each([
  ['a text', 'hi', 'hi'],
  ['null among its blocks', [null, { type: 'text', text: 'hi' }], [{ type: 'text', text: 'hi' }]],
  ['a block that is a text', ['hi'], [{ type: 'text', text: 'hi' }]],
  ['a text that is none', [{ type: 'text', text: 7 }], [{ type: 'text', text: '7' }]],
  ['one block and no list', { type: 'text', text: 'hi' }, [{ type: 'text', text: 'hi' }]],
  ['nothing', undefined, []],
  ['null', null, []],
  ['a number', 7, [{ type: 'text', text: '7' }]],
])('the content of a message is a text or blocks, even if it is written as %s', (_, content, wanted) => {
  expect(message(content)).toMatchObject({ message: { role: 'user', content: wanted } })
})

test('a summary is text, whatever the file contains, and the history can be read', () => {
  const summary = read({ ...place, type: 'compaction', summary: { odd: true }, firstKeptEntryId: 'x' })
  expect(summary).toMatchObject({ summary: '{"odd":true}' })
  const missing = read({ ...place, type: 'compaction', firstKeptEntryId: 'x' })
  expect(missing).toMatchObject({ summary: '' })
  const entries = [
    summary,
    message([null]),
    message(undefined, 'assistant'),
    message('hi', 7),
    message('yes'),
  ]
  expect(historyBlock(contextOf(entries).messages, 1_000)).toContain('User: yes')
})
