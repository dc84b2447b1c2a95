// Searches passages with a regular expression. A pathological expression must not block the process, so this runs in a
// thread of its own that is ended when the time is over (search-thread.ts).
import type { SearchFilter, SearchHit } from '../domain/search.ts'
import type { FoundPassage, SearchIndex } from './search-index.ts'
import { isSameSaying } from './chat-copies.ts'
import { hitOf, isOwn, placeOf } from './ranked-search.ts'
import { readMessage, snippetOf } from './snippet.ts'

export interface RegexFinding {
  hits: SearchHit[]
  looked: number
  /** All passages were looked at, or as many were found as were wanted. */
  isDone: boolean
}

const pageSize = 200

/** Yields what was found since the last time, the newest first. */
export function* searchRegex(
  index: SearchIndex,
  pattern: RegExp,
  filter: SearchFilter,
  redact: (text: string) => string,
): Generator<RegexFinding> {
  const limit = filter.limit ?? 20
  const said = new Set<string>()
  const found: FoundPassage[] = []
  let beforeId: number | undefined
  // The time that is given begins now, and not while a busy machine still starts the thread.
  yield { hits: [], looked: 0, isDone: false }
  for (let looked = 0; ;) {
    const page = index.newest(filter, pageSize, beforeId)
    for (const passage of page) {
      looked++
      const message = readMessage(placeOf(passage))
      // Secrets are taken out first: a pattern must not be a way to guess them.
      const text = message && redact(message.text)
      const match = text === undefined ? null : pattern.exec(text)
      if (!match || said.has(text!) || found.some((each) => isSameSaying(each, passage))) continue
      said.add(text!)
      found.push(passage)
      const hit = hitOf(passage, snippetOf(text!, marksOf(match)), 1 / said.size, ['regex'])
      yield {
        hits: [{ ...hit, messageId: isOwn(passage) ? message?.id : undefined }],
        looked,
        isDone: said.size >= limit,
      }
      if (said.size >= limit) return
    }
    yield { hits: [], looked, isDone: page.length < pageSize }
    if (page.length < pageSize) return
    beforeId = page.at(-1)!.id
  }
}

function marksOf(match: RegExpExecArray): string[] {
  const line = match[0].split('\n').find((each) => each.trim() !== '')
  return line === undefined ? [] : [line.slice(0, 200)]
}
