import fc from 'fast-check'
import JSON5 from 'json5'
import { expect, test } from 'vitest'
import { setInText } from './config-text.ts'

const commented = `// My Rockpool
{
  coding: {
    maxSessions: 5, // enough for me
    'perRepo': { running: 1 },
  },
  /* agents */
  "agents": { "list": ["a", "b"] } // last
}
`

test.each<[string, string[], unknown, string]>([
  ['replaces a value', ['coding', 'maxSessions'], 9, commented.replace('5,', '9,')],
  [
    'adds below the last key',
    ['coding', 'repos'],
    { shop: '/srv' },
    commented.replace(
      `'perRepo': { running: 1 },`,
      `'perRepo': { running: 1 },\n    "repos": {\n      "shop": "/srv"\n    },`,
    ),
  ],
  [
    'adds on one line',
    ['coding', 'perRepo', 'queued'],
    3,
    commented.replace('running: 1 }', 'running: 1, queued: 3 }'),
  ],
  [
    'adds objects on the way, before the comment of the last line ends',
    ['log', 'level'],
    'debug',
    commented.replace('} // last', '}, // last\n  "log": {\n    "level": "debug"\n  }'),
  ],
  ['removes a value', ['coding', 'maxSessions'], undefined, commented.replace(/maxSessions: 5,.*\n\s+/, '')],
  ['does not remove what is not there', ['nothing', 'here'], undefined, commented],
])('%s and keeps everything else', (_what, path, value, expected) => {
  expect(setInText(commented, path, value)).toBe(expected)
})

test('an empty file becomes readable', () => {
  expect(setInText('{}', ['a', 'b'], 1)).toBe('{\n  "a": {\n    "b": 1\n  }\n}')
})

test('any value at any path is read back, and nothing else changes', () => {
  const key = fc.constantFrom('a', 'b', 'c d', 'e"f')
  const value = fc.jsonValue({ maxDepth: 2 })
  const config = fc.dictionary(fc.constantFrom('a', 'b', 'c d', 'x'), value)
  fc.assert(
    fc.property(config, fc.array(key, { minLength: 1, maxLength: 3 }), value, (before, path, set) => {
      const text = JSON5.stringify(before, null, 2)
      const after = JSON5.parse<Record<string, unknown>>(setInText(text, path, set))
      const found = path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], after)
      expect(JSON.stringify(found)).toBe(JSON.stringify(set))
      const others = Object.keys(before).filter((name) => name !== path[0])
      for (const name of others) expect(after[name]).toEqual(JSON5.parse(JSON5.stringify(before[name])))
    }),
    { numRuns: 200 },
  )
})
