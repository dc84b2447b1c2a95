// docs/config.md and the code must not drift apart.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configPage } from '../scripts/config-page.ts'

test('docs/config.md lists exactly the keys, values and defaults of the program', () => {
  // `node scripts/config-page.ts --write` brings the page up to date.
  expect(readFileSync(new URL('../docs/config.md', import.meta.url), 'utf8')).toBe(configPage())
})
