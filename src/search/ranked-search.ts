// Searches by word, by substring and by meaning, and ranks all results together.
import type { SearchAnswer, SearchFilter, SearchHit } from '../domain/search.ts'
import { fold, hitOf, isOwnMessage, placeOf, snippetOf, withoutCopies } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'
import { readPassage } from './passages.ts'
import { parseQuery, type ParsedQuery } from './query.ts'
import type { SearchIndex } from './search-index.ts'
import { errorText } from '../domain/errors.ts'

export interface SearchParts {
  index: SearchIndex
  redact: (text: string) => string
  now: () => number
  /** The passages nearest to the query in meaning, the best first; absent without a model. */
  nearest?: (text: string, filter: SearchFilter) => Promise<number[]>
  /** With this many passages that have all words, meaning is not searched: a command would have to load the vectors. */
  enough?: number
}

/** The constant of reciprocal rank fusion: the larger, the less the first ranks count over the following ones. */
const fusionConstant = 60
const candidates = 200
const enough = 10
/** The weight of a passage with only some of the words, and of one that is only near in meaning; with all words it is 1. */
const someWeight = 0.5
const meaningWeight = 0.7
/** Greater than any sum of rank scores, so that passages with all words come first. */
const allWordsBonus = 1
/** Tool texts rank after what people and agents said. */
const toolWeight = 0.6

export async function search(parts: SearchParts, text: string, filter: SearchFilter): Promise<SearchAnswer> {
  const query = parseQuery(text)
  if (!query) return { total: 0, hits: [], notes: ['The query has no word to search for.'] }
  const lists = findByText(parts.index, query, filter)
  const isEnough = (lists[0]?.passages.length ?? 0) >= (parts.enough ?? Infinity)
  const notes: string[] = []
  if (parts.nearest && !isEnough) {
    try {
      lists.push({ by: 'meaning', passages: await byMeaning(parts, text, filter), weight: meaningWeight })
    } catch (error) {
      // The embedding provider is unavailable; results by words are still valid.
      notes.push(`By word only: ${errorText(error)}`)
    }
  }
  const fused = fuse(lists, parts.now(), filter)
  const { hits, left } = toHits(parts, fused, query, filter.limit ?? 20)
  return { total: fused.length - left, hits, notes }
}

interface FoundList {
  by: SearchHit['by'][number]
  passages: FoundPassage[]
  /** How much a rank in it counts. */
  weight: number
  /** Its passages have every word of the question. */
  hasAllWords?: true
}

function findByText(index: SearchIndex, query: ParsedQuery, filter: SearchFilter): FoundList[] {
  const lists: FoundList[] = []
  const byWords = (terms: string[], joint: 'AND' | 'OR'): FoundPassage[] =>
    terms.length === 0 ? [] : index.matchWords({ terms, joint }, filter, candidates)
  const all = byWords(query.all, 'AND')
  lists.push({ by: 'words', passages: all, weight: 1, hasAllWords: true })
  // If few passages have every word, those with some of the words follow.
  if (all.length < enough && query.any.length > 0) {
    const seen = new Set(all.map(({ id }) => id))
    const some = byWords(query.any, 'OR').filter(({ id }) => !seen.has(id))
    lists.push({ by: 'words', passages: some, weight: someWeight })
  }
  if (query.pieces && (query.pieces.always || lists.every(({ passages }) => passages.length === 0))) {
    const passages = index.matchPieces(query.pieces.expression, filter, candidates)
    lists.push({ by: 'pieces', passages, weight: 1 })
  }
  return lists
}

async function byMeaning(parts: SearchParts, text: string, filter: SearchFilter): Promise<FoundPassage[]> {
  const ids = (await parts.nearest?.(text, filter)) ?? []
  const place = new Map(ids.map((id, i) => [id, i]))
  const passages = parts.index.passages(ids, filter)
  return passages.sort((a, b) => place.get(a.id)! - place.get(b.id)!)
}

interface Fused {
  passage: FoundPassage
  score: number
  by: SearchHit['by']
  hasAllWords?: true
}

/** Reciprocal rank fusion. Recent passages and those of the same project count a little more, tool texts a little less. */
function fuse(lists: FoundList[], now: number, filter: SearchFilter): Fused[] {
  const fused = new Map<number, Fused>()
  for (const { by, passages, weight, hasAllWords } of lists) {
    passages.forEach((passage, place) => {
      const entry = fused.get(passage.id) ?? { passage, score: 0, by: [] }
      entry.score += weight / (fusionConstant + place + 1)
      entry.by.push(by)
      if (hasAllWords) entry.hasAllWords = true
      fused.set(passage.id, entry)
    })
  }
  for (const { passage, ...entry } of fused.values()) {
    const weight = passage.role === 'tool' ? toolWeight : 1
    const signals = recency(passage.at, now) * nearness(passage.source.repoPath, filter.near)
    const first = entry.hasAllWords ? allWordsBonus : 0
    fused.get(passage.id)!.score = first + entry.score * weight * signals
  }
  return withoutCopies([...fused.values()])
    .sort((a, b) => b.score - a.score)
    .slice(0, Math.max(candidates, filter.limit ?? 0))
}

/** From 1.15 for now down to 1 for long ago; half of the bonus is gone after a week. */
function recency(at: number, now: number): number {
  const weeks = Math.max(0, now - at) / (7 * 86_400_000)
  return 1 + 0.15 / (1 + weeks)
}

/** 1.1 for the caller's repository, and for repositories below the caller's folder. */
function nearness(repoPath: string | undefined, near: string | undefined): number {
  if (repoPath === undefined || near === undefined) return 1
  const isNear = `${near}/`.startsWith(`${repoPath}/`) || repoPath.startsWith(`${near}/`)
  return isNear ? 1.1 : 1
}

/**
 * Reads the texts of the best passages. Resumed sessions repeat earlier messages: the same text is shown once. Of a text in
 * our transcript and in Claude's, ours is shown, because the conversation continues there.
 */
function toHits(parts: SearchParts, fused: Fused[], query: ParsedQuery, limit: number) {
  const hits: SearchHit[] = []
  /** The position of the hit with this text. */
  const shown = new Map<string, number>()
  let left = 0
  for (const { passage, score, by } of fused) {
    if (hits.length >= limit) break
    const message = readPassage(placeOf(passage))
    const text = message?.text
    const isWrong = by.length === 1 && by[0] === 'pieces' && !hasAll(text, query.pieces?.substrings)
    if (text === undefined || isWrong) {
      left++
      continue
    }
    const place = shown.get(text)
    const known = hits[place ?? -1]
    const isOurs = passage.source.kind === 'rockpool' && known?.source === 'native'
    if (known) left++
    if (known && !isOurs) continue
    const snippet = snippetOf(parts.redact(text), query.marks)
    const messageId = isOwnMessage(passage) ? message?.id : undefined
    const hit = { ...hitOf(passage, snippet, known?.score ?? score, by), messageId }
    shown.set(text, place ?? hits.length)
    hits[place ?? hits.length] = hit
  }
  return { hits, left }
}

function hasAll(text: string | undefined, substrings: string[] = []): boolean {
  const folded = fold(text ?? '')
  return substrings.every((substring) => folded.includes(fold(substring)))
}
