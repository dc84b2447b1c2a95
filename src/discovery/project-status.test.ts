import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { identifyProcess } from '../store/disk/process-identity.ts'
import type { ProjectStatusOptions } from './project-status.ts'
import { gatherProjectStatus } from './project-status.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-project-')))
  folders.push(made)
  return made
}

const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false']

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', [...identity, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A repository with one commit, which the others are copies of. */
const template = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-project-')))
git(template, 'init', '-q', '-b', 'main')
writeFileSync(join(template, 'a.txt'), 'one\n')
git(template, 'add', '.')
git(template, 'commit', '-q', '-m', 'First | commit')
afterAll(() => rmSync(template, { recursive: true }))

function repository(path = join(folder(), 'demo')): string {
  cpSync(template, path, { recursive: true })
  return path
}

/** A folder with programs of these names, to stand first in PATH. */
function programs(scripts: Record<string, string>): string {
  const bin = folder()
  for (const [name, body] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return bin
}

function gather(
  repo: string,
  {
    path = process.env['PATH']!,
    sessions = [] as DiscoveredSession[],
    agentId = undefined as string | undefined,
  } = {},
  options: ProjectStatusOptions = { github: false },
) {
  const discovery = { list: async () => ({ total: sessions.length, sessions }) }
  const variables = { PATH: path, HOME: folder() }
  return gatherProjectStatus({ discovery, variables, clock: systemClock }, repo, agentId, options)
}

test('a repository with everything in it is described completely', async () => {
  const origin = repository()
  const repo = join(folder(), 'clone')
  execFileSync('git', ['clone', '-q', origin, repo], { stdio: 'ignore' })
  git(origin, 'commit', '-q', '--allow-empty', '-m', 'upstream moved')
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'ours')
  git(repo, 'fetch', '-q')
  writeFileSync(join(repo, 'a.txt'), 'stashed\n')
  git(repo, 'stash', '-q')
  git(repo, 'mv', 'a.txt', 'b c.txt')
  writeFileSync(join(repo, 'b c.txt'), 'one\ntwo\n')
  writeFileSync(join(repo, 'new ünï.txt'), '')
  git(repo, 'worktree', 'add', '-q', '-b', 'side', join(folder(), 'side'))
  mkdirSync(join(repo, '.specs'))
  for (const name of ['CLAUDE.md', 'TODO.md', 'README.md', '.specs/b.md', '.specs/a.md', '.specs/x.txt'])
    writeFileSync(join(repo, name), '')

  const status = await gather(repo)
  expect(status.problems).toEqual([])
  expect(status.repo).toEqual({ path: repo, name: 'clone', isGitRepo: true })
  expect(status.github).toBeUndefined()
  expect(status.git).toMatchObject({
    currentBranch: 'main',
    headCommitMessage: 'ours',
    stagedChanges: ['R a.txt -> b c.txt'],
    conflicts: [],
    stashCount: 1,
    upstream: { name: 'origin/main', ahead: 1, behind: 1 },
  })
  expect(status.git.uncommittedChanges).toContain('M a.txt -> b c.txt')
  expect(status.git.uncommittedChanges).toContain('?? new ünï.txt')
  expect(status.git.headCommitSha).toBe(git(repo, 'rev-parse', 'HEAD').trim())
  expect(status.git.recentCommits.map(({ message, author }) => [message, author])).toEqual([
    ['ours', 'Ada'],
    ['First | commit', 'Ada'],
  ])
  expect(status.git.recentCommits[0]!.date).toMatch(/^\d{4}-\d\d-\d\dT/)
  expect(status.git.worktrees.map(({ branch }) => branch)).toEqual(['main', 'side'])
  expect(status.docs).toEqual({
    hasClaudeMd: true,
    hasSpecs: true,
    specFiles: ['a.md', 'b.md'],
    hasTodo: true,
    hasReadme: true,
  })
  expect(Date.parse(status.timestamp)).not.toBeNaN()
})

test('a merge that stopped shows its conflicts', async () => {
  const repo = repository()
  git(repo, 'checkout', '-q', '-b', 'other')
  writeFileSync(join(repo, 'a.txt'), 'theirs\n')
  git(repo, 'commit', '-qam', 'theirs')
  git(repo, 'checkout', '-q', 'main')
  writeFileSync(join(repo, 'a.txt'), 'ours\n')
  git(repo, 'commit', '-qam', 'ours')
  expect(() => git(repo, 'merge', 'other')).toThrow(/./)
  expect((await gather(repo)).git.conflicts).toEqual(['a.txt'])
})

