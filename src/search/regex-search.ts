// Searches the texts of passages by a regular expression, the newest first. If every match must have some letters, only the passages
// that have them are read, as far as substrings are indexed.
import { createContext, Script, type Context } from 'node:vm'
import { isRecord } from '../domain/json.ts'
import type { SearchAnswer, SearchFilter, SearchHit } from '../domain/search.ts'
import { hitOf, isOwnMessage, isSameMessage, placeOf, snippetOf } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'
import { readPassage } from './passages.ts'
import { trigramExpression } from './query.ts'
import type { SearchIndex } from './search-index.ts'

export interface RegexQuestion {
  pattern: string
  filter: SearchFilter
}

export interface RegexFinding {
  hits: SearchHit[]
  searched: number
  /** All passages were searched, or enough were found. */
  isDone: boolean
}

/** Passages that are read from the index at once. */
const pageSize = 200

/** An expression is tried in the main thread for this long before a worker thread takes over. */
const briefMs = 25

/** Searches in this thread, but only for a moment. Most expressions find enough in that time, and a thread takes longer to start. */
export class BriefRegexSearch {
  readonly #script = new Script('regex.exec(text)')
  #context: Context | undefined

  /** Undefined if it takes longer. */
  search(
    index: SearchIndex,
    question: RegexQuestion,
    redact: (text: string) => string,
  ): SearchAnswer | undefined {
    const context = (this.#context ??= createContext({}))
    const regex = new RegExp(question.pattern, 'iu')
    const until = performance.now() + briefMs
    const exec = (text: string): RegExpExecArray | null => {
      const timeout = Math.ceil(until - performance.now())
      if (timeout <= 0) throw new TimeIsOver()
      Object.assign(context, { regex, text })
      return this.#script.runInContext(context, { timeout }) as RegExpExecArray | null
    }
    try {
      const hits = [...searchRegex(index, question, redact, exec)].flatMap((finding) => finding.hits)
      return { total: hits.length, hits, notes: [] }
    } catch (error) {
      if (error instanceof TimeIsOver || isTimeout(error)) return undefined
      throw error
    } finally {
      Object.assign(context, { regex: undefined, text: undefined })
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
  { pattern, filter }: RegexQuestion,
  redact: (text: string) => string,
  exec: (text: string) => RegExpExecArray | null,
): Generator<RegexFinding> {
  const limit = filter.limit ?? 20
  const shown = new Set<string>()
  const found: FoundPassage[] = []
  let beforeId: number | undefined
  // Starts the time limit: starting the thread on a busy machine must not count.
  yield { hits: [], searched: 0, isDone: false }
  const literal = literalIn(pattern)
  const among = literal === undefined ? undefined : index.withPieces(trigramExpression([literal]))
  for (let searched = 0; ;) {
    const page = index.newest(filter, pageSize, beforeId, among)
    for (const passage of page) {
      searched++
      const message = readPassage(placeOf(passage))
      // Redact first: a pattern must not be a way to guess secrets.
      const text = message && redact(message.text)
      const match = text === undefined ? null : exec(text)
      if (!match || shown.has(text!) || found.some((each) => isSameMessage(each, passage))) continue
      shown.add(text!)
      found.push(passage)
      const hit = hitOf(passage, snippetOf(text!, marksOf(match)), 1 / shown.size, ['regex'])
      yield {
        hits: [{ ...hit, messageId: isOwnMessage(passage) ? message?.id : undefined }],
        searched,
        isDone: shown.size >= limit,
      }
      if (shown.size >= limit) return
    }
    yield { hits: [], searched, isDone: page.length < pageSize }
    if (page.length < pageSize) return
    beforeId = page.at(-1)!.id
  }
}

function marksOf(match: RegExpExecArray): string[] {
  const line = match[0].split('\n').find((each) => each.trim() !== '')
  return line === undefined ? [] : [line.slice(0, 200)]
}

/** An escaped letter with what belongs to it, a class of characters, a quantifier, or one character. */
const token =
  /\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<[^>]*>|c[a-zA-Z]|.)|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|./gsu

/** The longest text, of at least three characters, that every match of the expression has; undefined if it is not plain to see. */
export function literalIn(pattern: string): string | undefined {
  const literals: string[] = []
  let current = ''
  let depth = 0
  const end = (): void => {
    literals.push(current)
    current = ''
  }
  for (const [part] of pattern.matchAll(token)) {
    // What is in a group may be optional or one of several.
    if (part === '(') depth++
    if (part === '|' && depth === 0) return undefined
    const character = /^\\[^\w\s]$/.test(part) ? part.slice(1) : part
    const isPlain = part !== character || /^[\w \-:;,=<>"'`#%&@!~/]$/.test(part)
    if (depth === 0 && isPlain) current += character
    else {
      // These may ask for the character before them zero times.
      if (/^[*?{]/.test(part)) current = current.slice(0, -1)
      end()
    }
    if (part === ')') depth--
  }
  end()
  const longest = literals.reduce((best, each) => (each.length > best.length ? each : best), '')
  return longest.length >= 3 ? longest : undefined
}
