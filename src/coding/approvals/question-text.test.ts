import { expect, test } from 'vitest'
import type { PermissionRequest } from '../../domain/agent.ts'
import { hashOf, patternOf, shownText } from './question-text.ts'

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

test('hash, rule and text of a command have its directory and its scripts', () => {
  const ls = {
    ...asks({ command: 'sh x.sh' }),
    cwd: '/a',
    scripts: [{ path: '/a/x.sh', sha256: 'f'.repeat(64) }],
  }
  const others = [
    { ...ls, cwd: '/b' },
    { ...ls, scripts: [] },
    { ...ls, scripts: [{ path: '/a/x.sh', sha256: '0' }] },
  ]
  for (const other of others) {
    expect(hashOf(other)).not.toBe(hashOf(ls))
    expect(patternOf(other)).not.toBe(patternOf(ls))
  }
  expect(shownText(ls)).toBe('sh x.sh\ndirectory: "/a"\nscript: "x.sh" sha256 ffffffffffff')
})

test('a tool with an absolute path does the same in every directory', () => {
  const write = (cwd: string) => ({ ...asks({ file_path: '/x', content: '1' }, 'Write'), cwd })
  expect(hashOf(write('/a'))).toBe(hashOf(write('/b')))
  const relative = (cwd: string) => ({ ...asks({ file_path: 'x', content: '1' }, 'Write'), cwd })
  expect(hashOf(relative('/a'))).not.toBe(hashOf(relative('/b')))
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
