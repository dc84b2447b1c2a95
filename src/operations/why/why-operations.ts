// `rockpool why`: which session wrote a line, a file, a commit or a pull request, for which prompt, and how certain that is; and the
// reverse: what of a session's lines is still there.
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { readPullRequest } from '../../discovery/github-status.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import {
  commitAnswer,
  fileAnswer,
  lineAnswer,
  pullRequestAnswer,
  sessionLines,
  type SessionLines,
} from '../../domain/why-answers.ts'
import { annotate } from '../../why/annotate.ts'
import { explainCommit, explainPullRequest } from '../../why/explain-commit.ts'
import { explainLines, type WhyParts } from '../../why/explain-lines.ts'
import { linesOfSession, mapFile } from '../../why/living-lines.ts'
import { Repository } from '../../why/repository.ts'
import type { App } from '../app.ts'
import { ownSession, sessionId } from '../cc/cc.ts'
import { repoOf } from '../cc/projects.ts'
import { flag } from '../input-fields.ts'
import { operation, type Caller } from '../operation.ts'

const markdown = { markdown: z.string().optional().describe('With annotate: a block for a pull request.') }

const ask = operation({
  name: 'why.ask',
  description:
    'Say which session wrote a line, a file, a commit or a pull request, what was asked, and what was tried.',
  input: z.strictObject({
    target: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe('What to explain: file:line, file:line-line, a file, or a commit.'),
    pr: z.int().min(1).optional().describe('Explain the commits of this pull request; needs gh.'),
    repo: z.string().max(4_096).optional().describe('The repository; the current directory when not given.'),
    text: flag('Of a file: also its lines.'),
    annotate: flag('Print a Markdown block for a pull request.'),
    withPrompts: flag('With prompts and titles in that block; they are private.'),
  }),
  output: z.discriminatedUnion('kind', [
    lineAnswer.unwrap().extend(markdown),
    commitAnswer.unwrap().extend(markdown),
    pullRequestAnswer.unwrap().extend(markdown),
    fileAnswer.unwrap().extend(markdown),
  ]),
  scope: 'read',
  redactOutput: true,
  largeOutput: true,
  forAgents: true,
  heavyParts: ['discovery'],
  command: {
    positional: ['target'],
    paths: ['repo'],
    currentDirectory: 'repo',
    examples: [
      'rockpool why src/login.ts:42',
      'rockpool why src/login.ts:10-20 --json',
      'rockpool why src/login.ts',
      'rockpool why 3f2a0b1c',
      'rockpool why --pr 17 --annotate',
    ],
  },
  async run(app, { target, pr, repo, text, annotate: isAnnotated, withPrompts }, caller) {
    const folder = repoOf(app, repo, caller)
    const answer = await explain(app, { target, pr, folder, text }, caller)
    return isAnnotated ? { ...answer, markdown: annotate(answer, withPrompts) } : answer
  },
})

interface Question {
  target?: string
  pr?: number
  folder: string
  text: boolean
}

async function explain(app: App, { target, pr, folder, text }: Question, caller: Caller) {
  if ((target === undefined) === (pr === undefined))
    throw new RockpoolError('usage', 'Name a file, file:line or a commit, or a pull request with --pr.', {
      hint: 'For example: `rockpool why src/login.ts:42`.',
    })
  if (pr !== undefined) {
    const parts = await partsFor(app, folder, caller)
    return explainPullRequest(
      parts,
      await readPullRequest(parts.repository.root, app.environment.variables, pr),
    )
  }
  const place = placeIn(target!, folder)
  const parts = await partsFor(app, place?.path ?? folder, caller)
  if (!place) return explainCommit(parts, target!)
  const file = parts.repository.relativePath(place.path)
  if (file === undefined)
    throw new RockpoolError('not-found', `${place.path} is not in ${parts.repository.root}.`)
  return place.lines ? explainLines(parts, { file, ...place.lines }) : mapFile(parts, file, text)
}

interface FilePlace {
  path: string
  lines?: { from: number; to: number }
}

/** The file and lines that a target names; undefined if it can only be a commit. */
function placeIn(target: string, folder: string): FilePlace | undefined {
  const whole = resolve(folder, target)
  if (existsSync(whole)) {
    if (statSync(whole).isFile()) return { path: whole }
    throw new RockpoolError('input-invalid', `${whole} is not a file.`, { hint: 'Name a file in it.' })
  }
  const lines = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/.exec(target)
  if (!lines) return undefined
  const path = resolve(folder, lines[1]!)
  const [from, to] = [Number(lines[2]), Number(lines[3] ?? lines[2])]
  if (!existsSync(path))
    throw new RockpoolError('not-found', `There is no file ${path}.`, {
      hint: 'Name it from the current directory.',
    })
  if (from < 1 || to < from)
    throw new RockpoolError('input-invalid', `${from}-${to} is not a range of lines.`, {
      hint: 'Lines are counted from 1, and the first one comes first.',
    })
  return { path, lines: { from, to } }
}

const ofSession = operation({
  name: 'why.session',
  description: 'List the commits and the lines of a session that are still in HEAD.',
  input: z.strictObject({ id: sessionId }),
  output: sessionLines,
  scope: 'read',
  heavyParts: ['discovery'],
  command: { positional: ['id'], examples: ['rockpool why session 3f2a'] },
  async run(app, { id }, caller) {
    return livingLines(app, await ownSession(app, id, caller), caller)
  },
})

/** Nothing for a session whose folder is gone or is not in a repository. */
export async function livingLines(
  app: App,
  session: DiscoveredSession,
  caller: Caller,
): Promise<SessionLines> {
  const { sessionId: id, repoPath } = session
  const nothing = {
    sessionId: id,
    repo: '',
    aliveLines: 0,
    uncommittedLines: 0,
    commits: [],
    files: [],
    filesLeftOut: 0,
  }
  if (!existsSync(repoPath)) return nothing
  const repository = await Repository.open(repoPath, app.environment.variables).catch(() => undefined)
  return repository ? linesOfSession(partsIn(app, repository, caller), session) : nothing
}

/** An agent learns only about its own sessions and its own folders. */
async function partsFor(app: App, path: string, caller: Caller): Promise<WhyParts> {
  const repository = await Repository.open(path, app.environment.variables)
  if (caller.agentId !== undefined) repoOf(app, repository.root, caller)
  return partsIn(app, repository, caller)
}

function partsIn(app: App, repository: Repository, caller: Caller): WhyParts {
  const mayRead = ({ agentId }: DiscoveredSession): boolean =>
    caller.agentId === undefined || agentId === caller.agentId
  return { discovery: app.discovery(), repository, mayRead }
}

export const operations = [ask, ofSession]
