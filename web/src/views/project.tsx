// A repository on one page: git state, pull requests, sessions, worktrees, documents.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { NativeSession, ProjectStatus } from '../data.ts'
import { ago, count, nameOf, shortPath, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Link } from '../parts/link.tsx'
import { Empty, Loaded, Problem } from '../parts/states.tsx'

export function Project({ path }: { path: string }) {
  const changed = (event: { type: string }): boolean => event.type === 'native-changed'
  const status = useLive('project.status', { repo: path }, changed, 3_000)
  const known = useLive('cc.list', { repo: path, limit: 30, archived: false }, changed, 1_000)
  const sessions = known.data?.sessions ?? []
  if (status.error !== undefined && status.data === undefined) {
    return (
      <Empty title="This folder cannot be read">
        <p>{visible(status.error)}</p>
        <p class="faint">Its sessions are still in the list, and can be read.</p>
        <button type="button" onClick={status.reload}>
          Try again
        </button>
      </Empty>
    )
  }
  return (
    <Loaded live={status}>
      {({ repo, git, github, docs, problems }) => (
        <div class="page project">
          <div class="page-head">
            <h1>{visible(repo.name)}</h1>
            <Link class="button primary" to={{ view: 'new', repo: path }}>
              New task here
            </Link>
          </div>
          <p class="faint">{visible(repo.path)}</p>
          {problems.map((problem) => (
            <p key={problem} class="faint">
              {visible(problem)}
            </p>
          ))}
          <div class="panels">
            <Git isRepo={repo.isGitRepo} git={git} />
            {github && <PullRequests github={github} sessions={sessions} current={git.currentBranch} />}
            <Panel title="Sessions" of={known.data?.total}>
              <Sessions sessions={sessions} />
            </Panel>
            {git.worktrees.length > 1 && <Worktrees git={git} here={repo.path} />}
            <Documents repo={path} hasClaudeMd={docs.hasClaudeMd} />
            {git.recentCommits.length > 0 && <Commits commits={git.recentCommits} repo={repo.path} />}
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
    </Panel>
  )
}

interface PullRequestsProps {
  github: NonNullable<ProjectStatus['github']>
  sessions: NativeSession[]
  /** The branch that is checked out; the checks are of its pull request. */
  current: string
}

/** With the sessions that worked on the branch of each pull request. */
function PullRequests({ github, sessions, current }: PullRequestsProps) {
  return (
    <Panel title="Pull requests" of={github.openPrs.length}>
      <ul class="names spaced">
        {github.openPrs.map(({ number, title, branch, state }) => (
          <li key={number}>
            <strong>#{number}</strong> {visible(title)} <span class="chip">{visible(state)}</span>
            <br />
            <span class="faint">{visible(branch)}</span>
            {sessions
              .filter((session) => session.branch === branch)
              .slice(0, 3)
              .map((session) => (
                <span key={session.sessionId}>
                  {' · '}
                  <Link to={{ view: 'session', id: session.sessionId }}>{visible(nameOf(session))}</Link>
                </span>
              ))}
            {branch === current && <Checks failing={github.failingChecks} />}
          </li>
        ))}
        {github.openPrs.length === 0 && <li class="faint">None.</li>}
      </ul>
    </Panel>
  )
}

function Checks({ failing }: { failing: Array<{ name: string; status: string }> }) {
  if (failing.length === 0) return null
  return (
    <p class="failing">
      {count(failing.length, 'check fails', 'checks fail')}:{' '}
      {failing.map(({ name, status }) => `${visible(name)} (${visible(status)})`).join(', ')}
    </p>
  )
}

function Sessions({ sessions }: { sessions: NativeSession[] }) {
  return (
    <ul class="names spaced">
      {sessions.slice(0, 8).map((session) => (
        <li key={session.sessionId}>
          <Link to={{ view: 'session', id: session.sessionId }}>{visible(nameOf(session))}</Link>
          <br />
          <span class="faint">
            {session.state} · {visible(session.branch) || 'no branch'} ·{' '}
            {ago(Date.parse(session.lastModified))} · {usd(session.costUsd)} ·{' '}
            {session.warm ? 'warm' : 'cold'}
          </span>
        </li>
      ))}
      {sessions.length === 0 && <li class="faint">None yet. “New task here” starts the first one.</li>}
    </ul>
  )
}

function Worktrees({ git, here }: { git: ProjectStatus['git']; here: string }) {
  const others = git.worktrees.filter(({ path }) => path !== here)
  return (
    <Panel title="Worktrees" of={others.length}>
      <ul class="names spaced">
        {others.map(({ path, branch, head = '', locked, prunable }) => (
          <li key={path}>
            <Link to={{ view: 'project', path }}>{visible(shortPath(path))}</Link>{' '}
            <code>{branch ? visible(branch) : head.slice(0, 8)}</code>{' '}
            {locked && <span class="chip">locked</span>} {prunable && <span class="chip">gone</span>}
            <br />
            <span class="faint">{visible(path)}</span>
            {!prunable && (
              <>
                {' · '}
                <Link to={{ view: 'new', repo: path }}>New task</Link>
              </>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const shownDocs = 12

/** The documents, and which sessions read them. */
function Documents({ repo, hasClaudeMd }: { repo: string; hasClaudeMd: boolean }) {
  const known = useLive('project.docs', { repo })
  const [all, setAll] = useState(false)
  const docs = (known.data?.docs ?? []).toSorted((a, b) => rank(a.path) - rank(b.path))
  const shown = all ? docs : docs.slice(0, shownDocs)
  return (
    <Panel title="Documents" of={known.data && docs.length}>
      {known.error && <Problem text={known.error} retry={known.reload} />}
      <ul class="names">
        {shown.map(({ path }) => (
          <li key={path}>
            <Link to={{ view: 'project', path: repo, doc: path }}>{visible(path)}</Link>{' '}
            <span class="faint">{aboutDoc(path)}</span>
          </li>
        ))}
      </ul>
      {docs.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show {docs.length - shown.length} more
        </button>
      )}
      {!hasClaudeMd && (
        <p class="faint">
          There is no <code>CLAUDE.md</code>: sessions start without project instructions.
        </p>
      )}
    </Panel>
  )
}

const knownDocs: Array<[name: RegExp, about: string]> = [
  [/(^|\/)CLAUDE\.md$/, 'every session reads it first'],
  [/^readme(\.\w+)?$/i, 'what this is'],
  [/^todo(\.\w+)?$/i, 'what is still to be done'],
  [/^\.specs\//, 'a specification'],
]

function aboutDoc(path: string): string {
  return knownDocs.find(([name]) => name.test(path))?.[1] ?? ''
}

/** The most important files first; the others keep their order. */
function rank(path: string): number {
  const place = knownDocs.findIndex(([name]) => name.test(path))
  return place === -1 ? knownDocs.length : place
}

interface CommitsProps {
  commits: ProjectStatus['git']['recentCommits']
  repo: string
}

function Commits({ commits, repo }: CommitsProps) {
  return (
    <Panel title="Recent commits">
      <ul class="names spaced">
        {commits.map((commit) => (
          <li key={commit.sha}>
            <Link to={{ view: 'why', repo, target: commit.sha }} title="Which sessions wrote it">
              {visible(commit.message)}
            </Link>
            <br />
            <span class="faint">
              <code>{commit.sha.slice(0, 8)}</code> · {visible(commit.author)} ·{' '}
              {ago(Date.parse(commit.date))}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface PanelProps {
  title: string
  /** The number of items. */
  of?: number
  children: ComponentChildren
}

function Panel({ title, of, children }: PanelProps) {
  return (
    <section class="panel" aria-label={title}>
      <h2>
        {title} {of !== undefined && <span class="faint">{of}</span>}
      </h2>
      {children}
    </section>
  )
}

function Names({ title, names }: { title: string; names: string[] }) {
  if (names.length === 0) return null
  return (
    <>
      <h3>
        {title} <span class="faint">{names.length}</span>
      </h3>
      <ul class="names">
        {names.slice(0, 40).map((name, i) => (
          <li key={`${name}${i}`}>{visible(name)}</li>
        ))}
        {names.length > 40 && <li class="faint">and {names.length - 40} more</li>}
      </ul>
    </>
  )
}
