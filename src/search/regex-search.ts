// Searches the texts of passages by a regular expression, the newest first. If every match must have some letters, only the passages
// that have them are read, as far as substrings are indexed.
import { createContext, Script, type Context } from 'node:vm'
import { isRecord } from '../domain/json.ts'
import type { SearchAnswer, SearchFilter, SearchHit } from '../domain/search.ts'
import { hitOf, isCopy, isOwnMessage, isSameMessage, placeOf, snippetOf } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'
import { LinePatterns } from './line-patterns.ts'
import { PassageReader, type LineText } from './passages.ts'
import { lettersNeededBy, mostStepsOf } from './regex-letters.ts'
import type { SearchIndex } from './search-index.ts'
import { UnindexedTools, type FoundText } from './unindexed-tools.ts'

type ToolText = FoundText['passage']

export interface RegexQuestion {
  pattern: string
  filter: SearchFilter
  /** Search the tool texts that are not indexed, for at most this time, instead of the passages of the index. */
  unindexedMs?: number
}

export interface RegexFinding {
  hits: SearchHit[]
  searched: number
  /** All passages were searched, or enough were found, or the time was over. */
  isDone: boolean
  /** The time was over: transcripts that were changed before this time were not searched. */
  backTo?: number
}

/** The match of each text, in their order. */
export type MatchTexts = (texts: string[]) => Iterable<RegExpExecArray | null, void>

/** How many bytes of transcripts are read before an expression is tried on their texts. */
const bytesAtOnce = 64 << 10

/** How many tool texts are read before an expression is tried on them. */
const textsAtOnce = 50

/** An expression is tried in the main thread for this long before a worker thread takes over. */
const briefMs = 25

/** An expression with at most this many steps on a text ends within milliseconds. */
const quickSteps = 4_000_000

/** Searches in this thread, but only for a moment. Most expressions find enough in that time, and a thread takes longer to start. */
export class BriefRegexSearch {
  /** Several texts at once: to limit the time, node:vm starts a thread for each run. */
  readonly #script = new Script('texts.map((text) => regex.exec(text))')
  #context: Context | undefined

  /** Undefined if it takes longer. */
  search(
    index: SearchIndex,
    question: RegexQuestion,
    redact: (text: string) => string,
  ): SearchAnswer | undefined {
    const regex = new RegExp(question.pattern, 'iu')
    const stepsFor = mostStepsOf(question.pattern)
    const isQuick = (text: string): boolean => stepsFor(text.length) <= quickSteps
    const until = performance.now() + briefMs
    const matchesOf: MatchTexts = (texts) => this.#matches(regex, texts, isQuick, until)
    try {
      const hits = [...searchRegex(index, question, redact, matchesOf)].flatMap((finding) => finding.hits)
      return { total: hits.length, hits, notes: [] }
    } catch (error) {
      if (error instanceof TimeIsOver || isTimeout(error)) return undefined
      throw error
    }
  }

  /** A text on which the expression takes a bounded number of steps is tried as it is, the others under a time limit. */
  *#matches(
    regex: RegExp,
    texts: string[],
    isQuick: (text: string) => boolean,
    until: number,
  ): Generator<RegExpExecArray | null, void> {
    const limited = this.#limited(
      regex,
      texts.filter((text) => !isQuick(text)),
      until,
    )
    let at = 0
    for (const text of texts) {
      if (performance.now() >= until) throw new TimeIsOver()
      yield isQuick(text) ? regex.exec(text) : limited[at++]!
    }
  }

  #limited(regex: RegExp, texts: string[], until: number): Array<RegExpExecArray | null> {
    if (texts.length === 0) return []
    const timeout = Math.ceil(until - performance.now())
    if (timeout <= 0) throw new TimeIsOver()
    const context = (this.#context ??= createContext({}))
    Object.assign(context, { regex, texts })
    try {
      return this.#script.runInContext(context, { timeout }) as Array<RegExpExecArray | null>
    } finally {
      Object.assign(context, { regex: undefined, texts: undefined })
    }
  }
}

class TimeIsOver extends Error {}

