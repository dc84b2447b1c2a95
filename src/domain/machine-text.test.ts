import { expect, test } from 'vitest'
import { titleText, withoutMarker } from './machine-text.ts'

test.each([
  ['[openclaw:agent=main]\n\nFind papers', 'Find papers'],
  ['[openclaw:agent=main] [openclaw:agent=x] hi', 'hi'],
  ['see [openclaw:agent=main]', 'see [openclaw:agent=main]'],
])('%j without its marker', (message, wanted) => {
  expect(withoutMarker(message)).toBe(wanted)
})

test.each([
  ['[openclaw:agent=main] System: web: connected\n\nFind papers', 'Find papers'],
  ['System: web: connected\nSystem: [2026-01-12 12:19:17 PST] Model switched.\n\nhello', 'hello'],
  ['System: [2026-01-12 12:19:17 PST] The build is red.', 'The build is red.'],
  ['System: web: connected', 'web: connected'],
  ['The system: fix it', 'The system: fix it'],
])('%j as a title', (message, wanted) => {
  expect(titleText(message)).toBe(wanted)
})
