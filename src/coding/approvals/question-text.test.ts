import { expect, test } from 'vitest'
import type { PermissionRequest } from '../../domain/agent.ts'
import { requestHash, grantPattern, displayText } from './question-text.ts'

const asks = (
  input: Record<string, unknown>,
  toolName = 'Bash',
  kind: PermissionRequest['kind'] = 'tool',
): PermissionRequest => ({ requestId: 'r', kind, toolName, input })

test('a command is shown as it is, and whatever else is asked for below it, quoted', () => {
  expect(displayText(asks({ command: 'ls' }))).toBe('ls')
  const input = {
    dangerouslyDisableSandbox: true,
    command: 'npm test',
    description: 'Run\nthe tests',
    timeout: 5,
  }
  expect(displayText(asks(input))).toBe(
    ['npm test', 'dangerouslyDisableSandbox: true', 'description: "Run\\nthe tests"', 'timeout: 5'].join(
      '\n',
    ),
  )
})

test('other tools are shown with all their input', () => {
  const shown = displayText(
    asks({ file_path: '/a', content: 'x'.repeat(5_000), mode: { deep: true } }, 'Write'),
  )
  for (const part of ['Write', '/a', 'x'.repeat(5_000), '"deep": true']) expect(shown).toContain(part)
})

test('an edit is shown as the lines that it changes', () => {
  const edit = { file_path: '/a.ts', old_string: 'one\ntwo\nthree', new_string: 'one\n2\nthree' }
  expect(displayText(asks(edit, 'Edit'))).toBe('Edit /a.ts\n  one\n- two\n+ 2\n  three')
  const { file_path, ...change } = edit
  const several = { file_path, edits: [change, { old_string: 'x', new_string: '', replace_all: true }] }
  expect(displayText(asks(several, 'MultiEdit'))).toMatch(
    /\n\+ 2\n {2}three\nEdit \/a\.ts \(every occurrence\)\n- x$/,
  )
  const write = { file_path: '/b.ts', content: 'new\nfile' }
  expect(displayText(asks(write, 'Write'))).toBe('Write /b.ts (the whole file)\n+ new\n+ file')
})

test('the options of a question are shown with their descriptions', () => {
  const options = [{ label: 'Redis', description: 'Fast, one more server' }, { label: 'Nothing' }]
  const shown = displayText(
    asks({ questions: [{ question: 'Which cache?', options }] }, 'AskUserQuestion', 'question'),
  )
  expect(shown).toBe('Which cache?\n1. Redis: Fast, one more server\n2. Nothing')
})

test('a plan is shown with what would be allowed along with it', () => {
  const allowedPrompts = [{ tool: 'Bash', prompt: 'run anything' }]
  const shown = displayText(asks({ plan: '1. look', allowedPrompts }, 'ExitPlanMode', 'plan'))
  expect(shown).toBe('1. look\nallowedPrompts: [{"tool":"Bash","prompt":"run anything"}]')
})

test('"always" covers the same command word for word, whatever Claude says about it', () => {
  expect(grantPattern(asks({ command: 'ls', description: 'List', timeout: 1 }))).toBe('ls')
  expect(grantPattern(asks({ command: 'ls -la' }))).not.toBe('ls')
  expect(grantPattern(asks({ file_path: '/a' }, 'Read'))).toBe('/a')
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
    expect(requestHash(other)).not.toBe(requestHash(ls))
    expect(grantPattern(other)).not.toBe(grantPattern(ls))
  }
  expect(displayText(ls)).toBe('sh x.sh\ndirectory: "/a"\nscript: "x.sh" sha256 ffffffffffff')
})

test('a tool with an absolute path does the same in every directory', () => {
  const write = (cwd: string) => ({ ...asks({ file_path: '/x', content: '1' }, 'Write'), cwd })
  expect(requestHash(write('/a'))).toBe(requestHash(write('/b')))
  const relative = (cwd: string) => ({ ...asks({ file_path: 'x', content: '1' }, 'Write'), cwd })
  expect(requestHash(relative('/a'))).not.toBe(requestHash(relative('/b')))
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
  for (const one of granted) expect(grantPattern(asks(one, tool))).not.toBe(grantPattern(asks(input, tool)))
  // And the order of its fields does not matter.
  const turned = Object.fromEntries(Object.entries(input).reverse())
  expect(grantPattern(asks(turned, tool))).toBe(grantPattern(asks(input, tool)))
})

test('a long input is bound as a whole, and its pattern stays readable', () => {
  const long = (end: string) =>
    grantPattern(asks({ file_path: '/a', content: 'x'.repeat(9_000) + end }, 'Write'))
  expect(long('1')).not.toBe(long('2'))
  expect(long('1').length).toBeLessThan(700)
})

test('a command that looks like a whole input does not stand for one', () => {
  const whole = { command: 'rm', dangerouslyDisableSandbox: true }
  expect(grantPattern(asks({ command: grantPattern(asks(whole)) }))).not.toBe(grantPattern(asks(whole)))
})
