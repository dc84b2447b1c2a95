// The page of attacks names tests; they must be there.
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url)

test('every test that the page of attacks names exists', () => {
  const page = readFileSync(new URL('docs/channels/attacks.md', root), 'utf8')
  const rows = [...page.matchAll(/^\| (?:T\d|–)[^|]*\|.*?\| (\S+\.ts) \| (.+) \|$/gm)]
  expect(rows.length).toBeGreaterThan(30)
  const missing = rows.filter(([, file, title]) => {
    const path = new URL(file!, root)
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(title!)
  })
  expect(missing.map(([, file, title]) => `${file}: ${title}`)).toEqual([])
})
