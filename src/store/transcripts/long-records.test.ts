import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { LongRecords, type JsonRecord } from './long-records.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-long-records-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Escapes, several bytes for a character, and quotation marks at every distance from the ends of chunks. */
const long = '\\"ü\u0000🦐\n'.repeat(250_000)

async function read(lines: string[], look: (records: LongRecords, all: JsonRecord[]) => void): Promise<void> {
  const path = join(folder, 'transcript.jsonl')
  writeFileSync(path, `${lines.join('\n')}\n`)
  const fd = openSync(path, 'r')
  const records = new LongRecords(fd)
  const all: JsonRecord[] = []
  for await (const record of records.read()) all.push(record)
  look(records, all)
  closeSync(fd)
}

const joined = (pieces: Iterable<string | Buffer>): string =>
  Buffer.concat([...pieces].map((piece) => Buffer.from(piece))).toString('utf8')

test('records with long strings are read with marks, in their order, and written again byte for byte', async () => {
  const lines = [
    { a: 1 },
    { text: long, short: 'x', more: [{ text: `${long}!` }] },
    { text: `y${long}` },
    { b: 2 },
  ].map((record) => JSON.stringify(record))
  await read(lines, (records, all) => {
    expect(all.map((record) => Object.keys(record))).toEqual([
      ['a'],
      ['text', 'short', 'more'],
      ['text'],
      ['b'],
    ])
    expect(JSON.stringify(all).length).toBeLessThan(1_000)
    expect(all.map((record) => joined(records.line(record)).trimEnd()) as unknown).toEqual(lines)
    expect([...records.textOf(all[2]!['text'] as string)].join('') === `y${long}`).toBe(true)
    expect(records.lengthOf(all[2]!['text'])).toBe(Buffer.byteLength(JSON.stringify(`y${long}`)))
  })
})

test('a damaged long line is left out, and the lines after it are read', async () => {
  const lines = ['{"a":1}', `{"text":"${'x'.repeat(5 << 20)}`, '{"b":2}']
  await read(lines, (_, all) => expect(all).toEqual([{ a: 1 }, { b: 2 }]))
})
