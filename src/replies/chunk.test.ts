import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chunkText } from './chunk.ts'

test('a short text stays whole, an empty one gives nothing', () => {
  expect(chunkText('hello', 100)).toEqual(['hello'])
  expect(chunkText(' \n ', 100)).toEqual([])
})

test('cuts fall between paragraphs, else lines, else sentences, else words', () => {
  expect(chunkText(`${'a'.repeat(30)}\n\n${'b'.repeat(30)}`, 50)).toEqual(['a'.repeat(30), 'b'.repeat(30)])
  expect(chunkText(`${'a'.repeat(30)}\n${'b'.repeat(30)}`, 50)).toEqual(['a'.repeat(30), 'b'.repeat(30)])
  expect(chunkText(`${'a'.repeat(28)}. ${'b'.repeat(30)}`, 50)).toEqual([
    `${'a'.repeat(28)}.`,
    'b'.repeat(30),
  ])
  expect(chunkText(`${'a'.repeat(30)} ${'b'.repeat(30)}`, 50)).toEqual(['a'.repeat(30), 'b'.repeat(30)])
})

test('a code block that is cut is closed and opened again with its language', () => {
  const code = Array.from({ length: 12 }, (_, n) => `const line${n} = ${n}`).join('\n')
  const chunks = chunkText(`\`\`\`ts\n${code}\n\`\`\``, 80)
  expect(chunks.length).toBeGreaterThan(2)
  for (const chunk of chunks) {
    expect(chunk.startsWith('```ts\n')).toBe(true)
    expect(chunk.endsWith('\n```')).toBe(true)
    expect(chunk.length).toBeLessThanOrEqual(80)
  }
  const lines = chunks.flatMap((chunk) => chunk.split('\n').slice(1, -1))
  expect(lines.join('\n')).toBe(code)
})

test('a code block that begins near the end moves whole into the next chunk', () => {
  const chunks = chunkText(
    `${'word '.repeat(10)}\n\`\`\`\nlet x = 1\n\`\`\`\nafter it ${'more '.repeat(5)}`,
    70,
  )
  expect(chunks[0]).not.toContain('```')
  expect(chunks[1]).toContain('```\nlet x = 1\n```')
})

test('no chunk is too long, no character is torn, no word is lost', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(fc.lorem(), fc.constantFrom('😀', '👨‍👩‍👧', '\n', '\n\n', '```js\n', '\n```\n', 'x'.repeat(90))),
      ),
      fc.integer({ min: 64, max: 200 }),
      (parts, limit) => {
        const text = parts.join(' ')
        const chunks = chunkText(text, limit)
        for (const chunk of chunks) {
          expect(chunk.length).toBeLessThanOrEqual(limit)
          expect(chunk.isWellFormed()).toBe(true)
        }
        const words = (s: string) => s.replace(/```(js)?/g, ' ').replace(/\s+/g, '')
        expect(words(chunks.join('\n'))).toBe(words(text))
      },
    ),
    { numRuns: 300 },
  )
})
