// The answer for a commit or a pull request: which sessions wrote how many of its lines.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { CommitAnswer, Contribution, PullRequestAnswer } from '../domain/why-answers.ts'
import { Attribution } from './attribution.ts'
import type { EditReader } from './edit-reader.ts'
import { asCommit, asWhySession, type WhyParts } from './explain-lines.ts'
import { findEdits, type FoundEdit, type FoundEdits } from './find-edits.ts'
import type { CommitDiff } from './git-lines.ts'
import { isBot, type Verdict } from './votes.ts'

/** Lines of one commit that are attributed; the rest of a larger one is generated or moved. */
const mostLines = 5_000
const mostFiles = 300
const clearShare = 0.5
const leastShare = 0.2

export async function explainCommit(parts: WhyParts, name: string): Promise<CommitAnswer> {
  const sha = await parts.repository.resolve(name)
  if (sha === undefined)
    throw new RockpoolError(
      'not-found',
      `There is no file and no commit ${JSON.stringify(name)} in ${parts.repository.root}.`,
      {
        hint: 'Name a file, file:line, or a commit that `git log` shows.',
      },
    )
  const commit = (await parts.repository.diffs([sha])).get(sha)!
  const { found, own, lines } = await linesOf(parts, commit)
  const reporters = (found.reported.get(sha.slice(0, 7)) ?? []).map(({ sessionId }) => sessionId)
  const sessions = await readable(parts, [...own.map(({ edit }) => edit.sessionId), ...reporters])
  const counted = own.filter(({ edit }) => sessions.has(edit.sessionId))
  const contributions = await contributionsOf(parts.reader, counted, sessions)
  const attributed = contributions.reduce((sum, one) => sum + one.lines, 0)
  const reporter = reporters.map((id) => sessions.get(id)).find((session) => session !== undefined)
  const decision = decide(commit, contributions, lines, reporter)
  return {
    kind: 'commit',
    repo: parts.repository.root,
    commit: asCommit(commit),
    ...decision,
    reason: decision.reason + parts.repository.noteOn(sha),
    lines,
    unknownLines: lines - attributed,
    sessions: contributions,
    files: filesOf(commit, counted),
  }
}

interface OwnLine {
  file: string
  edit: FoundEdit
  verdict: Verdict
}

/** The lines of a commit whose session is known. */
async function linesOf(
  parts: WhyParts,
  commit: CommitDiff,
): Promise<{ found: FoundEdits; own: OwnLine[]; lines: number }> {
  const added = commit.added.slice(0, mostLines)
  const files = [...new Set(added.map(({ file }) => file))].slice(0, mostFiles)
  const found = await findEdits(parts.discovery, parts.repository, files, [commit.sha])
  const texts = added.map(({ text }) => text)
  const attribution = new Attribution(parts, { found, texts, effort: 'edits' })
  attribution.add(commit)
  const own: OwnLine[] = []
  for (const line of added) {
    const verdict = await attribution.ofAdded(commit.sha, line)
    if (verdict.edit && verdict.confidence !== 'unknown')
      own.push({ file: line.file, edit: verdict.edit, verdict })
  }
  return { found, own, lines: added.length }
}

async function readable(
  { discovery, mayRead }: WhyParts,
  ids: Iterable<string>,
): Promise<Map<string, DiscoveredSession>> {
  const known = await discovery.known(new Set(ids))
  return new Map(known.filter(mayRead).map((session) => [session.sessionId, session]))
}

/** The session with most lines first, each with its first edit. */
async function contributionsOf(
  reader: EditReader,
  lines: readonly OwnLine[],
  sessions: ReadonlyMap<string, DiscoveredSession>,
): Promise<Contribution[]> {
  const bySession = Map.groupBy(lines, ({ edit }) => edit.sessionId)
  const all = [...bySession].map(async ([id, own]) => {
    const first = own.map(({ edit }) => edit).sort((a, b) => a.seconds - b.seconds)[0]!
    const [record, story] = await Promise.all([reader.read(first), reader.story(first)])
    return {
      ...asWhySession(sessions.get(id)!),
      lines: own.length,
      message: record?.uuid,
      at: first.seconds * 1_000,
      prompt: story.prompt?.text,
      turnCostUsd: story.costUsd,
    }
  })
  return (await Promise.all(all)).sort((a, b) => b.lines - a.lines)
}

type Decision = Pick<CommitAnswer, 'session' | 'confidence' | 'evidence' | 'reason' | 'guess'>

