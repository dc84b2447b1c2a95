// Answers to "why is this line here": which session wrote it, for which prompt, and how certain that is.
import { z } from 'zod'
import { agentKinds } from './agent.ts'

const text = z.string()
const number = z.number()

/** `exact`: the session wrote exactly this line. `likely`: the evidence is weaker. */
const confidences = ['exact', 'likely', 'unknown'] as const
export type Confidence = (typeof confidences)[number]

/** What the answer is based on. `neighbours`: lines around it. `reformatted`: the same words with other spaces and signs.
 *  `command`: the session saw the line after one of its commands. `commit`: git reported the commit to the session. */
const evidences = ['edit', 'shell', 'neighbours', 'reformatted', 'command', 'commit'] as const
export type Evidence = (typeof evidences)[number]

const confidence = z.enum(confidences)

// The schemas are built on first use, as in discovered-session.ts.

const whySession = () =>
  z.object({
    sessionId: text,
    agentKind: z.enum(agentKinds),
    title: text,
    /** The branch that it worked on. */
    branch: text,
    costUsd: number,
  })
export type WhySession = z.infer<ReturnType<typeof whySession>>

const whyCommit = () =>
  z.object({ sha: text, subject: text, author: text, at: number.describe('When it was committed, in ms.') })
export type WhyCommit = z.infer<ReturnType<typeof whyCommit>>

/** An edit of the same lines, earlier or later. */
const pastEdit = () =>
  z.object({
    session: whySession(),
    message: text.optional(),
    at: number,
    removed: z.array(text),
    added: z.array(text),
    isGone: z.boolean().describe('Nothing of what it added is in the file now.'),
  })

const segment = () =>
  z.object({
    from: number,
    to: number,
    sha: text.optional().describe('Absent for lines that are not committed.'),
    sessionId: text.optional(),
    at: number.optional().describe('When the session wrote them, in ms.'),
    confidence,
  })
export type WhySegment = z.infer<ReturnType<typeof segment>>

export const lineAnswer = z.lazy(() =>
  z.object({
    kind: z.literal('line'),
    repo: text,
    file: text,
    line: number,
    endLine: number,
    text,
    commit: whyCommit().optional().describe('Absent for a line that is not committed.'),
    session: whySession().optional(),
    confidence,
    evidence: z.enum(evidences).optional(),
    reason: text.describe('Why the answer is what it is, in a sentence.'),
    guess: whySession().optional().describe('If the session is unknown: the best guess.'),
    subagent: text.optional().describe('The sub-agent that made the edit.'),
    message: text.optional().describe('The record of the edit in the transcript.'),
    at: number.optional(),
    prompt: text.optional(),
    promptMessage: text.optional(),
    said: text.optional().describe('What Claude said just before the edit.'),
    decisions: z.array(z.object({ kind: z.enum(['plan', 'question']), text, answer: text.optional() })),
    command: text.optional(),
    costUsd: number.optional().describe('The cost of the turn.'),
    earlier: z.array(pastEdit()).describe('Earlier edits of these lines, the last first.'),
    later: z.array(pastEdit()),
    alternatives: z.array(whySession().extend({ at: number })),
    segments: z.array(segment()),
  }),
)
export type LineAnswer = z.infer<typeof lineAnswer>

/** A session and how much of something it wrote. */
const contribution = () =>
  whySession().extend({
    lines: number,
    message: text.optional(),
    at: number,
    prompt: text.optional(),
    turnCostUsd: number.optional().describe('The cost of the turn that wrote the first of these lines.'),
  })
export type Contribution = z.infer<ReturnType<typeof contribution>>

export const commitAnswer = z.lazy(() =>
  z.object({
    kind: z.literal('commit'),
    repo: text,
    commit: whyCommit(),
    session: whySession().optional().describe('The session that wrote most of it.'),
    confidence,
    evidence: z.enum(evidences).optional(),
    reason: text,
    guess: whySession().optional(),
    lines: number,
    unknownLines: number,
    sessions: z.array(contribution()),
    files: z.array(z.object({ file: text, lines: number, sessions: z.record(text, number) })),
  }),
)
export type CommitAnswer = z.infer<typeof commitAnswer>

export const pullRequestAnswer = z.lazy(() =>
  z.object({
    kind: z.literal('pr'),
    repo: text,
    number,
    title: text,
    url: text,
    commits: z.array(
      whyCommit().extend({ sessionId: text.optional(), confidence, lines: number, unknownLines: number }),
    ),
    missing: number.describe('Commits that are not in this repository.'),
    sessions: z.array(contribution()),
    lines: number,
    unknownLines: number,
  }),
)
export type PullRequestAnswer = z.infer<typeof pullRequestAnswer>

export const fileAnswer = z.lazy(() =>
  z.object({
    kind: z.literal('file'),
    repo: text,
    file: text,
    lines: number,
    segments: z.array(segment()),
    sessions: z.array(whySession().extend({ lines: number })),
    commits: z.array(whyCommit()),
    texts: z.array(text).optional(),
  }),
)
export type FileAnswer = z.infer<typeof fileAnswer>

export const sessionLines = z.lazy(() =>
  z.object({
    sessionId: text,
    repo: text.describe('Empty if its folder is not a git repository.'),
    /** Lines that the session wrote and that are in HEAD now. */
    aliveLines: number,
    uncommittedLines: number,
    commits: z.array(whyCommit().extend({ lines: number })),
    files: z.array(z.object({ file: text, lines: number, segments: z.array(segment()) })),
    filesLeftOut: number,
  }),
)
export type SessionLines = z.infer<typeof sessionLines>
