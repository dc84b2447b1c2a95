// A repository on one page: what needs attention in git, pull requests, sessions, worktrees, documents.
import type { NativeSession } from '../data.ts'
import { ago, usd } from '../format.ts'
import { useLive } from '../live.ts'
import { Loaded } from '../parts/states.tsx'
import { pathOf } from '../route.ts'

interface ProjectStatus {
  repo: { path: string; name: string; isGitRepo: boolean }
  git: {
    currentBranch: string
    headCommitSha: string
    headCommitMessage: string
    uncommittedChanges: string[]
    stagedChanges: string[]
    conflicts?: string[]
    stashCount: number
    recentCommits: Array<{ sha: string; message: string; author: string; date: string }>
    upstream?: { name: string; ahead: number; behind: number }
    worktrees: Array<{ path: string; branch?: string }>
  }
  github?: {
    openPrs: Array<{ number: number; title: string; branch: string; state: string }>
    failingChecks: Array<{ name: string; status: string }>
  }
  sessions: { active: NativeSession[]; recent: NativeSession[] }
  docs: { hasClaudeMd: boolean; hasSpecs: boolean; specFiles: string[]; hasTodo: boolean; hasReadme: boolean }
}

export function Project({ path }: { path: string }) {
  const status = useLive<ProjectStatus>('project.status', { repo: path })
  return (
    <Loaded live={status}>
      {({ repo, git, github, sessions, docs }) => (
        <div class="project">
          <h1>{repo.name}</h1>
          <p class="faint">{repo.path}</p>
          {repo.isGitRepo ? (
            <section aria-label="Git">
              <h2>{git.currentBranch || 'detached'}</h2>
              <p>
                <code>{git.headCommitSha.slice(0, 8)}</code> {git.headCommitMessage}
                {git.upstream &&
                  ` · ${git.upstream.ahead} ahead, ${git.upstream.behind} behind ${git.upstream.name}`}
                {git.stashCount > 0 && ` · ${git.stashCount} stashed`}
              </p>
              <Names title="In conflict" names={git.conflicts ?? []} />
              <Names title="Staged" names={git.stagedChanges} />
              <Names title="Changed" names={git.uncommittedChanges} />
              <Names
                title="Worktrees"
                names={git.worktrees.slice(1).map((tree) => `${tree.path} ${tree.branch ?? ''}`)}
              />
            </section>
          ) : (
            <p>Not a git repository.</p>
          )}
          {github && (
            <section aria-label="Pull requests">
              <h2>Pull requests</h2>
              <ul>
                {github.openPrs.map((request) => (
                  <li key={request.number}>
                    #{request.number} {request.title} <span class="faint">{request.branch}</span>
                  </li>
                ))}
              </ul>
              <Names
                title="Failing checks"
                names={github.failingChecks.map((check) => `${check.name}: ${check.status}`)}
              />
            </section>
          )}
          <section aria-label="Sessions">
            <h2>Sessions</h2>
            <ul>
              {[...sessions.active, ...sessions.recent.filter((one) => !one.isRunning)].map((session) => (
                <li key={session.sessionId}>
                  <a href={pathOf({ view: 'session', id: session.sessionId })}>
                    {session.title ?? session.firstMessage}
                  </a>{' '}
                  <span class="faint">
                    {session.status} · {session.branch} · {ago(Date.parse(session.lastModified))} ·{' '}
                    {usd(session.costUsd)}
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <Names
            title="Documents"
            names={[
              docs.hasClaudeMd && 'CLAUDE.md',
              docs.hasReadme && 'README',
              docs.hasTodo && 'TODO',
              ...docs.specFiles,
            ].filter((name): name is string => Boolean(name))}
          />
          <Names
            title="Recent commits"
            names={git.recentCommits.map((commit) => `${commit.sha.slice(0, 8)} ${commit.message}`)}
          />
        </div>
      )}
    </Loaded>
  )
}

function Names({ title, names }: { title: string; names: string[] }) {
  if (names.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <ul class="names">
        {names.map((name, i) => (
          <li key={`${name}${i}`}>{name}</li>
        ))}
      </ul>
    </>
  )
}