/** The error belongs to the context: it is not an `Error` of ours. */
function isTimeout(error: unknown): boolean {
  return isRecord(error) && error['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

/** Yields matches as they are found, the newest first. */
export function* searchRegex(
  index: SearchIndex,
  question: RegexQuestion,
  redact: (text: string) => string,
  matchesOf: MatchTexts,
): Generator<RegexFinding> {
  const found = new FoundMatches(question.filter.limit ?? 20)
  // Starts the time limit: starting the thread on a busy machine must not count.
  yield { hits: [], searched: 0, isDone: false }
  let searched = 0
  const { unindexedMs = 0 } = question
  const tools = new UnindexedTools(index, redact, performance.now() + unindexedMs)
  const groups = unindexedMs > 0 ? toolTexts(index, question, tools) : indexedTexts(index, question, redact)
  for (const read of groups) {
    let at = 0
    for (const match of matchesOf(read.map(({ text }) => text))) {
      const hit = match && found.add(read[at]!, match)
      at++
      if (hit) yield { hits: [hit], searched: searched + at, isDone: found.isFull }
      if (found.isFull) return
    }
    searched += read.length
    yield { hits: [], searched, isDone: false }
  }
  yield { hits: [], searched, isDone: true, backTo: tools.backTo }
}

function* indexedTexts(
  index: SearchIndex,
  { pattern, filter }: RegexQuestion,
  redact: (text: string) => string,
): Generator<ReadPassage[]> {
  using reader = new PassageReader()
  for (const passages of readAtOnce(index.newest(filter, lettersNeededBy(pattern))))
    yield textsOf(passages, reader, redact)
}

function* toolTexts(
  index: SearchIndex,
  { pattern, filter }: RegexQuestion,
  tools: UnindexedTools,
): Generator<ReadPassage[]> {
  const patterns = LinePatterns.ofLetters(lettersNeededBy(pattern))
  let read: ReadPassage[] = []
  for (const { known, passage } of tools.texts(filter, () => patterns)) {
    const { id, text, ...place } = passage
    if (!isAllowed(index, passage, filter)) continue
    read.push({ passage: { ...place, id: 0, source: known.source }, message: { id }, text })
    if (read.length < textsAtOnce) continue
    yield read
    read = []
  }
  yield read
}

function isAllowed(index: SearchIndex, { at, text }: ToolText, filter: SearchFilter): boolean {
  const { since = 0, until = Infinity, tool } = filter
  if (at < since || at >= until) return false
  if (tool === undefined) return true
  const tokens = index.tokensOf(text)
  return index.tokensOf(tool).every((token, i) => tokens[i] === token)
}

/** Parts of each group: most texts are short, and a few long ones take as long as all of them. */
function* readAtOnce(groups: Iterable<FoundPassage[]>): Generator<FoundPassage[]> {
  for (const group of groups) {
    let part: FoundPassage[] = []
    let bytes = 0
    for (const passage of group) {
      part.push(passage)
      bytes += passage.length
      if (bytes < bytesAtOnce) continue
      yield part
      part = []
      bytes = 0
    }
    if (part.length > 0) yield part
  }
}

interface ReadPassage {
  passage: FoundPassage
  message: Pick<LineText, 'id'>
  text: string
}

/** Redacted before anything is matched: a pattern must not be a way to guess secrets. */
function textsOf(
  passages: FoundPassage[],
  reader: PassageReader,
  redact: (text: string) => string,
): ReadPassage[] {
  return passages.flatMap((passage) => {
    const message = reader.read(placeOf(passage))
    return message ? [{ passage, message, text: redact(message.text) }] : []
  })
}

/** The matches so far. A message that several transcripts have is found once. */
class FoundMatches {
  readonly #limit: number
  readonly #passages: FoundPassage[] = []
  readonly #byText = new Map<string, FoundPassage[]>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.#passages.length >= this.#limit
  }

  /** Undefined if it was found before. */
  add({ passage, message, text }: ReadPassage, match: RegExpExecArray): SearchHit | undefined {
    const same = this.#byText.get(text) ?? []
    const isKnown =
      same.some((each) => isCopy(each, passage)) ||
      this.#passages.some((each) => isSameMessage(each, passage))
    if (isKnown) return undefined
    this.#byText.set(text, [...same, passage])
    this.#passages.push(passage)
    const hit = hitOf(passage, snippetOf(text, marksOf(match)), 1 / this.#passages.length, ['regex'])
    return { ...hit, messageId: isOwnMessage(passage) ? message.id : undefined }
  }
}

function marksOf(match: RegExpExecArray): string[] {
  const line = match[0].split('\n').find((each) => each.trim() !== '')
  return line === undefined ? [] : [line.slice(0, 200)]
}
