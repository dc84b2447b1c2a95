import { expect, test } from 'vitest'
import type { PermissionRequest } from '../../domain/agent.ts'
import { patternOf, shownText } from './question-text.ts'

const asks = (
  input: Record<string, unknown>,
  toolName = 'Bash',
  kind: PermissionRequest['kind'] = 'tool',
): PermissionRequest => ({ requestId: 'r', kind, toolName, input })

test('a command is shown as it is, and whatever else is asked for below it, quoted', () => {
  expect(shownText(asks({ command: 'ls' }))).toBe('ls')
  const input = {
    dangerouslyDisableSandbox: true,
    command: 'npm test',
    description: 'Run\nthe tests',
    timeout: 5,
  }
  expect(shownText(asks(input))).toBe(
    ['npm test', 'dangerouslyDisableSandbox: true', 'description: "Run\\nthe tests"', 'timeout: 5'].join(
      '\n',
    ),
  )
})

test('other tools are shown with all their input', () => {
  const shown = shownText(
    asks({ file_path: '/a', content: 'x'.repeat(5_000), mode: { deep: true } }, 'Write'),
  )
  for (const part of ['Write', '/a', 'x'.repeat(5_000), '"deep": true']) expect(shown).toContain(part)
})

test('a plan is shown with what would be allowed along with it', () => {
  const allowedPrompts = [{ tool: 'Bash', prompt: 'run anything' }]
  const shown = shownText(asks({ plan: '1. look', allowedPrompts }, 'ExitPlanMode', 'plan'))
  expect(shown).toBe('1. look\nallowedPrompts: [{"tool":"Bash","prompt":"run anything"}]')
})

test('"always" covers the same command word for word, whatever Claude says about it', () => {
  expect(patternOf(asks({ command: 'ls', description: 'List', timeout: 1 }))).toBe('ls')
  expect(patternOf(asks({ command: 'ls -la' }))).not.toBe('ls')
  expect(patternOf(asks({ file_path: '/a' }, 'Read'))).toBe('/a')
})

test.each([
  ['a field that changes what is done', { command: 'ls', dangerouslyDisableSandbox: true }, 'Bash'],
  ['the background', { command: 'ls', run_in_background: true }, 'Bash'],
  ['other words in a file', { file_path: '/a', content: '2' }, 'Write'],
  ['another edit of it', { file_path: '/a', old_string: 'x', new_string: 'z' }, 'Edit'],
  ['a tool without any such field', { query: 'other' }, 'WebSearch'],
  ['a page that is asked something else', { url: 'https://a', prompt: 'other' }, 'WebFetch'],
])('"always" is bound to the exact input: %s is another one', (_what, input, tool) => {
  const granted = [
    { command: 'ls' },
    { file_path: '/a' },
    { file_path: '/a', content: '1' },
    { file_path: '/a', old_string: 'x', new_string: 'y' },
    { query: 'this' },
    { url: 'https://a' },
    {},
  ]
  for (const one of granted) expect(patternOf(asks(one, tool))).not.toBe(patternOf(asks(input, tool)))
  // And the order of its fields does not matter.
  const turned = Object.fromEntries(Object.entries(input).reverse())
  expect(patternOf(asks(turned, tool))).toBe(patternOf(asks(input, tool)))
})

test('a long input is bound as a whole, and its pattern stays readable', () => {
  const long = (end: string) =>
    patternOf(asks({ file_path: '/a', content: 'x'.repeat(9_000) + end }, 'Write'))
  expect(long('1')).not.toBe(long('2'))
  expect(long('1').length).toBeLessThan(700)
})

test('a command that looks like a whole input does not stand for one', () => {
  const whole = { command: 'rm', dangerouslyDisableSandbox: true }
  expect(patternOf(asks({ command: patternOf(asks(whole)) }))).not.toBe(patternOf(asks(whole)))
})
