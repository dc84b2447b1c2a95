// Finds what was said: by word, by substring and by meaning, ranked together.
import type { SearchFilter, SearchHit } from '../domain/search.ts'
import type { FoundPassage, SearchIndex } from '../store/search-index.ts'
import { parseQuery } from './query.ts'
import { readPassage, snippetOf } from './snippet.ts'

export interface SearchParts {
  index: SearchIndex
  redact: (text: string) => string
  now: () => number
  /** Passages near the query in meaning, best first; absent without a model. */
  nearest?: (text: string, limit: number) => Promise<number[]>
}

export interface SearchAnswer {
  total: number
  hits: SearchHit[]
  /** Ways of searching that could not be used, in words. */
  notes: string[]
}

/** Rank constant of reciprocal rank fusion: how much the very first places count over the following ones. */
const fusionConstant = 60
const candidates = 200

export async function search(parts: SearchParts, text: string, filter: SearchFilter): Promise<SearchAnswer> {
  const query = parseQuery(text)
  if (!query) return { total: 0, hits: [], notes: ['The question has no word to look for.'] }
  const lists: Array<{ by: SearchHit['by'][number]; passages: FoundPassage[] }> = []
  if (query.all !== '') lists.push({ by: 'words', passages: byWords(parts.index, query, filter) })
  if (query.pieces)
    lists.push({ by: 'pieces', passages: parts.index.match('pieces', query.pieces, filter, candidates) })
  if (parts.nearest) lists.push({ by: 'meaning', passages: await byMeaning(parts, text, filter) })
  const fused = fuse(lists, parts.now(), filter)
  const hits = toHits(parts, fused, query.marks, filter.limit ?? 20)
  return {
    total: fused.length,
    hits,
    notes: parts.nearest ? [] : ['By word only: no model for meaning is installed.'],
  }
}

function byWords(
  index: SearchIndex,
  query: { all: string; any: string },
  filter: SearchFilter,
): FoundPassage[] {
  const found = index.match('words', query.all, filter, candidates)
  // Few passages have every word: then those that have some are better than nothing, after the others.
  if (found.length >= 10 || query.all === query.any) return found
  const seen = new Set(found.map((passage) => passage.id))
  return [
    ...found,
    ...index.match('words', query.any, filter, candidates).filter((passage) => !seen.has(passage.id)),
  ]
}

async function byMeaning(parts: SearchParts, text: string, filter: SearchFilter): Promise<FoundPassage[]> {
  const ids = (await parts.nearest?.(text, candidates)) ?? []
  const place = new Map(ids.map((id, i) => [id, i]))
  const passages = parts.index.passages(ids, filter)
  return passages.sort((a, b) => place.get(a.id)! - place.get(b.id)!)
}

interface Fused {
  passage: FoundPassage
  score: number
  by: SearchHit['by']
}

/** Reciprocal rank fusion; what is recent counts a little more. */
function fuse(
  lists: Array<{ by: SearchHit['by'][number]; passages: FoundPassage[] }>,
  now: number,
  filter: SearchFilter,
): Fused[] {
  const fused = new Map<number, Fused>()
  for (const { by, passages } of lists) {
    passages.forEach((passage, place) => {
      const entry = fused.get(passage.id) ?? { passage, score: 0, by: [] }
      entry.score += 1 / (fusionConstant + place + 1)
      entry.by.push(by)
      fused.set(passage.id, entry)
    })
  }
  for (const entry of fused.values()) entry.score *= recency(entry.passage.at, now)
  return [...fused.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, Math.max(candidates, filter.limit ?? 0))
}

/** From 1.15 for now down to 1 for long ago; half of the bonus is gone after a week. */
function recency(at: number, now: number): number {
  const weeks = Math.max(0, now - at) / (7 * 86_400_000)
  return 1 + 0.15 / (1 + weeks)
}

function toHits(parts: SearchParts, fused: Fused[], marks: string[], limit: number): SearchHit[] {
  const hits: SearchHit[] = []
  for (const { passage, score, by } of fused) {
    if (hits.length >= limit) break
    const { source, line, offset, length, role, at } = passage
    const text = readPassage({ path: source.path, kind: source.kind, role, offset, length })
    if (text === undefined) continue
    const { text: snippet, matches } = snippetOf(parts.redact(text), marks)
    const { kind, ...where } = source
    hits.push({ ...where, source: kind, role, line, at, snippet, matches, score, by })
  }
  return hits
}
