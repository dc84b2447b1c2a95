// Decides which session wrote a line. The lines that a commit added vote for the sessions that had added the same lines to the
// same file before: lines next to the asked one count most, lines that many sessions wrote count little, closing braces nothing.
import type { Confidence, Evidence } from '../domain/why-answers.ts'
import type { FoundEdit, FoundEdits } from './find-edits.ts'
import type { AddedLine, CommitDiff } from './git-lines.ts'

export interface Verdict {
  confidence: Confidence
  /** Of the session that wrote the line; of the best guess if that is unknown. */
  edit?: FoundEdit
  evidence?: Evidence
  /** Other sessions that wrote such lines, the most probable first. */
  others: FoundEdit[]
  /** The commit changed only the form of the line; an earlier one wrote it. */
  isOnlyForm?: boolean
}

/** Clocks of two machines, and a commit in the same second. */
const slackSeconds = 90
const clearShare = 0.5
const distinctLetters = 8
/** Lines with this many letters are rarely written twice; shorter ones are evidence only for a day. */
const lastingLetters = 16
const daySeconds = 86_400
const almostEqual = 0.9

const bot =
  /\[bot\]|\b(?:dependabot|renovate|github-actions|greenkeeper|snyk-bot|semantic-release-bot|pre-commit-ci|mergify|imgbot|allcontributors|web-flow-bot|bors|homu)\b/i

/** Programs commit in their own name: no session wrote what they commit. */
export function isBot({ author, email }: Pick<CommitDiff, 'author' | 'email'>): boolean {
  return bot.test(author) || bot.test(email)
}

/** Nothing more is to be found out about the line. */
export function isCertain({ confidence, others }: Verdict): boolean {
  return confidence === 'exact' && others.length === 0
}

interface Tally {
  total: number
  bySession: Map<string, number>
}

export class Votes {
  readonly commit: CommitDiff
  readonly #edits: FoundEdits
  readonly #places: ReadonlyMap<AddedLine, number>
  #numbered: Map<string, AddedLine> | undefined
  #lines: Map<number, AddedLine[]> | undefined
  readonly #ofLine = new Map<AddedLine, FoundEdit[]>()
  readonly #sessionsOfHash = new Map<number, Set<string>>()
  readonly #hunks = new Map<number, Tally>()
  readonly #files = new Map<string, Tally>()
  readonly #whole: Tally = emptyTally()
  readonly #removedLetters = new Map<number, string>()

  constructor(commit: CommitDiff, edits: FoundEdits) {
    this.commit = commit
    this.#edits = edits
    this.#places = new Map(commit.added.map((line, i) => [line, i]))
    this.#match()
    for (const line of commit.added) this.#count(line)
  }

  /** The added line with this number; undefined if the commit does not show it. */
  line(file: string, number: number): AddedLine | undefined {
    this.#numbered ??= new Map(this.commit.added.map((line) => [`${line.line} ${line.file}`, line]))
    return this.#numbered.get(`${number} ${file}`)
  }

