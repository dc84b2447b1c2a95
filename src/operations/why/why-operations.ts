// `rockpool why`: which session wrote a line, a file, a commit or a pull request, for which prompt, and how certain that is; and the
// reverse: what of a session's lines is still there.
import { z } from 'zod'
import {
  commitAnswer,
  fileAnswer,
  lineAnswer,
  pullRequestAnswer,
  sessionLines,
} from '../../domain/why-answers.ts'
import { annotate } from '../../why/annotate.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import { repoOf } from '../cc/asked-repository.ts'
import { flag, sessionField } from '../input-fields.ts'
import { operation, type Caller } from '../operation.ts'
import { explain, livingLines, type Access } from './explain.ts'

const extras = {
  markdown: z.string().optional().describe('With annotate: a block for a pull request.'),
  note: z.string().optional().describe('Which sessions could not be searched, and what to do about it.'),
}

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
    text: flag('Of a file: show each line beside its session.'),
    annotate: flag('Print a Markdown block for a pull request.'),
    withPrompts: flag('With prompts and titles in that block; they are private.'),
  }),
  output: z.discriminatedUnion('kind', [
    lineAnswer.unwrap().extend(extras),
    commitAnswer.unwrap().extend(extras),
    pullRequestAnswer.unwrap().extend(extras),
    fileAnswer.unwrap().extend(extras),
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
    const folder = await repoOf(app, repo, caller)
    const answer = await explain(app, { target, pr, folder, text }, accessOf(app, caller))
    return isAnnotated ? { ...answer, markdown: annotate(answer, withPrompts) } : answer
  },
})

const ofSession = operation({
  name: 'why.session',
  description: 'List the commits and the lines of a session that are still in HEAD.',
  input: z.strictObject({ id: sessionField() }),
  output: sessionLines,
  scope: 'read',
  isCostly: true,
  heavyParts: ['discovery'],
  command: { positional: ['id'], examples: ['rockpool why session 3f2a'] },
  async run(app, { id }, caller) {
    const { ownOrKept } = await import('../cc/cc.ts')
    return livingLines(app, await ownOrKept(app, id, caller), accessOf(app, caller).mayRead)
  },
})

/** An agent learns only about its own sessions, and only in folders that are open to it. */
function accessOf(app: App, caller: Caller): Access {
  const { agentId } = caller
  if (agentId === undefined) return { mayRead: () => true }
  return {
    mayRead: (session) => mayReadSession(session, agentId),
    checkRepository: async (root) => void (await repoOf(app, root, caller)),
  }
}

export const operations = [ask, ofSession]
