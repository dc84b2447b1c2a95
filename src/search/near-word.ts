// "Did you mean …?": suggests a word of the indexed texts for a word of the question that occurs in none. The index has stems
// only, so the suggestion comes from the text of a passage that the caller may see; no other word is ever suggested.
import { fold } from './hits.ts'

/** Stems that are tried, the most alike first. */
const mostStems = 6
/** A shorter word is near to too many others. */
const leastLetters = 4
/** From this length on, two edits are allowed. */
const longWord = 10

/** Where the words of the index are. */
interface Vocabulary {
  /** The stem of the word, as the index makes it. */
  stemOf(word: string): string | undefined
  /** Stems that begin as the word does. */
  stemsLike(word: string): Iterable<string>
  /** How many passages have the stem, and the text of the newest one that the caller may see. */
  passageWith(stem: string): { count: number; text: string } | undefined
}

/** The nearest word in the indexed texts; undefined if none is near. */
export function nearWord(word: string, vocabulary: Vocabulary): string | undefined {
  const wanted = fold(word)
  const stem = /^[a-z][a-z0-9]*$/.test(wanted) && wanted.length >= leastLetters && vocabulary.stemOf(wanted)
  if (!stem) return undefined
  const alike = [...new Set(vocabulary.stemsLike(wanted))]
    .map((each) => ({ stem: each, edits: editsOfStem(each, stem, wanted) }))
    .filter(({ edits }) => edits <= editsFor(wanted))
    .sort(
      (a, b) =>
        a.edits - b.edits || Math.abs(a.stem.length - stem.length) - Math.abs(b.stem.length - stem.length),
    )
  const near = alike.slice(0, mostStems).flatMap((each) => {
    const found = vocabulary.passageWith(each.stem)
    return found ? wordsNear(wanted, found) : []
  })
  return near.sort((a, b) => a.edits - b.edits || b.count - a.count)[0]?.word
}

function editsFor(word: string): number {
  return word.length < longWord ? 1 : 2
}

/** Compares stems, or, for words whose ends have different stems (`migraton`, `migration`), the stem with the beginning of the
 *  word. */
function editsOfStem(stem: string, wantedStem: string, wanted: string): number {
  const most = editsFor(wanted)
  const ofStems = editsBetween(stem, wantedStem, most)
  const isBeginning = stem.length >= leastLetters && wanted.startsWith(stem.slice(0, leastLetters - 1))
  return isBeginning ? Math.min(ofStems, editsBetween(stem, wanted.slice(0, stem.length), most)) : ofStems
}

/** The words of the text that are near, but not the word itself. */
function wordsNear(wanted: string, { count, text }: { count: number; text: string }) {
  const words = new Set(text.match(/[\p{L}\p{M}\p{N}]+/gu))
  return [...words].flatMap((word) => {
    const edits = editsBetween(fold(word), wanted, editsFor(wanted))
    return edits > 0 && edits <= editsFor(wanted) ? [{ word: word.toLowerCase(), edits, count }] : []
  })
}

/** How many letters must be added, removed, replaced or swapped with their neighbour; more than `most` if that is not enough. */
export function editsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most || differentLetters(a, b) > 2 * most) return most + 1
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      row[j] = isSwapped ? Math.min(edits, before[j - 2]! + 1) : edits
      least = Math.min(least, row[j]!)
    }
    if (least > most) return most + 1
    before = last
    last = row
  }
  return last[b.length]!
}

/** How many letters only one of them has: an edit changes two at most. Quickly tells most words apart. */
function differentLetters(a: string, b: string): number {
  let bits = lettersOf(a) ^ lettersOf(b)
  let count = 0
  for (; bits !== 0; bits &= bits - 1) count++
  return count
}

function lettersOf(word: string): number {
  let bits = 0
  for (let at = 0; at < word.length; at++) bits |= 1 << (word.charCodeAt(at) & 31)
  return bits
}