function decide(
  commit: CommitDiff,
  contributions: readonly Contribution[],
  lines: number,
  reporter: DiscoveredSession | undefined,
): Decision {
  if (isBot(commit))
    return {
      confidence: 'unknown',
      reason: `${commit.author} made the commit; programs commit without a session.`,
    }
  const [first, second] = contributions
  const made = reporter && asWhySession(reporter)
  if (!first)
    return made
      ? {
          session: made,
          confidence: 'likely',
          evidence: 'commit',
          reason: 'The session made the commit, but no edit of its lines is known.',
        }
      : { confidence: 'unknown', reason: 'No session is known to have written a line of this commit.' }
  const { lines: own, message: _, at: _at, prompt: _prompt, turnCostUsd: _cost, ...session } = first
  const share = own / Math.max(1, lines)
  const isClear = share >= clearShare && own >= 2 * (second?.lines ?? 0)
  const isMade = made?.sessionId === session.sessionId
  const reason = `The session wrote ${own} of ${lines} ${lines === 1 ? 'line' : 'lines'}${isMade ? ' and made the commit' : ''}.`
  if (made && !isMade)
    return {
      session: made,
      confidence: 'likely',
      evidence: 'commit',
      reason: 'The session made the commit, but another wrote more of it.',
    }
  if (isClear || (isMade && share >= leastShare))
    return { session, confidence: 'exact', evidence: 'edit', reason }
  // The other lines may be of a person, who then wrote more than the session.
  const unknown = lines - contributions.reduce((sum, one) => sum + one.lines, 0)
  if (isMade || (own > (second?.lines ?? 0) && own >= unknown))
    return { session, confidence: 'likely', evidence: 'edit', reason }
  return { confidence: 'unknown', guess: session, reason }
}

function filesOf({ added }: CommitDiff, own: readonly OwnLine[]): CommitAnswer['files'] {
  const files = Map.groupBy(added, ({ file }) => file)
  const ownByFile = Map.groupBy(own, ({ file }) => file)
  return [...files].slice(0, mostFiles).map(([file, lines]) => {
    const bySession = Map.groupBy(ownByFile.get(file) ?? [], ({ edit }) => edit.sessionId)
    const sessions = Object.fromEntries([...bySession].map(([id, some]) => [id, some.length]))
    return { file, lines: lines.length, sessions }
  })
}

interface PullRequest {
  number: number
  title: string
  url: string
  /** Hashes, the oldest first. */
  commits: string[]
  /** The commit on the target branch, for a pull request that was merged. */
  mergeCommit?: string
}

export async function explainPullRequest(parts: WhyParts, pr: PullRequest): Promise<PullRequestAnswer> {
  const { repository } = parts
  const present = await presentCommits(parts, pr)
  if (present.length === 0)
    throw new RockpoolError('not-found', `No commit of pull request ${pr.number} is in ${repository.root}.`, {
      hint: `Fetch it first: \`git fetch origin pull/${pr.number}/head\`.`,
    })
  const answers: CommitAnswer[] = []
  for (const sha of present) answers.push(await explainCommit(parts, sha))
  const sum = (field: 'lines' | 'unknownLines'): number => answers.reduce((all, one) => all + one[field], 0)
  return {
    kind: 'pr',
    repo: repository.root,
    number: pr.number,
    title: pr.title,
    url: pr.url,
    commits: answers.map(({ commit, session, confidence, lines, unknownLines }) => {
      return { ...commit, sessionId: session?.sessionId, confidence, lines, unknownLines }
    }),
    missing: Math.max(0, pr.commits.length - present.length),
    sessions: together(answers.flatMap(({ sessions }) => sessions)),
    lines: sum('lines'),
    unknownLines: sum('unknownLines'),
  }
}

async function presentCommits(
  { repository }: WhyParts,
  { commits, mergeCommit }: PullRequest,
): Promise<string[]> {
  const resolved = await Promise.all(commits.map((sha) => repository.resolve(sha)))
  const present = resolved.filter((sha) => sha !== undefined)
  if (present.length > 0 || mergeCommit === undefined) return present
  const merged = await repository.resolve(mergeCommit)
  return merged === undefined ? [] : [merged]
}

/** Each session once, with all its lines. */
function together(contributions: readonly Contribution[]): Contribution[] {
  const bySession = Map.groupBy(contributions, ({ sessionId }) => sessionId)
  return [...bySession.values()]
    .map((own) => ({ ...own[0]!, lines: own.reduce((sum, { lines }) => sum + lines, 0) }))
    .sort((a, b) => b.lines - a.lines)
}
