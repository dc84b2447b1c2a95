// Attributes lines of a file to sessions: git says which commit wrote each line, and the commit's lines say which session
// (attribution.ts). Lines that are not committed are attributed from the edits of the working tree.
import { join } from 'node:path'
import { hashOfLine } from '../discovery/line-hash.ts'
import { attempt } from '../domain/errors.ts'
import { readForeign } from '../store/disk/foreign-file.ts'
import { Attribution, type AttributeParts, type Effort } from './attribution.ts'
import { findEdits, type FoundEdit, type FoundEdits } from './find-edits.ts'
import type { AddedLine, BlamedLine, CommitDiff, LineRange } from './git-lines.ts'
import { outOfRange, type BlameOptions, type Repository } from './repository.ts'
import { isCertain, type Verdict } from './votes.ts'

export interface AttributedLine extends BlamedLine {
  commit: CommitDiff | undefined
  verdict: Verdict
}

export interface AttributedFile {
  lines: AttributedLine[]
  /** All edits of the file under its names, for the history of the lines. */
  edits: FoundEdit[]
  /** All lines of the file as it is now. */
  texts: string[]
  found: FoundEdits
}

const longestFile = 32 << 20
/** For a question about at most this many lines, transcripts are read for commands that changed them. */
const fewLines = 20
/** Other files of a commit whose lines vote, too. */
const mostFiles = 40

/** `range`: only these lines. */
export async function attributeLines(
  parts: AttributeParts,
  file: string,
  range?: LineRange,
): Promise<AttributedFile> {
  const { repository } = parts
  const texts = textsOf(repository, file)
  if (range && range.from > texts.length) throw outOfRange(file, range.from, texts.length)
  const wanted = range && { from: range.from, to: Math.min(range.to, texts.length) }
  // The index is read while git runs.
  const blaming = blameOf(repository, file, texts, { range: wanted, withCopies: !range })
  const [blamed] = await Promise.all([blaming, parts.discovery.edits()])
  if (!range) return attribute(parts, { file, texts, blamed, effort: 'edits', votes: 'file' })
  // Whole commits and transcripts take long to read, and most lines have one clear source.
  const first = await attribute(parts, { file, texts, blamed, effort: 'matches', votes: 'file' })
  if (first.lines.every(({ verdict }) => isCertain(verdict))) return first
  const origins = (await haveMoved(repository, first.lines))
    ? await blameOf(repository, file, texts, { range: wanted, withCopies: true })
    : blamed
  const isContested = first.lines.some(({ verdict }) => verdict.edit !== undefined && !isCertain(verdict))
  const effort = blamed.length <= fewLines ? 'transcripts' : 'edits'
  const votes = isContested ? 'commit' : 'file'
  const found = isContested || origins !== blamed ? undefined : first.found
  return attribute(parts, { file, texts, blamed: origins, effort, votes, found })
}

/** Whether a commit removed an unclear line at another place: then an earlier commit wrote it, maybe in another file. */
async function haveMoved(repository: Repository, lines: readonly AttributedLine[]): Promise<boolean> {
  const unclear = lines.filter(({ verdict, commit }) => !isCertain(verdict) && commit && !commit.isFirst)
  const diffs = await repository.diffs([...new Set(unclear.flatMap(({ sha }) => sha ?? []))])
  return unclear.some(({ sha, text }) => {
    const removed = [...(diffs.get(sha!)?.removed.values() ?? [])].flat()
    return removed.some((one) => one.trim() === text.trim())
  })
}

interface Question extends Pick<AttributedFile, 'texts'> {
  file: string
  blamed: BlamedLine[]
  effort: Effort
  /** Whether only the lines of this file vote, or all lines of the commits. */
  votes: 'file' | 'commit'
  /** The edits of these lines, if they are known from an earlier look. */
  found?: FoundEdits
  /** Commits that are passed over because they changed only the form of lines. */
  formatters?: readonly string[]
}

