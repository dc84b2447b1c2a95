// The state of a project, for a person or an agent before the next task.
import { z } from 'zod'
import type { Discovery } from '../../domain/discovered-session.ts'
import { projectStatus } from '../../domain/project-status.ts'
import { listDocs, readDoc } from '../../discovery/project-docs.ts'
import { gatherProjectStatus } from '../../discovery/project-status.ts'
import { visibleTo } from '../perform-operation.ts'
import { operation } from '../operation.ts'
import { repoOf } from './asked-repository.ts'

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
      return { docs: await listDocs(await repoOf(app, input.repo, caller)) }
    },
  }),
  operation({
    name: 'project.doc',
    description: 'Read a document of a project, at most its first 256 KB.',
    input: z.strictObject({
      path: z.string().min(1).max(1_000).describe('Its path in the repository: docs/config.md.'),
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
      return readDoc(await repoOf(app, input.repo, caller), input.path)
    },
  }),
  operation({
    name: 'project.status',
    description: 'Show the state of a project: git, pull requests, sessions, documents.',
    input: z.strictObject({
      repo: repository,
      agent: z.string().optional().describe('The agent whose sessions are its own.'),
      github: z.boolean().default(true).describe('Ask gh about pull requests and checks.'),
    }),
    output: projectStatus,
    scope: 'read',
    isCostly: true,
    command: {
      positional: ['repo'],
      paths: ['repo'],
      currentDirectory: 'repo',
      examples: ['rockpool project status', 'rockpool project status --repo ~/code/shop --json'],
    },
    async run(app, input, caller) {
      const list: Discovery['list'] = (filter) =>
        app.discovery().list({ agentKind: 'all', ...filter, ...visibleTo(caller, undefined) })
      const sources = { discovery: { list }, variables: app.environment.variables, clock: app.clock }
      const agentId = caller.agentId ?? input.agent
      const status = await gatherProjectStatus(sources, await repoOf(app, input.repo, caller), agentId, {
        github: input.github,
      })
      return JSON.parse(JSON.stringify(status)) as z.input<typeof projectStatus>
    },
  }),
]
