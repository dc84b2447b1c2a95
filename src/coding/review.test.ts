import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createPullRequest } from '../discovery/github-status.ts'
import type { Card } from '../domain/transcript-views.ts'
import { readBase, readChanges, testRuns } from './review.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-review-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const variables = { PATH: process.env['PATH'], HOME: folder }

const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false']
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8', env: { ...process.env, HOME: folder } })

function newRepo(
  name: string,
  files: Record<string, string> = { 'a.txt': 'one\n', 'b.txt': 'two\n' },
): string {
  const repo = join(folder, name)
  mkdirSync(repo)
  git(repo, 'init', '-q', '-b', 'main')
  for (const [path, text] of Object.entries(files)) writeFileSync(join(repo, path), text)
  git(repo, 'add', '-A')
  git(repo, 'commit', '-qm', 'First')
  return repo
}

test('shows what changed since the session began: commits, the working tree, new and deleted files, and nothing from before', async () => {
  const repo = newRepo('all', { 'a.txt': 'one\n', 'b.txt': 'two\n', 'before.txt': 'x\n', 'both.txt': 'x\n' })
  writeFileSync(join(repo, 'before.txt'), 'changed before\n')
  writeFileSync(join(repo, 'both.txt'), 'changed before\n')
  writeFileSync(join(repo, 'old-untracked.txt'), 'x')
  const base = await readBase(repo, variables)
  expect(Object.keys(base!.dirty).toSorted()).toEqual(['before.txt', 'both.txt', 'old-untracked.txt'])
  const began = Date.now()
  writeFileSync(join(repo, 'a.txt'), 'one\nmore\n')
  git(repo, 'add', 'a.txt')
  git(repo, 'commit', '-qm', 'Add a line')
  rmSync(join(repo, 'b.txt'))
  writeFileSync(join(repo, 'both.txt'), 'changed again\n')
  writeFileSync(join(repo, 'neu ö.txt'), 'fresh\nopen end')
  writeFileSync(join(repo, 'picture.bin'), Buffer.from([0, 1, 2]))
  symlinkSync('/etc/passwd', join(repo, 'link'))
  mkdirSync(join(repo, 'sub'))
  const { files, commits, branch, problems } = await readChanges(join(repo, 'sub'), base, began, variables)
  expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual([
    'modified a.txt',
    'deleted b.txt',
    'modified both.txt',
    'added link',
    'added neu ö.txt',
    'added picture.bin',
  ])
  const [a, b, both, link, fresh, picture] = files
  expect(a).toMatchObject({ added: 1, removed: 0, patch: expect.stringContaining('\n one\n+more\n') })
  expect(b!.patch).toContain('\n-two\n')
  expect(both!.note).toContain('before the session')
  expect(link).toMatchObject({ patch: '', note: expect.stringContaining('not a readable file') })
  expect(fresh!.patch).toContain('@@ -0,0 +1,2 @@\n+fresh\n+open end\n\\ No newline at end of file\n')
  expect(picture).toMatchObject({ patch: '', note: 'binary' })
  expect(commits).toMatchObject([{ subject: 'Add a line', author: 'Ada' }])
  expect([branch, problems]).toEqual(['main', []])
})

test('works in a worktree, in a repository without commits, and says so outside of git', async () => {
  const repo = newRepo('trees')
  const tree = join(folder, 'tree')
  git(repo, 'worktree', 'add', '-q', '-b', 'other', tree)
  const base = await readBase(tree, variables)
  writeFileSync(join(tree, 'a.txt'), 'changed\n')
  expect(await readChanges(tree, base, 0, variables)).toMatchObject({
    branch: 'other',
    files: [{ path: 'a.txt' }],
  })
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  git(empty, 'init', '-q')
  const none = await readBase(empty, variables)
  writeFileSync(join(empty, 'x'), 'x\n')
  expect(await readChanges(empty, none, 0, variables)).toMatchObject({
    files: [{ path: 'x', change: 'added' }],
    commits: [],
  })
  const plain = join(folder, 'plain')
  mkdirSync(plain)
  expect(await readBase(plain, variables)).toBeUndefined()
  expect((await readChanges(plain, undefined, 0, variables)).problems).toEqual([
    `${plain} is not in a git repository.`,
  ])
})

test('runs no program that the repository names', async () => {
  const repo = newRepo('hostile', { 'a.txt': 'one\n', '.gitattributes': '* diff=evil filter=evil\n' })
  const ran = join(folder, 'ran')
  const evil = `touch ${ran}; cat`
  for (const key of [
    'diff.external',
    'diff.evil.command',
    'diff.evil.textconv',
    'filter.evil.clean',
    'core.fsmonitor',
    'core.pager',
    'gpg.program',
  ])
    git(repo, 'config', key, evil)
  const base = await readBase(repo, variables)
  writeFileSync(join(repo, 'a.txt'), 'two\n')
  expect((await readChanges(repo, base, 0, variables)).files).toMatchObject([{ path: 'a.txt' }])
  expect(existsSync(ran)).toBe(false)
})

test('runs no content filter that is named after more settings than are read', async () => {
  const repo = newRepo('many-settings', { 'a.txt': 'one\n', '.gitattributes': '* filter=evil\n' })
  const ran = join(folder, 'ran-later')
  const settings = Array.from({ length: 20_000 }, (_, i) => `[x "${'y'.repeat(250)}${i}"]\n\tz = 1\n`)
  const filter = `[filter "evil"]\n\tclean = touch ${ran}; cat\n`
  appendFileSync(join(repo, '.git', 'config'), `${settings.join('')}${filter}`)
  writeFileSync(join(repo, 'a.txt'), 'two\n')
  expect(await readBase(repo, variables)).toBeUndefined()
  expect(await readChanges(repo, undefined, 0, variables)).toMatchObject({ files: [] })
  expect(existsSync(ran)).toBe(false)
})