async function attribute(parts: AttributeParts, question: Question): Promise<AttributedFile> {
  const { repository } = parts
  const { file, texts, blamed, effort, votes } = question
  const shas = [...new Set(blamed.flatMap(({ sha }) => sha ?? []))]
  const names = [...new Set([file, ...blamed.map((line) => line.file)])].filter((name) => name !== '')
  const diffs = await repository.diffs(shas, votes === 'file' ? names : [])
  const others = [...diffs.values()].flatMap(({ added }) => added.map((line) => line.file))
  const files = [...new Set([...names, ...others])].slice(0, mostFiles + names.length)
  const found = question.found ?? (await findEdits(parts.discovery, repository, files, shas))
  const attribution = new Attribution(parts, { found, texts, effort })
  for (const diff of diffs.values()) attribution.add(diff)
  if (blamed.some(({ sha }) => sha === undefined)) attribution.add(await uncommitted(repository, file, texts))
  const lines: AttributedLine[] = []
  for (const line of blamed)
    lines.push({ ...line, commit: diffs.get(line.sha ?? ''), verdict: await attribution.of(line) })
  const edits = names.flatMap((name) => found.byFile.get(name) ?? [])
  return behindFormatters(parts, question, { lines, edits, texts, found })
}

/** Commits that are passed over, one after the other. */
const mostFormatters = 4

/** A commit that changed only the form of a line did not write it, so this looks for the earlier commit that wrote the words. */
async function behindFormatters(
  parts: AttributeParts,
  question: Question,
  attributed: AttributedFile,
): Promise<AttributedFile> {
  const { file, formatters = [] } = question
  const { lines } = attributed
  const formed = lines.filter(({ verdict }) => verdict.isOnlyForm)
  if (formed.length === 0 || formatters.length >= mostFormatters) return attributed
  const ignored = [...new Set([...formatters, ...formed.flatMap(({ sha }) => sha ?? [])])]
  const range = { from: lines[0]!.line, to: lines.at(-1)!.line }
  const wanted = new Map(formed.map(({ line, sha }) => [line, sha]))
  const again = (await parts.repository.blame(file, { range, formatters: ignored, withCopies: true })) ?? []
  const blamed = again.filter(({ line, sha }) => wanted.has(line) && wanted.get(line) !== sha)
  if (blamed.length === 0) return attributed
  const before = await attribute(parts, { ...question, blamed, found: undefined, formatters: ignored })
  const byLine = new Map(before.lines.map((line) => [line.line, asReformatted(line)]))
  return {
    ...attributed,
    lines: lines.map((line) => byLine.get(line.line) ?? line),
    edits: [...new Set([...attributed.edits, ...before.edits])].sort((a, b) => a.seconds - b.seconds),
  }
}

function asReformatted(line: AttributedLine): AttributedLine {
  const { confidence } = line.verdict
  return confidence === 'unknown'
    ? line
    : { ...line, verdict: { ...line.verdict, confidence: 'likely', evidence: 'reformatted' } }
}

/** A file that git does not know has only lines that are not committed. */
async function blameOf(
  repository: Repository,
  file: string,
  texts: string[],
  options: BlameOptions,
): Promise<BlamedLine[]> {
  const { range } = options
  if (texts.length === 0) return []
  const all = texts.map((text, i) => ({ line: i + 1, text, sha: undefined, file, lineInCommit: i + 1 }))
  return (await repository.blame(file, options)) ?? all.slice((range?.from ?? 1) - 1, range?.to)
}

/** The lines of the file as it is in the working tree. None of a link: it may lead out of the repository. */
function textsOf({ root }: Repository, file: string): string[] {
  const options = { noLink: true }
  const text = attempt(() => readForeign(join(root, file), longestFile, options).toString('utf8'), '')
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** The lines that are not committed, as if they were a commit that is made now. */
async function uncommitted(
  repository: Repository,
  file: string,
  texts: readonly string[],
): Promise<CommitDiff> {
  const changes = await repository.uncommitted(file)
  const all = texts.map((text, i): AddedLine => ({
    file,
    line: i + 1,
    hunk: 1,
    text,
    hash: hashOfLine(text),
  }))
  const never = Number.MAX_SAFE_INTEGER
  return {
    sha: '',
    isFirst: false,
    subject: '',
    author: '',
    email: '',
    authoredAt: never,
    committedAt: never,
    // Git shows no difference for a file that it does not know.
    ...(changes && changes.added.length > 0 ? changes : { added: all, removed: new Map() }),
  }
}
