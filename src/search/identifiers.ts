// What is added to a text so that more of it can be found by word: the parts of code identifiers, so that `jsonl header`
// finds `parseJsonlHeader`, and the pieces of scripts that are written without spaces.

const camel = /[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*/g
const hasCamel = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
const joined =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]+/gu
/** Everything before this is Latin, Greek, Cyrillic, Arabic, Indic: words with spaces between them. */
const mayBeJoined = /[\u0e00-\uffff]/

/** The text, followed by parts of its words. Parts at the end leave phrases intact. */
export function indexedText(text: string): string {
  const parts = new Set<string>()
  if (hasCamel.test(text)) {
    for (const word of text.match(camel) ?? []) if (word.length <= 80) parts.add(splitIdentifier(word))
  }
  if (mayBeJoined.test(text)) {
    for (const run of joinedRuns(text)) for (const piece of shortPieces(run)) parts.add(piece)
  }
  return parts.size === 0 ? text : `${text}\n${[...parts].join(' ')}`
}

export function splitIdentifier(word: string): string {
  return word.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
}

/** The parts of a text that are written without spaces between words. */
export function joinedRuns(text: string): string[] {
  return text.match(joined) ?? []
}

/** Every character and every pair of neighbours. */
function shortPieces(run: string): string[] {
  const characters = Array.from(run)
  return [...characters, ...pairsOf(run)]
}

export function pairsOf(run: string): string[] {
  const characters = Array.from(run)
  return characters.slice(1).map((character, i) => characters[i]! + character)
}