test('no commits, no branch and no repository are all described', async () => {
  const unborn = folder()
  git(unborn, 'init', '-q', '-b', 'trunk')
  expect((await gather(unborn)).git).toMatchObject({
    currentBranch: 'trunk',
    headCommitSha: '',
    recentCommits: [],
  })

  const detached = repository()
  git(detached, 'checkout', '-q', '--detach')
  expect((await gather(detached)).git.currentBranch).toBe('HEAD')

  const plain = await gather(folder())
  expect(plain.repo.isGitRepo).toBe(false)
  expect(plain.git).toMatchObject({ currentBranch: '', headCommitSha: '', stashCount: 0, worktrees: [] })
  expect(plain.problems).toEqual([])
})

test('sessions: running ones, the last five, and the last three of the agent that asks', async () => {
  const sessions = Array.from({ length: 8 }, (_, at) =>
    discoveredSession({
      sessionId: `s${at}`,
      lastModified: new Date(1_000_000 - at),
      isRunning: at === 6,
      ...(at % 2 ? { agentId: 'main' } : {}),
    }),
  )
  const ids = (list: DiscoveredSession[]) => list.map(({ sessionId }) => sessionId)
  const forAgent = (await gather(repository(), { sessions, agentId: 'main' })).sessions
  expect(ids(forAgent.active)).toEqual(['s6'])
  expect(ids(forAgent.recent)).toEqual(['s0', 's1', 's2', 's3', 's4'])
  expect(ids(forAgent.ownRecent)).toEqual(['s1', 's3', 's5'])
  expect(ids((await gather(repository(), { sessions })).sessions.ownRecent)).toEqual(['s0', 's1', 's2'])
})

test('a folder that is missing, or a file, is refused with a remedy', async () => {
  await expect(gather('/no/such/place')).rejects.toMatchObject({
    code: 'not-found',
    hint: expect.any(String),
  })
  const file = join(folder(), 'file')
  writeFileSync(file, '')
  await expect(gather(file)).rejects.toMatchObject({ code: 'input-invalid' })
})

test('paths with spaces, quotes, line breaks, semicolons and a leading dash are literal', async () => {
  for (const name of ['with space', `q"'s`, 'line\nbreak', 'a;touch x', '-rf', '$(touch x)']) {
    const repo = repository(join(folder(), name))
    const status = await gather(repo)
    expect(status.repo).toMatchObject({ path: repo, isGitRepo: true })
    expect(status.git.headCommitMessage).toBe('First | commit')
    expect(existsSync(join(repo, 'x'))).toBe(false)
  }
  const link = join(folder(), 'link')
  const real = repository()
  symlinkSync(real, link)
  expect((await gather(link)).repo.path).toBe(real)
})

test('branches with hostile names are only names', async () => {
  const target = folder()
  for (const name of [
    `--output=${target}/x`,
    '-c',
    '$(touch${IFS}x)',
    'a;touch${IFS}x',
    '-c-core.pager=sh',
  ]) {
    const repo = repository()
    writeFileSync(join(repo, '.git/HEAD'), `ref: refs/heads/${name}\n`)
    mkdirSync(join(repo, '.git/refs/heads', name, '..'), { recursive: true })
    writeFileSync(join(repo, '.git/refs/heads', name), git(repo, 'rev-parse', 'refs/heads/main'))
    expect((await gather(repo)).git.currentBranch).toBe(name)
    expect(existsSync(join(repo, 'x'))).toBe(false)
  }
  expect(readdirSync(target)).toEqual([])
})

test('a commit message of ten megabytes with escapes comes back clean and short', async () => {
  const repo = repository()
  writeFileSync(join(repo, 'message'), `\u001b]0;owned\u0007${'x'.repeat(10_000_000)}`)
  git(
    repo,
    '-c',
    'user.name=E\u001b[31mve',
    'commit',
    '-q',
    '--allow-empty',
    '-F',
    'message',
    '--cleanup=verbatim',
  )
  const { git: found } = await gather(repo)
  expect(found.headCommitMessage).toMatch(/^x+(\.\.)?…?$/)
  expect(Array.from(found.headCommitMessage).length).toBeLessThanOrEqual(200)
  expect(found.recentCommits[0]!.author).toBe('Eve')
})

