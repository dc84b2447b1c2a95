// Maps a file to the sessions that wrote its lines; and the reverse: what of a session's lines is still in HEAD.
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { EditTable } from '../discovery/edit-table.ts'
import { isInside } from '../discovery/repo-paths.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { FileAnswer, SessionLines, WhyCommit } from '../domain/why-answers.ts'
import { attributeLines, type AttributedLine } from './attribute.ts'
import { asCommit, asWhySession, readableSessions, segmentsOf, type WhyParts } from './explain-lines.ts'
import type { Repository } from './repository.ts'

/** Files of a session that are looked at, the ones with most added lines first. */
const mostFiles = 40

export async function mapFile(parts: WhyParts, file: string, withTexts: boolean): Promise<FileAnswer> {
  const { lines, texts } = await attributeLines(parts, file)
  const sessions = await readableSessions(parts, lines)
  const segments = segmentsOf(lines, sessions)
  const counts = new Map<string, number>()
  for (const { sessionId, from, to } of segments)
    if (sessionId !== undefined) counts.set(sessionId, (counts.get(sessionId) ?? 0) + to - from + 1)
  return {
    kind: 'file',
    repo: parts.repository.root,
    file,
    lines: lines.length,
    segments,
    sessions: [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([id, count]) => ({ ...asWhySession(sessions.get(id)!), lines: count })),
    commits: commitsOf(lines),
    texts: withTexts ? texts : undefined,
  }
}

export async function linesOfSession(
  parts: WhyParts,
  { sessionId }: DiscoveredSession,
): Promise<SessionLines> {
  const { discovery, repository } = parts
  const tables = (await discovery.edits()).find({ sessionId }).map(({ edits }) => new EditTable(edits))
  const files = filesIn(repository, tables)
  const looked: SessionLines['files'] = []
  const counts = new Map<string, { commit: WhyCommit; lines: number }>()
  let uncommittedLines = 0
  for (const file of files.slice(0, mostFiles)) {
    const { lines } = await attributeLines(parts, file)
    const own = lines.filter(
      ({ verdict }) => verdict.edit?.sessionId === sessionId && verdict.confidence !== 'unknown',
    )
    const sessions = await readableSessions(parts, own)
    if (own.length > 0) looked.push({ file, lines: own.length, segments: segmentsOf(own, sessions) })
    uncommittedLines += own.filter(({ commit }) => commit === undefined).length
    for (const { commit } of own) if (commit) count(counts, asCommit(commit))
  }
  for (const commit of await repository.inHead(
    tables.flatMap(({ commits }) => commits.map(({ sha }) => sha)),
  ))
    if (!counts.has(commit.sha)) counts.set(commit.sha, { commit: asCommit(commit), lines: 0 })
  const commits = [...counts.values()]
    .map(({ commit, lines }) => ({ ...commit, lines }))
    .sort((a, b) => b.at - a.at)
  return {
    sessionId,
    repo: repository.root,
    aliveLines: commits.reduce((sum, { lines }) => sum + lines, 0),
    uncommittedLines,
    commits,
    files: looked.sort((a, b) => b.lines - a.lines),
    filesLeftOut: Math.max(0, files.length - mostFiles),
  }
}

/** The files of the repository that a session edited and that exist; the one with most added lines first. */
function filesIn({ root, trees }: Repository, tables: readonly EditTable[]): string[] {
  const added = new Map<string, number>()
  for (const { file, lines } of tables.flatMap(({ edits }) => edits)) {
    // A working tree may be inside of another one.
    const tree = trees.filter((one) => isInside(file, one)).sort((a, b) => b.length - a.length)[0]
    if (tree === undefined) continue
    const path = relative(tree, file)
    if (existsSync(join(root, path))) added.set(path, (added.get(path) ?? 0) + lines.length)
  }
  return [...added].sort(([, a], [, b]) => b - a).map(([file]) => file)
}

function count(counts: Map<string, { commit: WhyCommit; lines: number }>, commit: WhyCommit): void {
  const known = counts.get(commit.sha) ?? { commit, lines: 0 }
  known.lines++
  counts.set(commit.sha, known)
}

/** The commits of these lines, the last first. */
function commitsOf(lines: readonly AttributedLine[]): WhyCommit[] {
  const bySha = new Map(
    lines.flatMap(({ commit }) => (commit ? [[commit.sha, asCommit(commit)] as const] : [])),
  )
  return [...bySha.values()].sort((a, b) => b.at - a.at)
}
