import { expect, test } from 'vitest'
import { isShownWhole } from './markdown.tsx'

test.each([
  ['# Plan\n\n1. **Build** `it`\n2. <b>Test</b> it\n\n```sh\nls\n```', true],
  ['see https://example.org/a', true],
  ['1. Build it\n\n[//]: # (delete the rest)', false],
  ['1. Build it\n\n[x]: https://example.org "delete the rest"', false],
  ['- [ok](<delete the rest>)', false],
  ['- [ok](https://example.org "delete the rest")', false],
  ['> - ![ok](delete-the-rest)', false],
  ['```sh delete the rest\nls\n```', false],
])('a text whose Markdown shows all that it says: %j is %s', (text, isWhole) => {
  expect(isShownWhole(text)).toBe(isWhole)
})
