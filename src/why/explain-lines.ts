// The answer for a line or some lines of a file: the session that wrote them, and the conversation around the edit.
import { hashOfLine } from '../discovery/line-hash.ts'
import { subagentIdIn } from '../discovery/list-files.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { titleText } from '../domain/machine-text.ts'
import type { LineAnswer, WhyCommit, WhySegment, WhySession } from '../domain/why-answers.ts'
import { attributeLines, type AttributedFile, type AttributedLine } from './attribute.ts'
import type { EditReader } from './edit-reader.ts'
import type { FoundEdit } from './find-edits.ts'
import { historyOf, type PastEdit } from './line-history.ts'
import type { CommitInfo } from './git-lines.ts'
import type { Repository } from './repository.ts'
import { isBot } from './votes.ts'

export interface WhyParts {
  discovery: Pick<Discovery, 'edits' | 'known'>
  repository: Repository
  reader: EditReader
  /** Prompts are private: the answer contains nothing about sessions that the caller may not read. */
  mayRead: (session: DiscoveredSession) => boolean
}

interface WantedLines {
  file: string
  from: number
  to: number
}

export async function explainLines(parts: WhyParts, { file, from, to }: WantedLines): Promise<LineAnswer> {
  const attributed = await attributeLines(parts, file, { from, to })
  const { lines } = attributed
  const sessions = await readableSessions(parts, lines)
  const source = mostProbable(lines, sessions)
  const { verdict, commit } = source
  const session = verdict.edit && sessions.get(verdict.edit.sessionId)
  const isKnown = session !== undefined && verdict.confidence !== 'unknown'
  const texts = lines.map(({ text }) => text)
  return {
    kind: 'line',
    repo: parts.repository.root,
    file,
    line: lines[0]!.line,
    endLine: lines.at(-1)!.line,
    text: texts.join('\n'),
    commit: commit && asCommit(commit),
    session: isKnown ? asWhySession(session) : undefined,
    confidence: isKnown ? verdict.confidence : 'unknown',
    evidence: isKnown ? verdict.evidence : undefined,
    reason:
      (isKnown ? reasonFor(source, lines) : reasonUnknown(source, lines)) +
      parts.repository.noteOn(source.sha),
    guess: isKnown || !session ? undefined : asWhySession(session),
    ...(isKnown ? await aroundEdit(parts, session, verdict.edit!) : { decisions: [] }),
    ...(isKnown ? await pastOf(parts, attributed, verdict.edit!, texts) : { earlier: [], later: [] }),
    alternatives: verdict.others.flatMap(({ sessionId, seconds }) => {
      const other = sessions.get(sessionId)
      return other && other !== session ? [{ ...asWhySession(other), at: seconds * 1_000 }] : []
    }),
    segments: segmentsOf(lines, sessions),
  }
}

/** The sessions of all verdicts that the caller may read. */
export async function readableSessions(
  { discovery, mayRead }: Pick<WhyParts, 'discovery' | 'mayRead'>,
  lines: readonly AttributedLine[],
): Promise<Map<string, DiscoveredSession>> {
  const ids = lines.flatMap(({ verdict: { edit, others } }) =>
    [edit, ...others].flatMap((one) => one?.sessionId ?? []),
  )
  const known = await discovery.known(new Set(ids))
  return new Map(known.filter(mayRead).map((session) => [session.sessionId, session]))
}

/** Of several lines: the best line of the session that wrote most of them. */
function mostProbable(
  lines: readonly AttributedLine[],
  sessions: ReadonlyMap<string, unknown>,
): AttributedLine {
  const points = { exact: 100, likely: 10, unknown: 0 }
  const pointsOf = ({ verdict: { confidence, edit } }: AttributedLine): number =>
    edit && sessions.has(edit.sessionId) ? points[confidence] + 1 : 0
  const total = new Map<string | undefined, number>()
  for (const line of lines) {
    const id = line.verdict.edit?.sessionId
    total.set(id, (total.get(id) ?? 0) + pointsOf(line))
  }
  const rank = (line: AttributedLine): number =>
    total.get(line.verdict.edit?.sessionId)! * 1_000 + pointsOf(line)
  return lines.toSorted((a, b) => rank(b) - rank(a))[0]!
}

async function aroundEdit(
  { reader }: WhyParts,
  session: DiscoveredSession,
  edit: FoundEdit,
): Promise<
  Pick<
    LineAnswer,
    'subagent' | 'message' | 'at' | 'prompt' | 'promptMessage' | 'said' | 'decisions' | 'command' | 'costUsd'
  >
