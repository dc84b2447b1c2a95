// A chat is on disk twice: in our transcript, and in the one that Claude keeps of it. What was said once is found once.
import type { FoundPassage } from './search-rows.ts'

/** Claude writes down a message when it begins with it; until then it may have waited for a process to start. */
const mostApartMs = 120_000

interface Scored {
  passage: FoundPassage
  score: number
}

/** Without what Claude's transcripts repeat of ours; ours stands where the better of the two stood. */
export function withoutCopies<Found extends Scored>(found: Found[]): Found[] {
  const ours = Map.groupBy(
    found.filter(({ passage }) => passage.source.kind === 'rockpool'),
    ({ passage }) => conversationOf(passage),
  )
  return found.filter(({ passage, score }) => {
    if (passage.source.kind !== 'native' || passage.source.chat === undefined) return true
    const original = ours.get(passage.source.chat)?.find((each) => isSameSaying(passage, each.passage))
    if (original) original.score = Math.max(original.score, score)
    return original === undefined
  })
}

/** One of them is Claude's record of what the other one is ours of. */
export function isSameSaying(a: FoundPassage, b: FoundPassage): boolean {
  if (a.source.kind === b.source.kind || a.role !== b.role || a.at === 0 || b.at === 0) return false
  const conversation = conversationOf(a)
  return (
    conversation !== undefined && conversation === conversationOf(b) && Math.abs(a.at - b.at) <= mostApartMs
  )
}

function conversationOf({ source }: FoundPassage): string | undefined {
  return source.kind === 'rockpool' ? source.sessionId : source.chat
}
