import { expect, test } from 'vitest'
import { withoutCommands, withoutIds } from './notices.tsx'

test('a notice says on the page what happened, without ids and without commands for a terminal or a chat', () => {
  expect(withoutIds('🔔 [tide] waits for input (multi-turn, ZPoDce9l)\nDone.')).toBe(
    '🔔 [tide] finished its turn\nDone.',
  )
  const failed = 'No credit is left. Add some. Then continue: `rockpool cc resume tide`.'
  expect(withoutCommands(failed)).toBe('No credit is left. Add some.')
  expect(withoutCommands(`${failed}\nResume: /claude_resume tide`)).toBe('No credit is left. Add some.')
})
