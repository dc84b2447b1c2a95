import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Grant } from '../../domain/coding-session.ts'
import { commandIn, editsBelow, findRule, possibleRules, ruleFor } from './permission-rules.ts'
import { simpleCommandWords } from './simple-command.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-rules-')))
const repo = join(folder, 'shop')
const other = join(folder, 'other')
for (const each of [repo, other]) mkdirSync(join(each, '.git'), { recursive: true })
mkdirSync(join(repo, 'src'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const rule = (
  scope: Pick<Grant, 'kind' | 'tool' | 'pattern' | 'folder'>,
  more: Partial<Grant> = {},
): Grant => ({
  id: 'r1',
  grantedAt: 0,
  grantedBy: 'ada',
  ...scope,
  ...more,
})

function isCovered(rules: Grant[], toolName: string, input: Record<string, unknown>, cwd = repo): boolean {
  return findRule(rules, { kind: 'tool', toolName, input, cwd }, { codingId: 'a' }, 1_000) !== undefined
}

const bash = (command: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  command,
  ...more,
})

describe('a rule for a command in a repository', () => {
  const rules = [rule(commandIn('npm test', repo)), rule(commandIn('git status *', repo))]

  test.each([
    'npm test',
    '  npm   test ',
    `'npm' "test"`,
    'git status',
    'git status --short -- src/a.ts',
    `git status 'a b'`,
  ])('covers %s', (command) => {
    expect(isCovered(rules, 'Bash', bash(command, { description: 'Run it', timeout: 5 }))).toBe(true)
    expect(isCovered(rules, 'Bash', bash(command), join(repo, 'src'))).toBe(true)
  })

  test.each([
    'npm test && rm -rf ~',
    'npm test&&id',
    'npm test; id',
    'npm test;id',
    'npm test | sh',
    'npm test |& sh',
    'npm test || id',
    'npm test & id',
    'npm test &',
    'npm test\nid',
    'npm test\r\nid',
    'npm test\rid',
    'npm\ntest',
    'npm test > /etc/passwd',
    'npm test >> x',
    'npm test 2>&1',
    'npm test < x',
    'npm test <<< x',
    'npm test <<EOF\nx\nEOF',
    'npm test <(id)',
    'npm test >(id)',
    'npm test $(id)',
    'npm test `id`',
    'npm test "$(id)"',
    'npm test "`id`"',
    'npm test "${x:=$(id)}"',
    'npm test $HOME',
    'npm test $((1+1))',
    "npm test $'\\x41'",
    'npm test $"x"',
    'NODE_OPTIONS=--require=./x npm test',
    'PATH=. npm test',
    'env npm test',
    'sudo npm test',
    'exec npm test',
    'eval npm test',
    '(npm test)',
    '{ npm test; }',
    '! npm test',
    'time npm test',
    'if npm test; then id; fi',
    'npm test # x',
    'npm test \\\nid',
    'npm te\\st',
    'npm test *',
    'npm test ?',
    'npm test [a]',
    'npm test {a,b}',
    'npm test ~',
    'npm test ~root',
    'npm test extra',
    'npm',
    'npm test-all',
    'xnpm test',
    './npm test',
    'npm run test',
    'npm\u00a0test',
    'npm test\u2028id',
    'npm test\u202e',
    'npm test\u0000',
    'npm test\u001b[2K',
    'npm test "unfinished',
    "npm test 'unfinished",
    `npm test ''"$(id)"`,
    'git status; id',
    'git status $(id)',
    'git status "$(id)"',
    'git status | tee x',
    'git status > x',
    'git -c alias.status=!id status',
    'git statusx',
    'git "status\nid"',
    'git status "a\\"; id"',
    '',
    '   ',
  ])('does not cover %j', (command) => {
    expect(isCovered(rules, 'Bash', bash(command))).toBe(false)
  })

  test('covers no other repository, no field that changes how it runs, and no other tool', () => {
    expect(isCovered(rules, 'Bash', bash('npm test'), other)).toBe(false)
    expect(isCovered(rules, 'Bash', bash('npm test'), folder)).toBe(false)
    expect(isCovered(rules, 'Bash', bash('npm test'), join(repo, 'gone'))).toBe(false)
    expect(isCovered(rules, 'Bash', bash('npm test', { run_in_background: true }))).toBe(false)
    expect(isCovered(rules, 'Bash', bash('npm test', { dangerouslyDisableSandbox: true }))).toBe(false)
    expect(isCovered(rules, 'PowerShell', bash('npm test'))).toBe(false)
    // A link in the repository to another one leads there.
    symlinkSync(other, join(repo, 'link'))
    expect(isCovered(rules, 'Bash', bash('npm test'), join(repo, 'link'))).toBe(false)
  })

  test.each([
    'sh *',
    'bash -c *',
    'env *',
    'sudo *',
    'xargs *',
    'find . *',
    'timeout 5 *',
    'git *',
    'git -c *',
    'python3 *',
    'python3 -c *',
    'node -e *',
    '/bin/sh *',
    'rm *',
    'a && b',
    'a | b',
    'x=1 a',
    '*',
    'eval x',
  ])('is refused for %s', (command) => {
    expect(() => commandIn(command, repo)).toThrow(/almost anything|not a simple command/)
  })
})

test('an unknown character makes a command not simple', () => {
  for (let code = 0; code < 0x3000; code++) {
    const char = String.fromCodePoint(code)
    const words = simpleCommandWords(`a${char}b`)
    if (/[A-Za-z0-9_@%+:,./-]/.test(char)) expect(words).toEqual([`a${char}b`])
    else if (char === ' ') expect(words).toEqual(['a', 'b'])
    else expect(words, JSON.stringify(char)).toBeUndefined()
  }
})

describe('a rule for edits below a folder', () => {
  const rules = [rule(editsBelow(join(repo, 'src')))]
  const outside = join(folder, 'secret')
  writeFileSync(outside, 'x')
  writeFileSync(join(repo, 'src/a.ts'), 'x')
  symlinkSync(outside, join(repo, 'src/link'))
  symlinkSync(join(folder, 'nothing'), join(repo, 'src/dangling'))
  symlinkSync(folder, join(repo, 'src/up'))
  linkSync(outside, join(repo, 'src/hard'))
  mkdirSync(join(repo, 'src-2'))

  test.each([
    ['Edit', 'src/a.ts'],
    ['Write', 'src/new.ts'],
    ['MultiEdit', 'src/a.ts'],
    ['Write', 'src/deep/er/new.ts'],
  ])('covers %s of %s', (tool, path) => {
    expect(isCovered(rules, tool, { file_path: join(repo, path), content: '' })).toBe(true)
    expect(isCovered(rules, tool, { file_path: path, content: '' })).toBe(true)
  })

  test.each([
    'package.json',
    'src-2/x',
    'src',
    'src/../package.json',
    'src/x/../../package.json',
    'src/link',
    'src/dangling',
    'src/up/secret',
    'src/up/new',
    'src/up/../shop/src/a.ts',
    'src/hard',
    'src/.git/hooks/pre-commit',
    'src/.GIT/config',
    'src/.claude/settings.json',
    'src/x/.mcp.json',
    '~/x',
    'src/a\0.ts',
    '',
  ])('does not cover %j', (path) => {
    expect(isCovered(rules, 'Write', { file_path: path === '' ? '' : `${repo}/${path}`, content: '' })).toBe(
      false,
    )
    expect(isCovered(rules, 'Write', { file_path: path, content: '' })).toBe(false)
  })

  test('covers no other tool and no other field, and is refused for the root', () => {
    expect(isCovered(rules, 'Bash', bash(`touch ${repo}/src/a.ts`))).toBe(false)
    expect(isCovered(rules, 'Read', { file_path: join(repo, 'src/a.ts') })).toBe(false)
    expect(isCovered(rules, 'Edit', { path: join(repo, 'src/a.ts') })).toBe(false)
    expect(isCovered(rules, 'constructor', { file_path: join(repo, 'src/a.ts') })).toBe(false)
    expect(() => editsBelow('/')).toThrow(/too much/)
    expect(() => editsBelow(join(folder, 'nothing'))).toThrow(/not a directory/)
  })
})

test('a rule holds for its session, until its time; one for all sessions never for a chat', () => {
  const scope = commandIn('npm test', repo)
  const request = { kind: 'tool', toolName: 'Bash', input: bash('npm test'), cwd: repo } as const
  const found = (more: Partial<Grant>, asker: { codingId?: string; sessionKey?: string }): boolean =>
    findRule([rule(scope, more)], request, asker, 1_000) !== undefined
  expect(found({ codingId: 'a' }, { codingId: 'a' })).toBe(true)
  expect(found({ codingId: 'a' }, { codingId: 'b' })).toBe(false)
  expect(found({ until: 1_001 }, { codingId: 'a' })).toBe(true)
  expect(found({ until: 1_000 }, { codingId: 'a' })).toBe(false)
  expect(found({}, { sessionKey: 'agent:main:main' })).toBe(false)
  expect(findRule([rule(scope)], { ...request, kind: 'question' }, { codingId: 'a' }, 0)).toBeUndefined()
})

test('a rule is made from a request', () => {
  const request = {
    kind: 'tool',
    toolName: 'Bash',
    input: bash('npm test', { description: 'x' }),
    cwd: join(repo, 'src'),
  } as const
  expect(ruleFor('command', request)).toEqual({
    kind: 'command',
    tool: 'Bash',
    pattern: 'npm test',
    folder: repo,
  })
  expect(() => ruleFor('edits', request)).toThrow(/edits no file/)
  expect(() => ruleFor('command', { ...request, input: bash('a && b') })).toThrow(/not a simple command/)
  const edit = { ...request, toolName: 'Edit', input: { file_path: join(repo, 'src/a.ts') } }
  expect(ruleFor('edits', edit)).toMatchObject({ kind: 'edits', folder: repo })
})

test('only rules are possible that can be added and let the request pass', () => {
  const possible = (
    toolName: string,
    input: Record<string, unknown>,
    kind: 'tool' | 'plan' = 'tool',
  ): string[] => possibleRules({ kind, toolName, input, cwd: repo })
  expect(possible('Bash', bash('npm test'))).toEqual(['exact', 'command'])
  for (const input of [bash('rm a && echo b'), bash('npm test', { run_in_background: true })])
    expect(possible('Bash', input)).toEqual(['exact'])
  expect(possible('Edit', { file_path: join(repo, 'src/a.ts') })).toEqual(['exact', 'edits'])
  expect(possible('Edit', { file_path: '/etc/passwd' })).toEqual(['exact'])
  expect(possible('Edit', { file_path: join(repo, '.git/config') })).toEqual(['exact'])
  expect(possible('Bash', bash('npm test'), 'plan')).toEqual([])
})
