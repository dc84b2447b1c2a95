// Collects the evidence for lines of commits and of the working tree: the votes of exact matches first, then what needs more reading:
// the same words in another form, a file that was renamed before it was committed, a command that changed the file.
import { hashOfLine } from '../discovery/line-hash.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import { attempt } from '../domain/errors.ts'
import { commandThatWrote, linesSeen } from './command-evidence.ts'
import type { EditReader } from './edit-reader.ts'
import { findMoved, type FoundEdit, type FoundEdits } from './find-edits.ts'
import type { AddedLine, BlamedLine, CommitDiff } from './git-lines.ts'
import type { Repository } from './repository.ts'
import { isBot, lettersOf, Votes, type Verdict } from './votes.ts'

export interface AttributeParts {
  discovery: Pick<Discovery, 'edits' | 'known'>
  repository: Repository
  reader: EditReader
}

/** How much to read: only exact matches; also the texts of edits; also whole transcripts, for commands. */
export type Effort = 'matches' | 'edits' | 'transcripts'

/** Edits that are read back to compare texts, the last before the commit. */
const mostRead = 60
const fewestLetters = 10
/** This many letters in the same order are no coincidence. */
const manyLetters = 25
const mostTranscripts = 4
/** Lines on each side among which the next ones with letters are looked for. */
const nearLines = 6

/** Nothing is known from this commit. */
const onlyForm: Verdict = { confidence: 'unknown', isOnlyForm: true, others: [] }

export class Attribution {
  readonly #parts: AttributeParts
  readonly #found: FoundEdits
  readonly #effort: Effort
  readonly #copies = new Map<number, number>()
  readonly #votes = new Map<string, Votes>()
  /** The letters that each edit added, read when they are needed. */
  readonly #letters = new Map<FoundEdit, string>()
  /** What the session of a here-document had seen of the file before. */
  readonly #seen = new Map<FoundEdit, ReadonlySet<string>>()
  #hasLookedForMoves = false

  /** `texts`: the lines among which a distinct one is looked for. */
  constructor(
    parts: AttributeParts,
    { found, texts, effort }: { found: FoundEdits; texts: readonly string[]; effort: Effort },
  ) {
    this.#parts = parts
    this.#found = found
    this.#effort = effort
    for (const text of texts) {
      const hash = hashOfLine(text)
      if (hash !== undefined) this.#copies.set(hash, (this.#copies.get(hash) ?? 0) + 1)
    }
  }

  add(diff: CommitDiff): void {
    this.#votes.set(diff.sha, new Votes(diff, this.#found))
  }

  async of(blamed: BlamedLine): Promise<Verdict> {
    const votes = this.#votes.get(blamed.sha ?? '')
    const line = votes?.line(blamed.file, blamed.sha === undefined ? blamed.line : blamed.lineInCommit)
    return votes && line ? this.ofAdded(votes.commit.sha, line) : { confidence: 'unknown', others: [] }
  }