test('a git log that takes a minute costs five seconds at most, and the rest is there', async () => {
  const repo = repository()
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const left = join(folder(), 'pid')
  const bin = programs({
    git: `case " $* " in *" log "*) sleep 60 & echo $! > '${left}'; wait;; esac\nexec ${real} "$@"`,
  })
  const started = performance.now()
  const status = await gather(
    repo,
    { path: `${bin}:${process.env['PATH']}` },
    { github: false, timeoutMs: 3_000 },
  )
  // The git that hangs would take a minute.
  expect(performance.now() - started).toBeLessThan(45_000)
  expect(status.problems).toEqual(['git log gave no answer within 3 s'])
  expect(status.git).toMatchObject({ currentBranch: 'main', recentCommits: [] })
  // Nothing of it is left, not even what it started itself.
  await vi.waitFor(() => expect(identifyProcess(Number(readFileSync(left, 'utf8')))).toBeUndefined())
})

test('without git installed the status still says what it can', async () => {
  const status = await gather(repository(), { path: folder() })
  expect(status.problems).toEqual(['git is not installed'])
  expect(status.docs.hasReadme).toBe(false)
})

/** Everything in a repository that git might run writes its name into `marks`. */
function hostileRepository(marks: string): string {
  const repo = repository()
  const evil = (name: string): string => {
    const file = join(repo, '.git', `evil-${name}`)
    writeFileSync(file, `#!/bin/sh\ntouch '${marks}/${name}'\nexit 1\n`)
    chmodSync(file, 0o755)
    return file
  }
  const set = (key: string, value: string, cwd = repo): string => git(cwd, 'config', key, value)
  const library = repository()
  git(repo, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib')
  writeFileSync(join(repo, 'lib', 'a.txt'), 'changed\n')
  writeFileSync(join(repo, '.gitattributes'), '* filter=evil diff=evil\n')
  git(repo, 'add', '.')
  git(repo, 'commit', '-qm', 'prepare')
  const signature = '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n'
  const signed = git(repo, 'cat-file', 'commit', 'HEAD').replace('\n\n', signature)
  const id = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
    cwd: repo,
    input: signed,
  })
  git(repo, 'update-ref', 'HEAD', id.toString().trim())
  for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout']) {
    symlinkSync(evil(`hook-${hook}`), join(repo, '.git/hooks', hook))
  }
  set('core.fsmonitor', evil('fsmonitor'))
  set('core.fsmonitor', evil('submodule-fsmonitor'), join(repo, 'lib'))
  set('core.hooksPath', join(repo, '.git/hooks'))
  set('core.pager', evil('pager'))
  set('pager.status', evil('pager-status'))
  set('core.editor', evil('editor'))
  set('core.askPass', evil('askpass'))
  set('core.sshCommand', evil('ssh'))
  set('core.alternateRefsCommand', evil('alternates'))
  set('credential.helper', evil('credential'))
  set('diff.external', evil('external-diff'))
  set('diff.evil.textconv', evil('textconv'))
  set('diff.evil.command', evil('diff-command'))
  set('filter.evil.clean', evil('filter-clean'))
  set('filter.evil.process', evil('filter-process'))
  set('filter.evil.required', 'true')
  set('gpg.program', evil('gpg'))
  set('log.showSignature', 'true')
  set('alias.status', `!${evil('alias')}`)
  set('status.submoduleSummary', 'true')
  // A partial clone that would fetch a missing object through a remote helper.
  set('core.repositoryFormatVersion', '1')
  set('extensions.partialClone', 'evil')
  set('remote.evil.promisor', 'true')
  set('remote.evil.url', `ext::${evil('remote-helper')}`)
  set('protocol.ext.allow', 'always')
  set('protocol.allow', 'always')
  writeFileSync(join(repo, '.git/refs/heads/missing'), `${'12'.repeat(20)}\n`)
  set('branch.main.remote', '.')
  set('branch.main.merge', 'refs/heads/missing')
  for (const name of ['git', 'gh']) {
    writeFileSync(join(repo, name), `#!/bin/sh\ntouch '${marks}/${name}-of-the-repository'\n`)
    chmodSync(join(repo, name), 0o755)
  }
  // Git now has to read the files to know whether they changed.
  utimesSync(join(repo, 'a.txt'), new Date(1), new Date(1))
  return repo
}

