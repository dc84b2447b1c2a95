// Attributes lines of a file to sessions: git says which commit wrote each line, and the votes of the commit's lines say which
// session. Lines that are not committed are attributed from the edits of the working tree.
import { readForeign } from '../store/disk/foreign-file.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import { attempt } from '../domain/errors.ts'
import { join } from 'node:path'
import { hashOfLine } from '../discovery/line-hash.ts'
import { commandThatWrote } from './command-evidence.ts'
import { findEdits, findMoved, type FoundEdit, type FoundEdits } from './find-edits.ts'
import { readEdit } from './edit-record.ts'
import {
  outOfRange,
  type AddedLine,
  type BlamedLine,
  type CommitDiff,
  type Repository,
} from './repository.ts'
import { isBot, lettersOf, Votes, type Verdict } from './votes.ts'

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
}

export interface AttributeParts {
  discovery: Pick<Discovery, 'edits' | 'known'>
  repository: Repository
}

const longestFile = 4 << 20
/** Edits that are read back to compare texts, the last before the commit. */
const mostRead = 60
const fewestLetters = 10
/** For a question about so few lines, transcripts are read for commands that changed them. */
const fewLines = 20
const mostTranscripts = 4
/** Other files of a commit whose lines vote, too. */
const mostFiles = 40

/** `range`: only these lines; then all lines of their commits vote. Without a range only the lines of this file do. */
export async function attributeLines(
  parts: AttributeParts,
  file: string,
  range?: { from: number; to: number },
): Promise<AttributedFile> {
  const { repository } = parts
  const texts = textsOf(repository, file)
  if (range && range.from > texts.length) throw outOfRange(file, range.from, texts.length)
  const wanted = range && { from: range.from, to: Math.min(range.to, texts.length) }
  const blamed = await blameOf(repository, file, texts, wanted)
  const shas = [...new Set(blamed.flatMap(({ sha }) => sha ?? []))]
  const names = [...new Set([file, ...blamed.map((line) => line.file)])].filter((name) => name !== '')
  const diffs = await diffsOf(repository, shas, names, range !== undefined)
  const others = range ? [...diffs.values()].flatMap(({ added }) => added.map((line) => line.file)) : []
  const files = [...new Set([...names, ...new Set(others.slice(0, 20_000))])].slice(
    0,
    mostFiles + names.length,
  )
  const found = await findEdits(parts.discovery, repository, files, shas)
  const attribution = new Attribution(parts, found, texts, [...diffs.values()], blamed.length <= fewLines)
  if (blamed.some(({ sha }) => sha === undefined))
    attribution.add(uncommitted(file, await blameOf(repository, file, texts)))
  const lines: AttributedLine[] = []
  for (const line of blamed)
    lines.push({ ...line, commit: diffs.get(line.sha ?? ''), verdict: await attribution.of(line) })
  return { lines, edits: names.flatMap((name) => found.byFile.get(name) ?? []), texts }
}

function diffsOf(
  repository: Repository,
  shas: string[],
  files: string[],
  isWhole: boolean,
): Promise<Map<string, CommitDiff>> {
  return shas.length === 0 ? Promise.resolve(new Map()) : repository.diffs(shas, isWhole ? [] : files)
}

/** A file that git does not know has only lines that are not committed. */
async function blameOf(
  repository: Repository,
  file: string,
  texts: string[],
  range?: { from: number; to: number },
): Promise<BlamedLine[]> {
  if (texts.length === 0) return []
  const blamed = await repository.blame(file)
  const all = texts.map((text, i) => ({ line: i + 1, text, sha: undefined, file, lineInCommit: i + 1 }))
  return (blamed ?? all).slice((range?.from ?? 1) - 1, range?.to)
}