test('shows the patch of each file as its own, whatever the files contain', async () => {
  const repo = newRepo('forged', { a: 'old\n', b: 'old\n', c: 'old\n', d: 'old\n' })
  const base = await readBase(repo, variables)
  const forged = ['\r', '\u2028', '\u2029'].map((end) => `${end}diff --git a/b b/b${end}+harmless`)
  writeFileSync(join(repo, 'a'), `old\n${forged.join('')}\n`)
  writeFileSync(join(repo, 'b'), 'new b\n')
  rmSync(join(repo, 'c'))
  symlinkSync('harmless', join(repo, 'c'))
  writeFileSync(join(repo, 'd'), 'new d\n')
  const { files } = await readChanges(repo, base, 0, variables)
  expect(files.map(({ path, patch }) => [path, patch.split('\n')[0]])).toEqual(
    ['a', 'b', 'c', 'd'].map((path) => [path, `diff --git a/${path} b/${path}`]),
  )
  expect(files[1]!.patch).toContain('+new b')
  expect(files[2]!.patch).toContain('+harmless')
  expect(files[3]!.patch).toContain('+new d')
})

test('a session cannot hide a change by what it tells git', async () => {
  const repo = newRepo('hidden', { a: 'old\n', b: 'old\n', c: 'old\n', d: 'old\n' })
  const base = await readBase(repo, variables)
  for (const name of ['a', 'b', 'c']) writeFileSync(join(repo, name), 'new\n')
  git(repo, 'update-index', '--assume-unchanged', 'a')
  git(repo, 'update-index', '--skip-worktree', 'b', 'd')
  // A sparse checkout does not have the file.
  rmSync(join(repo, 'd'))
  git(repo, 'commit', '-qam', 'Second')
  git(repo, 'replace', base!.commit!, 'HEAD')
  const { files, problems } = await readChanges(repo, base, 0, variables)
  expect(files.map(({ path }) => path)).toEqual(['c'])
  expect(problems).toEqual(['The git index marks these files as not to be compared: a, b.'])
})

test('is limited in size', async () => {
  const repo = newRepo('large')
  const base = await readBase(repo, variables)
  for (const name of ['c', 'd', 'e']) writeFileSync(join(repo, name), 'x'.repeat(90_000))
  writeFileSync(join(repo, 'f'), 'x'.repeat(300_000))
  const { files, problems } = await readChanges(repo, base, 0, variables)
  expect(files.map(({ note }) => note)).toEqual([
    undefined,
    undefined,
    'too large to show',
    'not a readable file, or too large',
  ])
  expect(problems).toEqual(['The diff is too large to show as a whole.'])
})

test('finds commands that look like tests, with their outcome', () => {
  const call = (id: string, command: string): Card => ({
    kind: 'tool',
    at: 1,
    text: '',
    toolUseId: id,
    tool: { name: 'Bash', input: { command } },
  })
  const result = (id: string, isError: boolean): Card => ({
    kind: 'result',
    at: 2,
    text: '',
    toolUseId: id,
    isError,
  })
  const runs = testRuns([
    call('1', 'npm test'),
    call('2', 'cd web && npx vitest run a.test.ts'),
    call('3', 'cat test.txt'),
    call('4', 'python3 -m pytest -q'),
    call('5', 'echo contest'),
    result('1', false),
    result('2', true),
    result('3', false),
  ])
  expect(runs.map(({ command, outcome }) => [command, outcome])).toEqual([
    ['npm test', 'passed'],
    ['cd web && npx vitest run a.test.ts', 'failed'],
    ['python3 -m pytest -q', 'unknown'],
  ])
})

test('a pull request is opened by gh with title, body and branch; without gh the error says what to install', async () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const request = { title: '-x', body: 'two\nlines', branch: 'fix', draft: true }
  const path = { ...variables, PATH: bin }
  await expect(createPullRequest(folder, path, request)).rejects.toMatchObject({
    code: 'unavailable',
    hint: expect.stringContaining('gh auth login'),
  })
  const elsewhere = mkdtempSync(join(tmpdir(), 'rockpool-gh-'))
  writeFileSync(
    join(elsewhere, 'gh'),
    `#!/bin/sh\nprintf '%s|' "$@" > '${folder}/args'\necho 'Creating…' >&2\necho https://example.org/pull/7\n`,
  )
  chmodSync(join(elsewhere, 'gh'), 0o755)
  const found = { ...variables, PATH: `${elsewhere}:/usr/bin:/bin` }
  expect(await createPullRequest(folder, found, request)).toBe('https://example.org/pull/7')
  const args = execFileSync('cat', [join(folder, 'args')], { encoding: 'utf8' })
  expect(args).toBe('pr|create|--title=-x|--body=two\nlines|--head=fix|--draft|')
  writeFileSync(join(elsewhere, 'gh'), '#!/bin/sh\necho "must first push" >&2\nexit 1\n')
  await expect(createPullRequest(folder, found, request)).rejects.toThrow(/must first push/)
  await expect(createPullRequest(folder, found, { ...request, branch: 'a;id' })).rejects.toMatchObject({
    hint: expect.stringContaining("git push -u origin 'a;id'") as string,
  })
  rmSync(elsewhere, { recursive: true })
})
