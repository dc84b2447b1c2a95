// docs/errors.md and the code must not drift apart.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorKinds } from '../src/domain/errors.ts'

test('every error code has a paragraph in docs/errors.md, and no paragraph is left over', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
  const described = [...page.matchAll(/^## (\S+)$/gm)].map((match) => match[1])
  expect(new Set(described)).toEqual(new Set(Object.keys(errorKinds)))
})
