// From ranked passages to the hits of an answer: reads their texts, leaves out copies, and cuts out what is shown.
import type { SearchFilter, SearchHit } from '../domain/search.ts'
import { exactness, hitOf, isCopy, isOwnMessage, isRight, placeOf, snippetOf } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'
import { readPassage } from './passages.ts'
import type { ParsedQuery } from './query.ts'

/** How many passages are read and counted, although fewer are shown; the number beyond that is estimated. */
const mostCounted = 60
/** The words as they were written, and next to each other: of keywords they count, of a sentence they decide between equals. */
const exactWeight = { keywords: 0.3, sentence: 0.02 }

export interface Ranked {
  passage: FoundPassage
  score: number
  by: SearchHit['by']
  /** Which of the terms it has, or its repository and branch have: one bit for each. */
  mask: number
  /** The query is a list of words, and it has all of them. */
  hasAll: boolean
  /** The parts of the score; undefined unless the caller asked for them. */
  why?: string[]
}

/**
 * Reads the texts of the best passages. Resumed sessions repeat earlier messages: a message is shown once. Of a message in
 * our transcript and in Claude's, ours is shown, because the conversation continues there. Words that many sessions have, such as
 * "done", must not displace others: after the best message with a text, further ones come last.
 */
export function toHits(
  ranked: Ranked[],
  query: ParsedQuery,
  filter: SearchFilter,
  redact: (text: string) => string,
) {
  const { limit = 20 } = filter
  // What is shown of a few must not change how many there are.
  const isCounted = ranked.length <= mostCounted
  const hits: SearchHit[] = []
  /** Messages of other sessions with a text that is among the hits. */
  const repeats: SearchHit[] = []
  /** By text; `place` is the position of the hit, -1 if it is not shown. */
  const shown = new Map<string, Array<{ passage: FoundPassage; place: number }>>()
  let left = 0
  let isEstimated = false
  for (const { passage, score, by, why } of ranked) {
    const isFull = hits.length >= limit
    isEstimated = isFull && !isCounted
    if (isEstimated) break
    const message = readPassage(placeOf(passage))
    const text = message?.text
    if (text === undefined || !isRight(text, by, query)) {
      left++
      continue
    }
    const same = shown.get(text) ?? []
    const copied = filter.withCopies ? undefined : same.find((each) => isCopy(each.passage, passage))
    const isRepeat = !filter.withCopies && copied === undefined && same.length > 0
    const known = hits[copied?.place ?? -1]
    const isOurs = passage.source.kind === 'rockpool' && known?.source === 'native'
    if (copied) left++
    else shown.set(text, [...same, { passage, place: isFull || isRepeat ? -1 : hits.length }])
    if (isFull || (copied && !isOurs) || (isRepeat && repeats.length >= limit)) continue
    const snippet = snippetOf(redact(text), query.marks)
    const messageId = isOwnMessage(passage) ? message?.id : undefined
    const exact = exactWeight[query.isKeywords ? 'keywords' : 'sentence'] * exactness(text, query)
    const hit = { ...hitOf(passage, snippet, known?.score ?? score + exact, by), messageId, why }
    if (isRepeat) repeats.push(hit)
    else hits[copied?.place ?? hits.length] = hit
  }
  const total = isEstimated ? ranked.length : ranked.length - left
  hits.sort((a, b) => b.score - a.score)
  const lowest = hits.at(-1)?.score ?? 0
  const last = repeats
    .slice(0, limit - hits.length)
    .map((hit) => ({ ...hit, score: Math.min(hit.score, lowest) }))
  return { hits: [...hits, ...last], total, isEstimated: isEstimated || undefined }
}
