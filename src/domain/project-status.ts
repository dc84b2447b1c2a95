// The state of a repository at one moment: what a person would look at before giving the next task.
import type { DiscoveredSession } from './discovered-session.ts'

export interface Commit {
  sha: string
  message: string
  author: string
  /** ISO 8601. */
  date: string
}

export interface Worktree {
  path: string
  head?: string
  branch?: string
  locked?: boolean
  prunable?: boolean
}

export interface GitStatus {
  /** `HEAD` when no branch is checked out, as Claude Code writes it; empty outside git. */
  currentBranch: string
  headCommitSha: string
  headCommitMessage: string
  /** Short status lines of what is changed in the working tree and not staged: `M a.ts`, `?? new.ts`. */
  uncommittedChanges: string[]
  /** Short status lines of what is staged. */
  stagedChanges: string[]
  /** Files with conflicts that wait to be resolved. */
  conflicts: string[]
  stashCount: number
  /** The last ten. */
  recentCommits: Commit[]
  upstream?: { name: string; ahead: number; behind: number }
  /** All worktrees of the repository, this one included. */
  worktrees: Worktree[]
}

export interface GithubStatus {
  openPrs: Array<{ number: number; title: string; branch: string; state: string }>
  /** Of the pull request that belongs to the current branch. */
  failingChecks: Array<{ name: string; status: string }>
}

export interface DocsStatus {
  hasClaudeMd: boolean
  hasSpecs: boolean
  specFiles: string[]
  hasTodo: boolean
  hasReadme: boolean
}

export interface ProjectStatus {
  repo: { path: string; name: string; isGitRepo: boolean }
  git: GitStatus
  /** Absent when `gh` is not installed, not logged in, or did not answer. */
  github?: GithubStatus
  sessions: {
    active: DiscoveredSession[]
    /** The last five commits, by any author. */
    recent: DiscoveredSession[]
    /** The last three of the agent that asks; for the operator, of all that have no label. */
    ownRecent: DiscoveredSession[]
  }
  docs: DocsStatus
  timestamp: string
  /** What could not be found out, in words. */
  problems: string[]
}
