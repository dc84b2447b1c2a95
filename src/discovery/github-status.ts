// Open pull requests and failing checks, if `gh` is installed and answers. Works with every gh since 2.0: `pr checks`
// is read as the tab-separated lines that it has always printed, because old ones know no `--json` there.
import { z } from 'zod'
import { RockpoolError, attempt } from '../domain/errors.ts'
import { plainLine, shellWord } from '../domain/text.ts'
import type { GithubStatus } from '../domain/project-status.ts'
import { gitEnvironment, gitTimeoutMs, runBounded, type Ran, type Variables } from './git.ts'

const ofGithub = ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST', 'GH_ENTERPRISE_TOKEN', 'GH_CONFIG_DIR', 'GH_REPO']
const ofNetwork = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'https_proxy',
  'http_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
]

const prList = z.array(
  z.object({ number: z.number(), title: z.string(), headRefName: z.string(), state: z.string() }),
)

export async function readGithubStatus(
  cwd: string,
  variables: Variables,
  problems: string[],
  timeoutMs = gitTimeoutMs,
): Promise<GithubStatus | undefined> {
  const limits = { cwd, env: githubEnvironment(cwd, variables), timeoutMs, maxBytes: 1024 * 1024 }
  const [list, checks] = await Promise.all([
    runBounded('gh', ['pr', 'list', '--limit', '20', '--json', 'number,title,headRefName,state'], limits),
    runBounded('gh', ['pr', 'checks'], limits),
  ])
  const openPrs = parsePrs(list, problems)
  if (openPrs === undefined) return undefined
  return { openPrs, failingChecks: parseFailingChecks(checks) }
}

interface NewPullRequest {
  title: string
  body: string
  branch: string
  draft: boolean
}

const createTimeoutMs = 30_000

/** Resolves to its address. The branch must be pushed already: pushing may run programs of the repository. */
export async function createPullRequest(
  cwd: string,
  variables: Variables,
  { title, body, branch, draft }: NewPullRequest,
): Promise<string> {
  // Written with `=`, so that no text is read as an option.
  const args = ['pr', 'create', `--title=${title}`, `--body=${body}`, `--head=${branch}`]
  const env = githubEnvironment(cwd, variables)
  const limits = { cwd, env, timeoutMs: createTimeoutMs, maxBytes: 1024 * 1024 }
  const ran = await runBounded('gh', draft ? [...args, '--draft'] : args, limits)
  const url = ran.kind === 'done' && ran.code === 0 ? /https?:\/\/\S+/.exec(ran.stdout)?.[0] : undefined
  if (url !== undefined) return url
  if (ran.kind === 'absent')
    throw new RockpoolError('unavailable', '`gh` is not installed, so no pull request can be opened.', {
      hint: 'Install the GitHub CLI and run `gh auth login`.',
    })
  throw new RockpoolError('refused', `gh opened no pull request: ${whyNot(ran)}`, {
    hint: `Push the branch first (\`git push -u origin ${shellWord(branch)}\`), and check \`gh auth status\`.`,
  })
}

const pullRequest = z.object({
  number: z.number(),
  title: z.string(),
  url: z.string(),
  commits: z.array(z.object({ oid: z.string() })),
  mergeCommit: z.object({ oid: z.string() }).nullish(),
})

/** A pull request with the hashes of its commits. */
export async function readPullRequest(cwd: string, variables: Variables, number: number) {
  const limits = {
    cwd,
    env: githubEnvironment(cwd, variables),
    timeoutMs: createTimeoutMs,
    maxBytes: 1024 * 1024,
  }
  const fields = 'number,title,url,commits,mergeCommit'
  const ran = await runBounded('gh', ['pr', 'view', String(number), '--json', fields], limits)
  if (ran.kind === 'absent')
    throw new RockpoolError('unavailable', '`gh` is not installed, so pull requests cannot be read.', {
      hint: 'Install the GitHub CLI and run `gh auth login`, or ask for a commit.',
    })
  const isDone = ran.kind === 'done' && ran.code === 0
  const read = pullRequest.safeParse(attempt(() => JSON.parse(isDone ? ran.stdout : '') as unknown))
  if (!read.success)
    throw new RockpoolError('not-found', `gh does not show pull request ${number}: ${whyNot(ran)}`, {
      hint: 'Check the number, and `gh auth status`.',
    })
  const { commits, mergeCommit, title, url } = read.data
  return {
    number: read.data.number,
    title: plainLine(title),
    url: plainLine(url),
    commits: commits.map(({ oid }) => oid),
    mergeCommit: mergeCommit?.oid,
  }
}

function githubEnvironment(cwd: string, variables: Variables): Record<string, string> {
  const env: Record<string, string> = {
    ...gitEnvironment(cwd, variables),
    GH_PROMPT_DISABLED: '1',
    GH_NO_UPDATE_NOTIFIER: '1',
    GH_PAGER: 'cat',
    NO_COLOR: '1',
  }
  for (const name of [...ofGithub, ...ofNetwork]) {
    if (variables[name] !== undefined) env[name] = variables[name]
  }
  return env
}

function parsePrs(ran: Ran, problems: string[]): GithubStatus['openPrs'] | undefined {
  if (ran.kind === 'absent' || isElsewhere(ran)) return undefined
  if (ran.kind !== 'done' || ran.code !== 0) {
    problems.push(`gh: ${whyNot(ran)}`)
    return undefined
  }
  // The schema refuses text that is not JSON.
  const parsed = prList.safeParse(attempt(() => JSON.parse(ran.stdout) as unknown))
  if (!parsed.success) {
    problems.push('gh: pull requests came in a form that is not known')
    return undefined
  }
  return parsed.data.map(({ number, title, headRefName, state }) => ({
    number,
    title: plainLine(title),
    branch: plainLine(headRefName),
    state: plainLine(state.toLowerCase()),
  }))
}

/** A repository that is not on GitHub has no pull requests there; that is not reported as a problem. */
function isElsewhere(ran: Ran): boolean {
  return (
    ran.kind === 'done' &&
    ran.code !== 0 &&
    /no git remotes|not a git repository|point to a known GitHub host/i.test(ran.stderr)
  )
}

/** `name <tab> fail <tab> 1m2s <tab> link`. A non-zero exit code means that a check fails, not that gh failed. */
function parseFailingChecks(ran: Ran): GithubStatus['failingChecks'] {
  if (ran.kind !== 'done') return []
  return ran.stdout
    .split('\n')
    .map((line) => line.split('\t'))
    .filter((columns) => columns.length >= 2 && /^(fail|cancel|error)/.test(columns[1]!))
    .map(([name, status]) => ({ name: plainLine(name!), status: plainLine(status!) }))
}

function whyNot(ran: Ran): string {
  if (ran.kind === 'timed-out') return `no answer within ${ran.afterMs / 1000} s`
  if (ran.kind === 'failed') return ran.reason
  return ran.kind === 'done' ? plainLine(ran.stderr, 200) || `exit code ${ran.code}` : 'not installed'
}
