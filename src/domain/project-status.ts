// The state of a repository at one moment: what a person would look at before giving the next task.
import { z } from 'zod'
import type { DiscoveredSession } from './discovered-session.ts'

const commit = z.object({
  sha: z.string(),
  message: z.string(),
  author: z.string(),
  /** ISO 8601. */
  date: z.string(),
})
export type Commit = z.infer<typeof commit>

const worktree = z.object({
  path: z.string(),
  head: z.string().optional(),
  branch: z.string().optional(),
  locked: z.boolean().optional(),
  prunable: z.boolean().optional(),
})
export type Worktree = z.infer<typeof worktree>

const gitStatus = z.object({
  /** `HEAD` when no branch is checked out, as Claude Code writes it; empty outside git. */
  currentBranch: z.string(),
  headCommitSha: z.string(),
  headCommitMessage: z.string(),
  /** Short status lines of what is changed in the working tree and not staged: `M a.ts`, `?? new.ts`. */
  uncommittedChanges: z.array(z.string()),
  /** Short status lines of what is staged. */
  stagedChanges: z.array(z.string()),
  /** Files with conflicts that wait to be resolved. */
  conflicts: z.array(z.string()),
  stashCount: z.number(),
  /** The last ten. */
  recentCommits: z.array(commit),
  upstream: z.object({ name: z.string(), ahead: z.number(), behind: z.number() }).optional(),
  /** All worktrees of the repository, this one included. */
  worktrees: z.array(worktree),
})
export type GitStatus = z.infer<typeof gitStatus>

const githubStatus = z.object({
  openPrs: z.array(
    z.object({ number: z.number(), title: z.string(), branch: z.string(), state: z.string() }),
  ),
  /** Of the pull request that belongs to the current branch. */
  failingChecks: z.array(z.object({ name: z.string(), status: z.string() })),
})
export type GithubStatus = z.infer<typeof githubStatus>

const docsStatus = z.object({
  hasClaudeMd: z.boolean(),
  hasSpecs: z.boolean(),
  specFiles: z.array(z.string()),
  hasTodo: z.boolean(),
  hasReadme: z.boolean(),
})
export type DocsStatus = z.infer<typeof docsStatus>

/** A discovered session, whole; its fields are described with `cc.list`. */
const session = z.looseObject({ sessionId: z.string() })

/** As JSON. */
export const projectStatus = z.object({
  repo: z.object({ path: z.string(), name: z.string(), isGitRepo: z.boolean() }),
  git: gitStatus,
  /** Absent when `gh` is not installed, not logged in, or did not answer. */
  github: githubStatus.optional(),
  sessions: z.object({ active: z.array(session), recent: z.array(session), ownRecent: z.array(session) }),
  docs: docsStatus,
  timestamp: z.string(),
  /** The parts that could not be read, in words. */
  problems: z.array(z.string()),
})

export interface ProjectStatus extends Omit<z.infer<typeof projectStatus>, 'sessions'> {
  sessions: {
    active: DiscoveredSession[]
    /** The last five sessions, of any agent. */
    recent: DiscoveredSession[]
    /** The last three of the agent that asks; for the operator, of all that have no label. */
    ownRecent: DiscoveredSession[]
  }
}
