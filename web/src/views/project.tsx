// A repository on one page: what needs attention in git, pull requests, sessions, worktrees, documents.
import type { ComponentChildren } from 'preact'
import type { NativeSession, ProjectStatus } from '../data.ts'
import { ago, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Loaded } from '../parts/states.tsx'
import { follow, pathOf } from '../route.ts'

export function Project({ path }: { path: string }) {
  const status = useLive<ProjectStatus>(
    'project.status',
    { repo: path },
    (event) => event.type === 'native-changed',
    3_000,
  )
  const task = { view: 'choose', repo: path } as const
  return (
    <Loaded live={status}>
      {({ repo, git, github, sessions, docs, problems }) => (
        <div class="project">
          <div class="home-head">
            <h1>{visible(repo.name)}</h1>
            <a class="button primary" href={pathOf(task)} onClick={follow(task)}>
              New task here
            </a>
          </div>
          <p class="faint">{visible(repo.path)}</p>
          {problems.map((problem) => (
            <p key={problem} class="faint">
              {visible(problem)}
            </p>
          ))}
          <div class="panels">
            <Git isRepo={repo.isGitRepo} git={git} />
            <PullRequests github={github} />
            <Panel title="Sessions">
              <Sessions sessions={[...sessions.active, ...sessions.recent.filter((one) => !one.isRunning)]} />
            </Panel>
            <Panel title="Documents">
              <Names
                names={[
                  docs.hasClaudeMd && 'CLAUDE.md',
                  docs.hasReadme && 'README',
                  docs.hasTodo && 'TODO',
                  ...docs.specFiles,
                ].filter((name): name is string => Boolean(name))}
                otherwise="None found."
              />
            </Panel>
            {git.recentCommits.length > 0 && (
              <Panel title="Recent commits">
                <ul class="names">
                  {git.recentCommits.map((commit) => (
                    <li key={commit.sha}>
                      <code>{commit.sha.slice(0, 8)}</code> {visible(commit.message)}{' '}
                      <span class="faint">{ago(Date.parse(commit.date))}</span>
                    </li>
                  ))}
                </ul>
              </Panel>
            )}
          </div>
        </div>
      )}
    </Loaded>
  )
}

function Git({ isRepo, git }: { isRepo: boolean; git: ProjectStatus['git'] }) {
  if (!isRepo) {
    return (
      <Panel title="Git">
        <p>Not a git repository.</p>
      </Panel>
    )
  }
  const { upstream } = git
  return (
    <Panel title={visible(git.currentBranch) || 'detached'}>
      <p>
        <code>{git.headCommitSha.slice(0, 8)}</code> {visible(git.headCommitMessage)}
      </p>
      <p class="faint">
        {upstream
          ? `${upstream.ahead} ahead, ${upstream.behind} behind ${visible(upstream.name)}`
          : 'No upstream'}
        {git.stashCount > 0 && ` · ${git.stashCount} stashed`}
      </p>
      <Names title="In conflict" names={git.conflicts} />
      <Names title="Staged" names={git.stagedChanges} />
      <Names title="Changed" names={git.uncommittedChanges} />
      <Names
        title="Worktrees"
        names={git.worktrees.slice(1).map(({ path, branch = '' }) => `${path} ${branch}`)}
      />
    </Panel>
  )
}

function PullRequests({ github }: { github: ProjectStatus['github'] }) {
  if (!github) return null
  return (
    <Panel title="Pull requests">
      <Names
        names={github.openPrs.map(({ number, title, branch }) => `#${number} ${title} (${branch})`)}
        otherwise="None is open."
      />
      <Names
        title="Failing checks"
        names={github.failingChecks.map(({ name, status }) => `${name}: ${status}`)}
      />
    </Panel>
  )
}

function Sessions({ sessions }: { sessions: NativeSession[] }) {
  if (sessions.length === 0) return <p class="faint">None yet.</p>
  return (
    <ul class="names">
      {sessions.map((session) => {
        const route = { view: 'session', id: session.sessionId } as const
        return (
          <li key={session.sessionId}>
            <a href={pathOf(route)} onClick={follow(route)}>
              {visible(session.title ?? session.firstMessage)}
            </a>
            <br />
            <span class="faint">
              {session.status} · {visible(session.branch) || '–'} · {ago(Date.parse(session.lastModified))} ·{' '}
              {usd(session.costUsd)}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

function Names({ title, names, otherwise }: { title?: string; names: string[]; otherwise?: string }) {
  if (names.length === 0) return otherwise === undefined ? null : <p class="faint">{otherwise}</p>
  return (
    <>
      {title && (
        <h3>
          {title} <span class="faint">{names.length}</span>
        </h3>
      )}
      <ul class="names">
        {names.slice(0, 40).map((name, i) => (
          <li key={`${name}${i}`}>{visible(name)}</li>
        ))}
        {names.length > 40 && <li class="faint">and {names.length - 40} more</li>}
      </ul>
    </>
  )
}
