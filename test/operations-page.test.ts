import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderPage } from '../scripts/operations-page.ts'

test('docs/operations.md says what the operations say (`npm run docs` writes it anew)', async () => {
  const page = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8')
  expect(page).toBe(await renderPage())
})
