// The state of a project: what one looks at before giving the next task.
import { z } from 'zod'
import type { Discovery } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { listDocs, readDoc } from '../../discovery/project-docs.ts'
import { gatherProjectStatus } from '../../discovery/project-status.ts'
import type { App } from '../app.ts'
import { seenBy } from './cc-list.ts'
import { isOpenTo } from '../coding/launch-rights.ts'
import { operation } from '../operation.ts'
import { workspaceOf } from '../../store/agents.ts'
import type { Caller } from '../operation.ts'

const commit = z.object({ sha: z.string(), message: z.string(), author: z.string(), date: z.string() })
const worktree = z.object({
  path: z.string(),
  head: z.string().optional(),
  branch: z.string().optional(),
  locked: z.boolean().optional(),
  prunable: z.boolean().optional(),
})
/** A discovered session, whole; its fields are described with `cc.list`. */
const session = z.looseObject({ sessionId: z.string() })

export const projectStatus = z.object({
  repo: z.object({ path: z.string(), name: z.string(), isGitRepo: z.boolean() }),
  git: z.object({
    currentBranch: z.string(),
    headCommitSha: z.string(),
    headCommitMessage: z.string(),
    uncommittedChanges: z.array(z.string()),
    stagedChanges: z.array(z.string()),
    conflicts: z.array(z.string()),
    stashCount: z.number(),
    recentCommits: z.array(commit),
    upstream: z.object({ name: z.string(), ahead: z.number(), behind: z.number() }).optional(),
    worktrees: z.array(worktree),
  }),
  github: z
    .object({
      openPrs: z.array(
        z.object({ number: z.number(), title: z.string(), branch: z.string(), state: z.string() }),
      ),
      failingChecks: z.array(z.object({ name: z.string(), status: z.string() })),
    })
    .optional(),
  sessions: z.object({ active: z.array(session), recent: z.array(session), ownRecent: z.array(session) }),
  docs: z.object({
    hasClaudeMd: z.boolean(),
    hasSpecs: z.boolean(),
    specFiles: z.array(z.string()),
    hasTodo: z.boolean(),
    hasReadme: z.boolean(),
  }),
  timestamp: z.string(),
  problems: z.array(z.string()),
})

const repository = z.string().optional().describe('The repository; the current directory when not given.')
const doc = { path: z.string(), bytes: z.number(), changedAt: z.number() }

export const operations = [
  operation({
    name: 'project.docs',
    description: 'List the documents of a project: notes for Claude, README, specifications, pages of docs.',
    input: z.strictObject({ repo: repository }),
    output: z.object({ docs: z.array(z.object(doc)) }),
    scope: 'read',
    command: { paths: ['repo'], currentDirectory: 'repo', examples: ['rockpool project docs'] },
    async run(app, input, caller) {
      return { docs: await listDocs(repoOf(app, input.repo, caller)) }
    },
  }),
  operation({
    name: 'project.doc',
    description: 'Read a document of a project; of a very long one the first 256 KB.',
    input: z.strictObject({
      path: z.string().min(1).max(1_000).describe('Where it is in the repository: docs/config.md.'),
      repo: repository,
    }),
    output: z.object({ ...doc, text: z.string(), isCut: z.boolean() }),
    scope: 'read',
    command: {
      positional: ['path'],
      paths: ['repo'],
      currentDirectory: 'repo',
      examples: ['rockpool project doc README.md', 'rockpool project doc CLAUDE.md --repo ~/code/shop'],
    },
    async run(app, input, caller) {
      return readDoc(repoOf(app, input.repo, caller), input.path)
    },
  }),
  operation({
    name: 'project.status',
    description: 'Show the state of a project: git, pull requests, sessions, documents.',
    input: z.strictObject({
      repo: repository,
      agent: z.string().optional().describe('Whose sessions count as own.'),
      github: z.boolean().default(true).describe('Ask gh about pull requests and checks.'),
    }),
    output: projectStatus,
    scope: 'read',
    command: {
      paths: ['repo'],
      currentDirectory: 'repo',
      examples: ['rockpool project status', 'rockpool project status --repo ~/code/shop --json'],
    },
    async run(app, input, caller) {
      const list: Discovery['list'] = (filter) =>
        app.discovery().list({ ...filter, ...seenBy(caller, undefined) })
      const sources = { discovery: { list }, variables: app.environment.variables, clock: app.clock }
      const agentId = caller.agentId ?? input.agent
      const status = await gatherProjectStatus(sources, repoOf(app, input.repo, caller), agentId, {
        github: input.github,
      })
      return JSON.parse(JSON.stringify(status)) as z.input<typeof projectStatus>
    },
  }),
]

/** Which repository is meant; the gateway's own directory never is. */
export function repoOf(app: App, given: string | undefined, caller: Caller): string {
  const { agentId } = caller
  if (given !== undefined && agentId !== undefined && !isOpenTo(app, given, agentId))
    throw new RockpoolError('not-found', `There is no folder ${JSON.stringify(given)} for ${agentId}.`, {
      hint: 'An agent sees its own workspace and the repositories in coding.repos.',
    })
  if (given !== undefined) return given
  if (agentId !== undefined) return workspaceOf(app, agentId)
  throw new RockpoolError('input-invalid', 'repo is missing.', { hint: 'Give the path of the repository.' })
}