> {
  const record = await reader.read(edit)
  const { prompt, said, decisions, command, costUsd } = await reader.story(edit)
  const at = edit.seconds * 1_000
  const isOwn = edit.agentKind !== 'claude' || edit.path === session.filePath
  const asked = isOwn ? prompt : await reader.promptAt(session, at)
  return {
    subagent: isOwn ? undefined : subagentIdIn(edit.path),
    message: record?.uuid,
    at,
    prompt: (asked ?? prompt)?.text,
    promptMessage: (asked ?? prompt)?.uuid,
    said,
    decisions,
    command,
    costUsd,
  }
}

async function pastOf(
  { discovery, reader, mayRead }: WhyParts,
  { edits, texts }: AttributedFile,
  source: FoundEdit,
  asked: readonly string[],
): Promise<Pick<LineAnswer, 'earlier' | 'later'>> {
  const alive = new Set(texts.flatMap((text) => hashOfLine(text) ?? []))
  const isAlive = (hash: number): boolean => alive.has(hash)
  const { earlier, later } = await historyOf(reader, source, { edits, texts: asked, isAlive })
  const ids = [...earlier, ...later].map(({ edit }) => edit.sessionId)
  const sessions = new Map(
    (await discovery.known(new Set(ids))).filter(mayRead).map((one) => [one.sessionId, one]),
  )
  const readable = (past: PastEdit): LineAnswer['earlier'] => {
    const session = sessions.get(past.edit.sessionId)
    if (!session) return []
    const { message, removed, added, isGone, edit } = past
    return [{ session: asWhySession(session), message, at: edit.seconds * 1_000, removed, added, isGone }]
  }
  return { earlier: earlier.flatMap(readable), later: later.flatMap(readable) }
}

function reasonUnknown({ commit, sha }: AttributedLine, lines: readonly AttributedLine[]): string {
  if (commit && isBot(commit)) return `${commit.author} made the commit; programs commit without a session.`
  const asked = lines.length === 1 ? 'this line' : 'any of these lines'
  return sha === undefined
    ? `Not committed, and no session is known to have written ${asked}.`
    : `No session is known to have written ${asked} before the commit.`
}

/** Of several lines: how many the session wrote, and why the best of them is thought to be its own. */
function reasonFor(source: AttributedLine, lines: readonly AttributedLine[]): string {
  const { verdict } = source
  if (lines.length === 1) return reasonOf(verdict)
  const own = lines.filter(
    (line) =>
      line.verdict.confidence !== 'unknown' && line.verdict.edit?.sessionId === verdict.edit?.sessionId,
  )
  const share = own.length === lines.length ? `All ${lines.length}` : `${own.length} of ${lines.length}`
  const clearest = `the evidence is clearest for line ${source.line}`
  return `${share} lines are of this session; ${clearest}. ${reasonOf(verdict)}`
}

function reasonOf({ evidence }: AttributedLine['verdict']): string {
  const reasons = {
    edit: 'The session added exactly this line to this file.',
    shell: 'A command of the session wrote exactly this line into this file.',
    neighbours: 'The session wrote the lines around this line in the same commit.',
    reformatted: 'The session wrote the words of this line; a formatter may have changed the rest.',
    command: 'This line was changed by a command in this session, which then saw it in the file.',
    commit: 'The session made the commit.',
  }
  return reasons[evidence ?? 'edit']
}

/** Lines next to each other that the same session wrote in the same commit. */
export function segmentsOf(
  lines: readonly AttributedLine[],
  sessions: ReadonlyMap<string, DiscoveredSession>,
): WhySegment[] {
  const segments: WhySegment[] = []
  for (const { line, sha, verdict } of lines) {
    const { edit, confidence } = verdict
    const isKnown = confidence !== 'unknown' && edit !== undefined && sessions.has(edit.sessionId)
    const sessionId = isKnown ? edit.sessionId : undefined
    const last = segments.at(-1)
    if (last && last.to === line - 1 && last.sha === sha && last.sessionId === sessionId) last.to = line
    else
      segments.push({
        from: line,
        to: line,
        sha,
        sessionId,
        at: isKnown ? edit.seconds * 1_000 : undefined,
        confidence: isKnown ? confidence : 'unknown',
      })
  }
  return segments
}

export function asWhySession(session: DiscoveredSession): WhySession {
  const { sessionId, agentKind, title, firstMessage, branch, costUsd } = session
  return { sessionId, agentKind, title: title ?? titleText(firstMessage), branch, costUsd }
}

export function asCommit({ sha, subject, author, committedAt }: CommitInfo): WhyCommit {
  return { sha, subject, author, at: committedAt * 1_000 }
}
