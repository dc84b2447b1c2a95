// Searches the tool texts for which the index has no room, in the transcripts themselves: the newest first, for a limited time. Files
// and lines without the letters of the words are passed over. What is left becomes a small index in memory, which is searched as the
// large one is.
import { closeSync, readSync } from 'node:fs'
import type { SearchFilter, SearchSource } from '../domain/search.ts'
import { openSource } from './index-files.ts'
import { toolTextsIn, type ToolLine } from './index-tiers.ts'
import { LinePatterns } from './line-patterns.ts'
import { parseQuery, type ParsedQuery, type QueryTerm } from './query.ts'
import { maskOfPlace, placeNamesOf, search, type RankedAnswer } from './ranked-search.ts'
import { SearchIndex, type KnownSource } from './search-index.ts'
import { timeRangeIn } from './times.ts'

type Redact = (text: string) => string

/** Which tool texts have these words, or which sessions name a file in one. */
export type ToolQuestion = { filter: SearchFilter; limitMs: number } & (
  | { find: 'words'; text: string; now: number }
  | { find: 'sessions'; file: string }
)

export interface ToolFinding {
  answer?: RankedAnswer
  sessionIds?: string[]
  /** The time was over: files that were changed before this time were not looked through. */
  backTo?: number
}

/** Files are read in parts. V8 copies texts of more than 128 kB to a place of their own, which takes four times as long. */
const chunkBytes = 120 << 10
/** The longest that a pattern matches. */
const overlapBytes = 512
/** The newest texts that have the words are ranked. */
const mostTexts = 500
/** All of a few words must be in a text, of more the rarer half. */
const fewWords = 3

export async function findInTools(
  index: SearchIndex,
  question: ToolQuestion,
  redact: Redact,
): Promise<ToolFinding> {
  const reader = new UnindexedTools(index, redact, performance.now() + question.limitMs)
  if (question.find === 'sessions') {
    const sessionIds = sessionsNaming(index, question.file, question.filter, reader)
    return { sessionIds, backTo: reader.backTo }
  }
  const { text, filter, now } = question
  const found = textsWithWords(index, timeRangeIn(text, now)?.rest ?? text, filter, reader)
  const answer = await rank(found, question, redact)
  return { answer, backTo: reader.backTo }
}

export interface FoundText {
  known: KnownSource
  passage: NonNullable<ToolLine['passage']>
}

