import { expect, test } from 'vitest'
import { needText } from './top-bar.tsx'

test('the number of sessions that need a person says how many of them failed', () => {
  expect(needText([{ state: 'needs you' }])).toBe('needs you')
  expect(needText([{ state: 'needs you' }, { state: 'needs you' }])).toBe('need you')
  expect(needText([{ state: 'needs you' }, { state: 'needs you' }, { state: 'failed' }])).toBe(
    'need you (1 failed)',
  )
  expect(needText([{ state: 'failed' }])).toBe('needs you (1 failed)')
})