/** The lines of the file as it is in the working tree. */
function textsOf({ root }: Repository, file: string): string[] {
  const text = attempt(() => readForeign(join(root, file), longestFile).toString('utf8'), '')
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** The lines that are not committed, as if they were a commit that is made now. */
function uncommitted(file: string, blamed: BlamedLine[]): CommitDiff {
  let hunk = 0
  const added = blamed.flatMap(({ sha, line, text }, i): AddedLine[] => {
    if (sha !== undefined) return []
    if (blamed[i - 1]?.sha !== undefined) hunk++
    return [{ file, line, hunk, text, hash: hashOfLine(text) }]
  })
  const never = Number.MAX_SAFE_INTEGER
  return { sha: '', subject: '', author: '', email: '', authoredAt: never, committedAt: never, added }
}

/** Attributes the lines of commits, and of the working tree. */
export class Attribution {
  readonly #parts: AttributeParts
  readonly #found: FoundEdits
  readonly #copies = new Map<number, number>()
  readonly #votes = new Map<string, Votes>()
  /** The letters that each edit added, read when they are needed. */
  readonly #letters = new Map<FoundEdit, string>()
  #hasLookedForMoves = false
  readonly #readsTranscripts: boolean

  /** `texts`: the lines among which a distinct one is looked for. */
  constructor(
    parts: AttributeParts,
    found: FoundEdits,
    texts: readonly string[],
    diffs: readonly CommitDiff[],
    readsTranscripts = false,
  ) {
    this.#readsTranscripts = readsTranscripts
    this.#parts = parts
    this.#found = found
    for (const text of texts) {
      const hash = hashOfLine(text)
      if (hash !== undefined) this.#copies.set(hash, (this.#copies.get(hash) ?? 0) + 1)
    }
    for (const diff of diffs) this.add(diff)
  }

  add(diff: CommitDiff): void {
    this.#votes.set(diff.sha, new Votes(diff, this.#found))
  }

  async of(blamed: BlamedLine): Promise<Verdict> {
    const votes = this.#votes.get(blamed.sha ?? '')
    const [file, number] =
      blamed.sha === undefined ? [blamed.file, blamed.line] : [blamed.file, blamed.lineInCommit]
    const line = votes?.line(file, number)
    return votes && line ? this.ofAdded(votes.commit.sha, line) : { confidence: 'unknown', others: [] }
  }

  async ofAdded(sha: string, line: AddedLine): Promise<Verdict> {
    const votes = this.#votes.get(sha)!
    const verdict = votes.verdict(line, this.#copies.get(line.hash ?? 0) ?? 1)
    if (verdict.confidence !== 'unknown' || isBot(votes.commit) || line.hash === undefined) return verdict
    return (
      this.#reformatted(line, votes) ??
      (await this.#moved(line, votes)) ??
      this.#byCommand(line, votes) ??
      this.#guess(verdict, line, votes)
    )
  }

  /** A formatter leaves the letters of a line as they are, and breaks lines elsewhere. */
  #reformatted(line: AddedLine, votes: Votes): Verdict | undefined {
    const letters = lettersOf(line.text)
    if (letters.length < fewestLetters) return undefined
    const edits = (this.#found.byFile.get(line.file) ?? []).filter(({ seconds }) => votes.isBefore(seconds))
    const edit = edits.slice(-mostRead).findLast((one) => this.#lettersIn(one).includes(letters))
    return edit && { confidence: 'likely', edit, evidence: 'reformatted', others: [] }
  }

  #lettersIn(edit: FoundEdit): string {
    const known = this.#letters.get(edit)
    if (known !== undefined) return known
    const hunks = readEdit(edit)?.hunks ?? []
    const letters = hunks.map(({ added }) => lettersOf(added.join(''))).join('\n')
    this.#letters.set(edit, letters)
    return letters
  }

  /** A file that was renamed before it was committed: its edits have another name. Looked for once, because all edits are read. */
  async #moved(line: AddedLine, votes: Votes): Promise<Verdict | undefined> {
    if (this.#hasLookedForMoves || this.#found.byFile.has(line.file)) return undefined
    this.#hasLookedForMoves = true
    const hashes = votes.commit.added.flatMap((one) =>
      one.file === line.file && one.hash !== undefined ? [one.hash] : [],
    )
    const moved = await findMoved(
      this.#parts.discovery,
      this.#parts.repository,
      line.file,
      hashes.slice(0, 200),
    )
    if (moved.length === 0) return undefined
    this.#found.byFile.set(line.file, moved)
    for (const { commit } of this.#votes.values()) this.add(commit)
    const verdict = this.#votes.get(votes.commit.sha)!.verdict(line, 1)
    return verdict.confidence === 'unknown' ? undefined : { ...verdict, confidence: 'likely' }
  }

  /** Only sessions that edited the file or made the commit are read, and only for a question about few lines. */
  #byCommand(line: AddedLine, votes: Votes): Verdict | undefined {
    if (!this.#readsTranscripts || lettersOf(line.text).length < fewestLetters) return undefined
    const { commit } = votes
    const editors = (this.#found.byFile.get(line.file) ?? []).filter(({ seconds }) => votes.isBefore(seconds))
    const makers = this.#found.reported.get(commit.sha.slice(0, 7)) ?? []
    const transcripts = new Map([...editors, ...makers].map(({ path, sessionId }) => [path, sessionId]))
    for (const [path, sessionId] of [...transcripts].slice(-mostTranscripts).toReversed()) {
      const wanted = { file: line.file, text: line.text, before: commit.committedAt }
      const command = attempt(() => commandThatWrote(path, wanted))
      if (!command) continue
      const edit: FoundEdit = {
        ...command,
        file: line.file,
        kind: 'shell',
        id: 0,
        lines: [],
        sessionId,
        path,
        isGone: false,
      }
      return { confidence: 'likely', edit, evidence: 'command', others: [] }
    }
    return undefined
  }

  #guess(verdict: Verdict, { file }: AddedLine, votes: Votes): Verdict {
    if (verdict.edit) return verdict
    const edit = votes.mostIn(file)
    return edit ? { ...verdict, edit, evidence: 'neighbours' } : verdict
  }
}