test('a hostile repository runs nothing', async () => {
  const marks = folder()
  const repo = hostileRepository(marks)
  const status = await gather(repo, { path: `.:${repo}:${process.env['PATH']}` }, { github: true })
  expect(readdirSync(marks)).toEqual([])
  expect(status.git).toMatchObject({ currentBranch: 'main', headCommitMessage: 'prepare', stagedChanges: [] })
  expect(status.git.uncommittedChanges).toEqual(['?? gh', '?? git'])
})

test('the same repository does run its programs when git is asked carelessly', () => {
  const marks = folder()
  const repo = hostileRepository(marks)
  const careless = (...args: string[]): void => {
    try {
      execFileSync('git', args, { cwd: repo, stdio: 'ignore', timeout: 10_000 })
    } catch {
      // Its filters and helpers fail on purpose; what they left behind is what counts.
    }
  }
  careless('status')
  careless('log', '-n', '10')
  careless('rev-list', '--count', 'HEAD...@{upstream}')
  const ran = readdirSync(marks)
  expect(ran).toEqual(expect.arrayContaining(['fsmonitor', 'filter-process', 'gpg', 'remote-helper']))
})

test('a filter whose name cannot be switched off is not run either', async () => {
  const marks = folder()
  const repo = repository()
  const file = join(repo, '.git/evil')
  writeFileSync(file, `#!/bin/sh\ntouch '${marks}/ran'\ncat\n`)
  chmodSync(file, 0o755)
  writeFileSync(join(repo, '.git/info/attributes'), '* filter=a=b\n')
  writeFileSync(
    join(repo, '.git/config'),
    `[core]\n\trepositoryformatversion = 0\n[filter "a=b"]\n\tclean = ${file}\n`,
  )
  utimesSync(join(repo, 'a.txt'), new Date(1), new Date(1))
  const status = await gather(repo)
  expect(readdirSync(marks)).toEqual([])
  expect(status.problems.join()).toMatch(/filter/)
})

test('pull requests and failing checks come from gh, in the words of old and new versions', async () => {
  const bin = programs({
    gh: `case "$*" in
"pr list"*) echo '[{"number":7,"title":"Fix it\\u001b[31m","headRefName":"fix","state":"OPEN"}]';;
"pr checks"*) printf 'build\\tfail\\t1m\\thttps://x\\nlint\\tpass\\t2s\\thttps://y\\ndocs\\tcancel\\t0\\t\\n'; exit 1;;
esac`,
  })
  const status = await gather(repository(), { path: `${bin}:${process.env['PATH']}` }, {})
  expect(status.github).toEqual({
    openPrs: [{ number: 7, title: 'Fix it', branch: 'fix', state: 'open' }],
    failingChecks: [
      { name: 'build', status: 'fail' },
      { name: 'docs', status: 'cancel' },
    ],
  })
})

test('a gh that hangs or fails leaves github out and says why', async () => {
  const hanging = programs({ gh: 'sleep 60' })
  const hung = await gather(repository(), { path: `${hanging}:${process.env['PATH']}` }, { timeoutMs: 300 })
  expect(hung.github).toBeUndefined()
  // On a busy machine git may be late, too.
  expect(hung.problems).toContain('gh: no answer within 0.3 s')

  const failing = programs({ gh: 'echo "error connecting to api.github.com" >&2; exit 1' })
  const failed = await gather(repository(), { path: `${failing}:${process.env['PATH']}` }, {})
  expect(failed.github).toBeUndefined()
  expect(failed.problems).toEqual(['gh: error connecting to api.github.com'])
})

test('a repository that is not on GitHub is no problem', async () => {
  const bin = programs({ gh: 'echo "no git remotes found" >&2; exit 1' })
  const status = await gather(repository(), { path: `${bin}:${process.env['PATH']}` }, {})
  expect(status).toMatchObject({ problems: [] })
  expect(status.github).toBeUndefined()
})

test('a sessions index that cannot be read does not hide the rest', async () => {
  const discovery = { list: () => Promise.reject(new Error('the index is damaged')) }
  const sources = { discovery, variables: { PATH: process.env['PATH'] }, clock: systemClock }
  const status = await gatherProjectStatus(sources, repository(), undefined, { github: false })
  expect(status.problems).toEqual(['sessions could not be read: the index is damaged'])
  expect(status.git.currentBranch).toBe('main')
})
