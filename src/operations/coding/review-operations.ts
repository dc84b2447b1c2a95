// Review of a coding session: what it changed, committed, tested and said; and a pull request from it.
import { z } from 'zod'
import { readChanges, testRuns } from '../../coding/review.ts'
import { withoutMarker } from '../../domain/machine-text.ts'
import { cardsOf } from '../../discovery/cards.ts'
import { createPullRequest } from '../../discovery/github-status.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { afterRecovery, codingSession, findCoding, stateFields, stateOf } from './coding-row.ts'
import { editedFiles, otherSessions, reportedCommits } from './review-others.ts'
import { refuseForeignRepository } from './launch-rights.ts'
import { isElsewhere } from './which-machine.ts'

const reviewOutput = z.object({
  id: z.string(),
  name: z.string(),
  ...stateFields,
  workdir: z.string(),
  branch: z.string().optional(),
  base: z.string().optional().describe('The commit where the session began.'),
  files: z.array(
    z.object({
      path: z.string(),
      change: z.enum(['added', 'modified', 'deleted']),
      added: z.number().optional().describe('Lines; absent for a binary file.'),
      removed: z.number().optional(),
      patch: z.string().describe('A unified diff; empty for a binary or very large file.'),
      note: z.string().optional(),
      own: z
        .boolean()
        .describe(
          'The session edited it with a tool. A command of the session may have changed other files.',
        ),
    }),
  ),
  otherSessions: z
    .array(z.object({ name: z.string(), id: z.string().optional(), claudeSessionId: z.string().optional() }))
    .describe(
      'Sessions that were active in the same working tree since it began; files and commits may be theirs.',
    ),
  commits: z.array(z.object({ commit: z.string(), author: z.string(), at: z.number(), subject: z.string() })),
  tests: z
    .array(
      z.object({ command: z.string(), at: z.number(), outcome: z.enum(['passed', 'failed', 'unknown']) }),
    )
    .describe('Commands that look like tests, with their outcome.'),
  lastWords: z.string(),
  problems: z.array(z.string()).describe('Why something is missing.'),
})

const review = operation({
  name: 'coding.review',
  description:
    'Show what a session changed since it began: files with a diff, commits, tests, its last words.',
  input: z.strictObject({ session: codingSession }),
  output: reviewOutput,
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  command: { positional: ['session'], examples: ['rockpool cc review fix-login-bug'] },
  async run(app, input, caller) {
    return reviewOf(app, findCoding(app, caller, input.session), caller)
  },
})

async function reviewOf(
  app: App,
  session: CodingSession,
  caller: Caller,
): Promise<z.input<typeof reviewOutput>> {
  const { id, name, request, base, createdAt, startedAt = createdAt } = session
  if (isElsewhere(app, session))
    throw new RockpoolError('refused', `${name} works on ${session.machine}; its files are there.`, {
      hint: `Review it there, or move it: \`rockpool cc move ${shellWord(name)}\`.`,
    })
  await refuseForeignRepository(app, request.workdir, caller.agentId)
  const { tree, ...changes } = await readChanges(request.workdir, base, startedAt, app.environment.variables)
  const about = { id, name, ...stateOf(session), workdir: request.workdir, base: base?.commit }
  const place = tree === undefined ? undefined : { tree, since: startedAt }
  const others = place ? await otherSessions(app, session, place, caller) : []
  const edited = place ? await editedFiles(app, session, place) : new Set()
  return {
    ...about,
    ...changes,
    files: changes.files.map((file) => ({ ...file, own: edited.has(file.path) })),
    otherSessions: others,
    tests: await testsOf(app, session),
    lastWords: lastWordsOf(app, session),
  }
}

const readCards = 1_000

async function testsOf(
  app: App,
  { sdkSessionId, createdAt }: CodingSession,
): Promise<ReturnType<typeof testRuns>> {
  const [found] = sdkSessionId === undefined ? [] : await app.discovery().known([sdkSessionId])
  if (!found) return []
  const { cards } = await cardsOf(found.filePath, { limit: readCards })
  // A resumed conversation also has tests of earlier sessions.
  return testRuns(cards).filter(({ at }) => at === 0 || at >= createdAt)
}

const maxWords = 8_000

/** The whole last text; the row has only its first line. */
function lastWordsOf(app: App, { id, lastWords = '' }: CodingSession): string {
  const blocks = app.storage.coding.lastOutput(id, 50)
  const text = blocks.findLast((block) => block.kind === 'text')?.text ?? lastWords
  return text.slice(0, maxWords).toWellFormed()
}

const pullRequest = operation({
  name: 'coding.pr',
  description:
    'Open a pull request from the branch of a session with `gh`; its last words are the description.',
  input: z.strictObject({
    session: codingSession,
    title: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("The title; when absent the session's last commit, its title or its task."),
    body: z
      .string()
      .max(50_000)
      .optional()
      .describe('The description; what the session said last when absent.'),
    draft: z.boolean().default(false).describe('Open it as a draft.'),
  }),
  output: z.object({ url: z.string(), title: z.string(), branch: z.string() }),
  // A session that publishes its work must ask; so a caller that cannot allow that to a session cannot do it in its place.
  scope: 'approve',
  changesState: true,
  command: {
    positional: ['session'],
    examples: ['rockpool cc pr fix-login-bug', 'rockpool cc pr fix-login-bug --draft'],
  },
  async run(app, input, caller) {
    const session = findCoding(app, caller, input.session)
    const review = await reviewOf(app, session, caller)
    const { branch, lastWords, tests } = review
    if (branch === undefined)
      throw new RockpoolError('conflict', `${session.name} works on no branch.`, {
        hint: 'Make a branch for its commits: `git switch -c <name>`.',
      })
    const task = withoutMarker(session.request.prompt)
    const title =
      input.title ??
      (await lastCommit(app, session, review))?.subject ??
      session.title ??
      task.split('\n')[0]!.slice(0, 100).toWellFormed()
    const ran = tests.map(({ command, outcome }) => `- \`${command.split('\n')[0]}\`: ${outcome}`)
    const tested = ran.length === 0 ? [] : ['', 'Tests:', ...new Set(ran.slice(-10))]
    const body = input.body ?? [lastWords || task, ...tested].join('\n')
    const request = { title, body, branch, draft: input.draft }
    const url = await createPullRequest(session.request.workdir, app.environment.variables, request)
    return { url, title, branch }
  },
})

/** The newest commit of the session. Where other sessions worked in the folder, only commits that git reported to this one are. */
async function lastCommit<C extends { commit: string }>(
  app: App,
  session: CodingSession,
  { commits, otherSessions: others }: { commits: C[]; otherSessions: unknown[] },
): Promise<C | undefined> {
  const [reported] = await reportedCommits(app, session, commits)
  return reported ?? (others.length === 0 ? commits[0] : undefined)
}

export const operations = afterRecovery([review, pullRequest])
