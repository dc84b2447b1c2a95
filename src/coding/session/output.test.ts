import { expect, test } from 'vitest'
import { makeMovableClock } from '../../../test/support/movable-clock.ts'
import type { LiveRecord } from './live-record.ts'
import { UnfinishedText } from './output.ts'

test('long text becomes output in pieces that end with a line, and the finished block adds only the rest', () => {
  const { output, said } = open()
  const line = `${'x'.repeat(99)}\n`
  for (let n = 0; n < 85; n++) output.add(line)
  expect(said).toHaveLength(1)
  said.push(output.finish(line.repeat(85)))
  expect(said.join('\n')).toBe(line.repeat(85))
})

test('what was written of a block that never ends is output once', async () => {
  const { output, said, stored, clock } = open()
  output.add('half ')
  output.add('a sentence')
  await clock.advance(1_100)
  expect(stored).toEqual([{ writing: 'half a sentence', doing: 'half a sentence' }])
  output.flush()
  output.flush()
  expect(said).toEqual(['half a sentence'])
})

function open() {
  const said: string[] = []
  const stored: unknown[] = []
  const clock = makeMovableClock()
  const record = { later: (change) => void stored.push(change) } as Partial<LiveRecord> as LiveRecord
  return { output: new UnfinishedText({ clock }, record, (text) => said.push(text)), said, stored, clock }
}