  /** `copies`: how often the line is in the file. */
  verdict(line: AddedLine, copies: number): Verdict {
    if (isBot(this.commit)) return { confidence: 'unknown', others: [] }
    const ranked = this.#ranked(line)
    const [best, second] = ranked
    if (!best) return this.#byNeighbours(line)
    const others = ranked.slice(1).map(({ edit }) => edit)
    const evidence = best.edit.kind === 'shell' ? 'shell' : 'edit'
    if (!this.#isClear(line, best.edit, copies))
      return { confidence: 'unknown', edit: best.edit, evidence, others }
    const isContested = second !== undefined && second.rank >= best.rank * almostEqual
    return {
      confidence: isContested || best.edit.isGone ? 'likely' : 'exact',
      edit: best.edit,
      evidence,
      others,
    }
  }

  hunkOf({ hunk }: AddedLine): AddedLine[] {
    this.#lines ??= Map.groupBy(this.commit.added, (line) => line.hunk)
    return this.#lines.get(hunk) ?? []
  }

  /** The session with most lines of a file, for a guess. */
  mostIn(file: string): FoundEdit | undefined {
    const top = topOf(this.#files.get(file))
    const edits = this.#edits.byFile.get(file) ?? []
    return edits.findLast(({ sessionId, seconds }) => sessionId === top && this.isBefore(seconds))
  }

  /** The same letters were there before the commit: it changed spaces, signs or line breaks, as a formatter does. */
  isOnlyForm({ hunk, text }: AddedLine): boolean {
    const known = this.#removedLetters.get(hunk) ?? lettersOf((this.commit.removed.get(hunk) ?? []).join(''))
    this.#removedLetters.set(hunk, known)
    return known.includes(lettersOf(text))
  }

  /** Which edits can be the source of which line: same file, same text, not after the commit. */
  #match(): void {
    const byHash = new Map<string, FoundEdit[]>()
    for (const [file, edits] of this.#edits.byFile) {
      for (const edit of edits) {
        if (!this.isBefore(edit.seconds)) continue
        for (const hash of new Set(edit.lines)) {
          const key = `${hash} ${file}`
          const known = byHash.get(key)
          if (known) known.push(edit)
          else byHash.set(key, [edit])
          const sessions = this.#sessionsOfHash.get(hash)
          if (sessions) sessions.add(edit.sessionId)
          else this.#sessionsOfHash.set(hash, new Set([edit.sessionId]))
        }
      }
    }
    for (const line of this.commit.added) {
      const found = line.hash === undefined ? undefined : byHash.get(`${line.hash} ${line.file}`)
      if (found) this.#ofLine.set(line, withoutRepeats(found))
    }
  }

  isBefore(seconds: number): boolean {
    return seconds <= this.commit.committedAt + slackSeconds
  }

  #count(line: AddedLine): void {
    if (line.hash === undefined) return
    const sessions = new Set(this.#ofLine.get(line)?.map(({ sessionId }) => sessionId))
    const weight = this.#weightOf(line.hash)
    for (const tally of [tallyIn(this.#hunks, line.hunk), tallyIn(this.#files, line.file), this.#whole]) {
      tally.total += weight
      for (const id of sessions) tally.bySession.set(id, (tally.bySession.get(id) ?? 0) + weight)
    }
  }

  #weightOf(hash: number): number {
    return 1 / Math.max(1, this.#sessionsOfHash.get(hash)?.size ?? 1)
  }

  /** Sessions that wrote this very line, the most probable first, each with its last edit that can be the source. */
  #ranked(line: AddedLine): Array<{ edit: FoundEdit; rank: number }> {
    const last = new Map<string, FoundEdit>()
    for (const edit of this.#ofLine.get(line) ?? []) {
      const known = last.get(edit.sessionId)
      // An edit after the author's date is the source only of an amended commit.
      const isLate = edit.seconds > this.commit.authoredAt + slackSeconds
      if (!known || !isLate) last.set(edit.sessionId, edit)
    }
    return [...last.values()]
      .map((edit) => ({ edit, rank: this.#rank(line, edit.sessionId) + this.#inOrder(line, edit) * 4 }))
      .sort((a, b) => (isClose(a.rank, b.rank) ? b.edit.seconds - a.edit.seconds : b.rank - a.rank))
  }

  #rank(line: AddedLine, sessionId: string): number {
    const hunk = shareOf(this.#hunks.get(line.hunk), sessionId)
    const file = shareOf(this.#files.get(line.file), sessionId)
    const isReported = this.#reporters().has(sessionId)
    return hunk * 4 + file * 2 + shareOf(this.#whole, sessionId) * 2 + (isReported ? 1 : 0)
  }

  /** How many of the lines before and after it the edit wrote next to this line: none, one or both. */
  #inOrder(line: AddedLine, { lines }: FoundEdit): number {
    const [above, below] = [this.#nextTo(line, -1)?.hash, this.#nextTo(line, 1)?.hash]
    const sides = lines.map((hash, i) =>
      hash === line.hash
        ? Number(above !== undefined && lines[i - 1] === above) +
          Number(below !== undefined && lines[i + 1] === below)
        : 0,
    )
    return Math.max(0, ...sides)
  }

  #reporters(): Set<string> {
    const reported = this.#edits.reported.get(this.commit.sha.slice(0, 7)) ?? []
    return new Set(reported.map(({ sessionId }) => sessionId))
  }

  /** A line that stands alone must be distinct: others may have written the same one. */
  #isClear({ hash, hunk, file, text }: AddedLine, edit: FoundEdit, copies: number): boolean {
    const { sessionId } = edit
    const letters = lettersOf(text).length
    // Uncommitted lines have no date.
    const isFresh = this.commit.sha === '' || this.commit.authoredAt - edit.seconds <= daySeconds
    const hasLetters = letters >= (isFresh ? distinctLetters : lastingLetters)
    const around = this.#hunks.get(hunk)!
    // A line that says little does not speak for itself.
    const own = hasLetters ? 0 : this.#weightOf(hash!)
    const isAround =
      around.total > 1 && (around.bySession.get(sessionId)! - own) / (around.total - own) >= clearShare
    const isMost = hasLetters && shareOf(this.#files.get(file), sessionId) >= clearShare
    const written = edit.lines.filter((one) => one === hash).length
    const isDistinct = hasLetters && copies <= Math.max(1, written)
    if (edit.isGone) return (isAround || isMost) && this.#linesOf(sessionId) >= 2
    return isAround || isMost || isDistinct
  }

  #linesOf(sessionId: string): number {
    return [...this.#ofLine.values()].filter((edits) => edits.some((edit) => edit.sessionId === sessionId))
      .length
  }

  /** No session is known to have written these words. A line without letters belongs to the lines around it. Any other line
   *  belongs to another author, unless the session of the lines on both sides made the commit itself. */
  #byNeighbours(line: AddedLine): Verdict {
    const [above, below] = [this.#neighbour(line, -1), this.#neighbour(line, 1)]
    const edit = above?.edit ?? below?.edit
    if (!edit) return { confidence: 'unknown', others: [] }
    const isAgreed = above?.edit?.sessionId === below?.edit?.sessionId
    const isBorder = above === undefined || below === undefined
    if (line.hash === undefined) {
      const isSure = (isAgreed || isBorder) && !edit.isGone
      return { confidence: isSure ? 'exact' : 'likely', edit, evidence: 'neighbours', others: [] }
    }
    const isOwn = isAgreed && this.#reporters().has(edit.sessionId)
    return { confidence: isOwn ? 'likely' : 'unknown', edit, evidence: 'neighbours', others: [] }
  }

  /** The edit that wrote the nearest line with letters; undefined at the border of the hunk. */
  #neighbour(line: AddedLine, step: 1 | -1): { edit: FoundEdit | undefined } | undefined {
    const other = this.#nextTo(line, step)
    return other && { edit: this.#ranked(other)[0]?.edit }
  }

  /** The nearest line with letters in the same hunk. */
  #nextTo(line: AddedLine, step: 1 | -1): AddedLine | undefined {
    const { added } = this.commit
    let at = this.#places.get(line)! + step
    while (added[at]?.hunk === line.hunk && added[at]!.hash === undefined) at += step
    return added[at]?.hunk === line.hunk ? added[at] : undefined
  }
}

/** A here-document often writes the whole file again: lines that an edit had added before are not its own. */
function withoutRepeats(edits: readonly FoundEdit[]): FoundEdit[] {
  return edits.filter(({ kind }, i) => kind !== 'shell' || i === 0)
}

/** Letters, digits and underscores: what a formatter leaves as it is. */
export function lettersOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}_]+/gu, '')
}

function isClose(a: number, b: number): boolean {
  return Math.min(a, b) >= Math.max(a, b) * almostEqual
}

function emptyTally(): Tally {
  return { total: 0, bySession: new Map() }
}

function tallyIn<Key>(tallies: Map<Key, Tally>, key: Key): Tally {
  const known = tallies.get(key) ?? emptyTally()
  tallies.set(key, known)
  return known
}

function shareOf(tally: Tally | undefined, sessionId: string): number {
  return tally && tally.total > 0 ? (tally.bySession.get(sessionId) ?? 0) / tally.total : 0
}

function topOf(tally: Tally | undefined): string | undefined {
  return [...(tally?.bySession ?? [])].sort(([, a], [, b]) => b - a)[0]?.[0]
}
