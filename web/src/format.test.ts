import { expect, test } from 'vitest'
import { csvCell, readableKey, usd } from './format.ts'

test('the ids in a session key are shown as people write them; what is no code stays', () => {
  expect(readableKey('agent:main:web:direct:%64ashboard')).toBe('agent:main:web:direct:dashboard')
  expect(readableKey('agent:main:telegram:group:caf%C3%A9%20100%')).toBe(
    'agent:main:telegram:group:café 100%',
  )
  expect(readableKey('agent:main:%ff')).toBe('agent:main:%ff')
})

test('small amounts have four digits, as in the terminal, so that they are not shown as nothing', () => {
  expect([usd(0), usd(0.0001), usd(0.1), usd(12.345), usd(undefined)]).toEqual([
    '$0.00',
    '$0.0001',
    '$0.10',
    '$12.35',
    '–',
  ])
})

test('the name of a session is no formula in a spreadsheet', () => {
  expect(['=1+1', ' @SUM(A1)', '-2', '+3', '\t=4'].map(csvCell)).toEqual([
    `"'=1+1"`,
    `"' @SUM(A1)"`,
    `"'-2"`,
    `"'+3"`,
    `"'\t=4"`,
  ])
  expect(csvCell('fix "a=b"')).toBe('"fix ""a=b"""')
})
