// The page of rows names a test for each; all rows must be there, and the tests too.
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url)
const numbered = (name: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${name}${i + 1}`)
const alone = 'starting running completed failed killed R KA MS O T D'.split(' ')
const counted = { L: 5, P: 7, C: 3, K: 5, G: 2, M: 6, E: 3, W: 3, V: 5, '3.9.': 17, '4.6.': 12, X: 4 }
const wanted = [...alone, ...Object.entries(counted).flatMap(([name, n]) => numbered(name, n))]

const page = readFileSync(new URL('docs/coding-rows.md', root), 'utf8')
const rows = [...page.matchAll(/^\| ([^|]+) \| .*? \| (\S+\.ts) \| (.+) \|$/gm)].map(
  ([, numbers = '', file = '', title = '']) => ({ numbers, file, title }),
)

test('every row of the plan for coding sessions is on the page', () => {
  const found = new Set(rows.flatMap(({ numbers }) => numbers.split(', ').flatMap(spread)))
  expect(wanted.filter((number) => !found.has(number))).toEqual([])
})

test('every test that the page of coding sessions names exists', () => {
  const missing = rows.filter(({ file, title }) => {
    const path = new URL(file, root)
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title)
  })
  expect(missing).toEqual([])
})

/** `M1–M6` is six of them. */
function spread(numbers: string): string[] {
  const [, name = '', from = '', to = ''] = /^([A-Z]+)(\d+)–[A-Z]+(\d+)$/.exec(numbers) ?? []
  if (to === '') return [numbers]
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => `${name}${Number(from) + i}`)
}