  async ofAdded(sha: string, line: AddedLine): Promise<Verdict> {
    const votes = this.#votes.get(sha)!
    const verdict = votes.verdict(line, this.#copies.get(line.hash ?? 0) ?? 1)
    // A here-document repeats lines of the file, also those that a formatter had changed before it.
    if (verdict.evidence === 'shell' && line.hash !== undefined) {
      if (votes.isOnlyForm(line)) return onlyForm
      const earlier = await this.#reformatted(line, votes, verdict.edit!.seconds)
      if (earlier) return earlier
      if (this.#isRepeated(line, verdict.edit!)) return { ...verdict, confidence: 'unknown' }
    }
    const isEnough = this.#effort === 'matches' || line.hash === undefined || isBot(votes.commit)
    if (verdict.confidence !== 'unknown' || isEnough) return verdict
    if (votes.isOnlyForm(line)) return onlyForm
    return (
      (await this.#reformatted(line, votes)) ??
      (await this.#moved(line, votes)) ??
      (await this.#byCommand(line, votes)) ??
      this.#guess(verdict, line, votes)
    )
  }

  /** A formatter leaves the letters of a line and the order of lines as they are, and breaks lines elsewhere. */
  async #reformatted(line: AddedLine, votes: Votes, before = Infinity): Promise<Verdict | undefined> {
    const letters = lettersOf(line.text)
    const edits = this.#editsBefore(line, votes).filter(({ seconds }) => seconds < before)
    if (letters.length < fewestLetters || edits.length === 0) return undefined
    const together = lettersAround(line, votes.hunkOf(line))
    // Many files have the same short lines, and a folder that is gone may have been another repository. In both cases the edit
    // must have the line together with its neighbours.
    const isFrom = (written: string, isGone: boolean): boolean =>
      written.includes(letters) &&
      ((letters.length >= manyLetters && !isGone) || together.some((some) => written.includes(some)))
    for (const edit of edits.slice(-mostRead).toReversed())
      if (isFrom(await this.#lettersIn(edit), edit.isGone))
        return { confidence: 'likely', edit, evidence: 'reformatted', others: [] }
    return undefined
  }

  /** The session had seen the line in the file before its command wrote it. */
  #isRepeated({ file, text }: AddedLine, edit: FoundEdit): boolean {
    const seen = this.#seen.get(edit) ?? attempt(() => linesSeen(edit.path, file, edit.offset), new Set())
    this.#seen.set(edit, seen)
    return seen.has(text.trim())
  }

  #editsBefore({ file }: AddedLine, votes: Votes): FoundEdit[] {
    return (this.#found.byFile.get(file) ?? []).filter(({ seconds }) => votes.isBefore(seconds))
  }

  async #lettersIn(edit: FoundEdit): Promise<string> {
    const known = this.#letters.get(edit)
    if (known !== undefined) return known
    const hunks = (await this.#parts.reader.read(edit))?.hunks ?? []
    const letters = hunks.map(({ added }) => lettersOf(added.join(''))).join('\n')
    this.#letters.set(edit, letters)
    return letters
  }

  /** A file that was renamed before it was committed: its edits have another name. Looked for once, because all edits are read. */
  async #moved(line: AddedLine, votes: Votes): Promise<Verdict | undefined> {
    if (this.#hasLookedForMoves || this.#found.byFile.has(line.file)) return undefined
    this.#hasLookedForMoves = true
    const { discovery, repository } = this.#parts
    const added = votes.commit.added.filter(({ file, hash }) => file === line.file && hash !== undefined)
    const moved = await findMoved(discovery, repository, line, added)
    if (moved.length === 0) return undefined
    this.#found.byFile.set(line.file, moved)
    for (const { commit } of this.#votes.values()) this.add(commit)
    const verdict = this.#votes.get(votes.commit.sha)!.verdict(line, 1)
    return verdict.confidence === 'unknown' ? undefined : { ...verdict, confidence: 'likely' }
  }

  /** A command may have changed the file without showing it. */
  async #byCommand(line: AddedLine, votes: Votes): Promise<Verdict | undefined> {
    if (this.#effort !== 'transcripts' || lettersOf(line.text).length < fewestLetters) return undefined
    const { trees } = this.#parts.repository
    const wanted = { file: line.file, text: line.text, before: votes.commit.committedAt, trees }
    for (const [path, sessionId] of await this.#transcripts(line, votes)) {
      const command = attempt(() => commandThatWrote(path, wanted))
      if (!command) continue
      const place = { file: line.file, sessionId, path, agentKind: 'claude' as const, isGone: false }
      const edit: FoundEdit = { ...command, ...place, kind: 'shell', id: 0, lines: new Uint32Array() }
      return { confidence: 'likely', edit, evidence: 'command', others: [] }
    }
    return undefined
  }

  /** Of sessions that edited the file or made the commit, the last one first; then of sessions that worked here at that time. */
  async #transcripts(line: AddedLine, votes: Votes): Promise<Map<string, string>> {
    const { commit } = votes
    const makers = this.#found.reported.get(commit.sha.slice(0, 7)) ?? []
    const editors = this.#editsBefore(line, votes).filter(({ agentKind }) => agentKind === 'claude')
    const near = [...editors, ...makers].toReversed().map(({ path, sessionId }) => [path, sessionId] as const)
    const { discovery, repository } = this.#parts
    const at = commit.sha === '' ? Date.now() : commit.committedAt * 1_000
    const inUse = (await discovery.edits()).inUse(repository.trees, at, mostTranscripts)
    const here = inUse.map(({ path, sessionId }) => [path, sessionId] as const)
    return new Map([...[...new Map(near)].slice(0, mostTranscripts), ...here])
  }

  #guess(verdict: Verdict, { file }: AddedLine, votes: Votes): Verdict {
    if (verdict.edit) return verdict
    const edit = votes.mostIn(file)
    return edit ? { ...verdict, edit, evidence: 'neighbours' } : verdict
  }
}

/** The letters of a line together with those of one or two lines before or after it, as far as they are many. */
function lettersAround(line: AddedLine, hunk: readonly AddedLine[]): string[] {
  const at = line.line - hunk[0]!.line
  const lettersIn = (lines: readonly AddedLine[]): string[] =>
    lines.map(({ text }) => lettersOf(text)).filter((letters) => letters !== '')
  const before = lettersIn(hunk.slice(Math.max(0, at - nearLines), at)).slice(-2)
  const after = lettersIn(hunk.slice(at + 1, at + 1 + nearLines)).slice(0, 2)
  const [above = '', below = '', own] = [before.at(-1), after[0], lettersOf(line.text)]
  const together = [
    above + own,
    own + below,
    before.join('') + own,
    own + after.join(''),
    above + own + below,
  ]
  return together.filter((letters) => letters.length >= manyLetters && letters !== own)
}