/** Reads the transcripts whose tool texts are not indexed. */
export class UnindexedTools {
  /** When the transcript was changed that was being read when the time was over. */
  backTo: number | undefined
  readonly #index: SearchIndex
  readonly #redact: Redact
  readonly #untilMs: number
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)

  constructor(index: SearchIndex, redact: Redact, untilMs: number) {
    this.#index = index
    this.#redact = redact
    this.#untilMs = untilMs
  }

  /** The texts that may match, those of the newest file first. A source without patterns is passed over. */
  *texts(
    filter: SearchFilter,
    patternsOf: (source: SearchSource) => LinePatterns | undefined,
  ): Generator<FoundText> {
    for (const known of this.#index.withoutTools(filter)) {
      const patterns = known.mtimeMs < (filter.since ?? 0) ? undefined : patternsOf(known.source)
      if (patterns) yield* this.#textsOf(known, patterns, () => patternsOf(known.source) === undefined)
      if (this.backTo !== undefined) return
    }
  }

  *#textsOf(known: KnownSource, patterns: LinePatterns, isDone: () => boolean): Generator<FoundText> {
    const { source } = known
    const fd = openSource(source.path)
    // The file was removed since it was indexed.
    if (fd === undefined) return
    try {
      if (!this.#mayHave(fd, known, patterns)) return
      const isWanted = (line: Buffer): boolean => patterns.in(line) === patterns.all
      for (const { passage } of toolTextsIn(fd, source, known, this.#redact, isWanted)) {
        if (passage) yield { known, passage }
        if ((passage && isDone()) || this.#isOver(known)) return
      }
    } finally {
      closeSync(fd)
    }
  }

  /** Whether the file has all patterns, in any lines. One after the other: most files lack the first one. */
  #mayHave(fd: number, known: KnownSource, patterns: LinePatterns): boolean {
    for (let pattern = 1; pattern <= patterns.all; pattern <<= 1)
      if (!this.#has(fd, known, (bytes) => patterns.in(bytes, pattern) !== 0)) return false
    return true
  }

  #has(fd: number, known: KnownSource, isIn: (bytes: Buffer) => boolean): boolean {
    let held = 0
    for (let position = known.toolsBytes; ;) {
      const got = readSync(fd, this.#chunk, held, chunkBytes - held, position)
      if (got === 0 || this.#isOver(known)) return false
      position += got
      const bytes = this.#chunk.subarray(0, held + got)
      if (isIn(bytes)) return true
      held = Math.min(overlapBytes, bytes.length)
      bytes.copyWithin(0, bytes.length - held)
    }
  }

  #isOver({ mtimeMs }: KnownSource): boolean {
    if (performance.now() < this.#untilMs) return false
    this.backTo = mtimeMs
    return true
  }
}

/** The sessions with a tool text that names the file, without those of which the index knows already. */
function sessionsNaming(
  index: SearchIndex,
  file: string,
  filter: SearchFilter,
  reader: UnindexedTools,
): string[] {
  const wanted = index.tokensOf(file)
  if (wanted.length === 0) return []
  const known = new Set(index.withoutTools({ ...filter, file }).map(({ source }) => source.sessionId))
  const found = new Set<string>()
  const patterns = LinePatterns.ofWords([{ words: file }], (words) => index.tokensOf(words))
  const patternsOf = ({ sessionId }: SearchSource): LinePatterns | undefined =>
    known.has(sessionId) || found.has(sessionId) ? undefined : patterns
  for (const { known, passage } of reader.texts(filter, patternsOf)) {
    const tokens = index.tokensOf(passage.text)
    const isNamed = tokens.some((_, at) => wanted.every((token, i) => tokens[at + i] === token))
    if (isNamed) found.add(known.source.sessionId)
  }
  return [...found]
}

function textsWithWords(
  index: SearchIndex,
  text: string,
  filter: SearchFilter,
  reader: UnindexedTools,
): FoundText[] {
  const query = parseQuery(text)
  if (!query) return []
  const terms = neededTerms(index, query, filter)
  const tool = filter.tool === undefined ? [] : [{ words: filter.tool }]
  const patterns = new Map<number, LinePatterns>()
  const patternsOf = (source: SearchSource): LinePatterns => {
    // A word that names the repository is a word of every text there.
    const place = maskOfPlace(placeNamesOf(source), query)
    const needed = terms.filter((term) => ((place >> query.terms.indexOf(term)) & 1) === 0)
    const expressions = [...needed.map(({ expression }) => expression), ...tool]
    const known = patterns.get(place) ?? LinePatterns.ofWords(expressions, (words) => index.tokensOf(words))
    patterns.set(place, known)
    return known
  }
  const found: FoundText[] = []
  for (const each of reader.texts(filter, patternsOf)) if (found.push(each) >= mostTexts) break
  return found
}

/** Phrases, and the rarest of the other words, the longest of equally rare ones. */
function neededTerms(index: SearchIndex, { terms }: ParsedQuery, { agentId }: SearchFilter): QueryTerm[] {
  const expressions = terms.map(({ expression }) => expression)
  const { shares } = index.matchWords(expressions, { agentId })
  const rarest = [...terms.keys()]
    .sort((a, b) => shares[b]! - shares[a]! || terms[b]!.text.length - terms[a]!.text.length)
    .slice(0, Math.max(fewWords, Math.ceil(terms.length / 2)))
  return terms.filter(({ isPhrase }, at) => isPhrase || rarest.includes(at))
}

/** The sessions are those that the filter allows: whether they name a file is known. */
async function rank(
  texts: FoundText[],
  { text, filter, now }: Extract<ToolQuestion, { find: 'words' }>,
  redact: Redact,
): Promise<RankedAnswer> {
  const index = SearchIndex.open(':memory:')
  try {
    const additions = [...Map.groupBy(texts, ({ known }) => known)].map(([known, found]) => {
      const { source, ...state } = known
      return { source, from: undefined, state, passages: found.map(({ passage }) => passage) }
    })
    // What is indexed last is found first.
    await index.add(additions.reverse())
    return await search({ index, redact, now: () => now }, text, { ...filter, file: undefined })
  } finally {
    await index.close()
  }
}
