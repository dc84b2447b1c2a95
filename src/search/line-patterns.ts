// Which bytes a line of a transcript must have, so that a text in it can have the words of a question. Lines without these bytes
// need not be parsed. Some lines are parsed in vain. A line that the index would find is missed only if it has accents that the
// question does not have.
import { fold } from './hits.ts'
import type { NeededLetters } from './regex-letters.ts'
import type { WordExpression } from './word-lists.ts'

/** Beginnings of words, next to each other. A question without accents is searched for as it is: looking for all forms of its letters
 *  would take several times as long. */
interface Beginnings {
  words: string[]
  isPlain: boolean
}
/** All of these, of each one of several. */
type Needs = Beginnings[][]

/** More patterns tell little more, and their numbers must fit in the bits of a number. */
const mostPatterns = 30
/** A longer beginning of a word tells no more. */
const mostLetters = 24
/** Words up to this length have no other forms. */
const shortWord = 2
/** The ending of a word. */
const ending = '[a-z0-9]{0,24}'
/** Signs between two words, which JSON may have escaped. */
const gap = String.raw`(?:\\[nrtbf]|[^a-z0-9]){1,32}`
const combining = String.raw`(?:\xcc[\x80-\xbf]|\xcd[\x80-\xaf])*`
const beyondAscii = /[^\x00-\x7f]/
/** Letters of the scripts that have upper and lower case, or accents. */
const letterRanges = [
  [0x80, 0x52f],
  [0x1e00, 0x1fff],
] as const

export class LinePatterns {
  readonly #patterns: RegExp[]

  private constructor(needs: Needs) {
    const forms = needs.flat().every(({ isPlain }) => isPlain) ? new Map() : letterForms()
    this.#patterns = needs
      .map((any) => any.map((words) => sourceOf(words, forms)).join('|'))
      // Long ones are rarer, and found faster.
      .sort((a, b) => b.length - a.length)
      .slice(0, mostPatterns)
      .map((source) => new RegExp(source, 'i'))
  }

  /** For texts that have all of these. `tokensOf` makes tokens of words as the index does. */
  static ofWords(expressions: WordExpression[], tokensOf: (words: string) => string[]): LinePatterns {
    return new LinePatterns(expressions.flatMap((each) => needsOf(each, tokensOf)))
  }

  static ofLetters(needed: NeededLetters | undefined): LinePatterns {
    return new LinePatterns(needed ? needsOfLetters(needed) : [])
  }

  /** Which of the patterns these bytes have, one bit for each. `among` says which to look for. */
  in(bytes: Buffer, among = this.all): number {
    const text = bytes.toString('latin1')
    let found = 0
    for (const [at, pattern] of this.#patterns.entries())
      if ((among >> at) & 1 && pattern.test(text)) found |= 1 << at
    return found
  }

  /** One bit for each pattern. */
  get all(): number {
    return 2 ** this.#patterns.length - 1
  }
}

function needsOf(expression: WordExpression, tokensOf: (words: string) => string[]): Needs {
  if ('all' in expression) return expression.all.flatMap((each) => needsOf(each, tokensOf))
  if ('any' in expression) return oneOf(expression.any.map((each) => needsOf(each, tokensOf)))
  const written = 'token' in expression ? expression.token : expression.words
  const isPlain = !beyondAscii.test(written)
  const words = ('token' in expression ? [written] : tokensOf(written)).map(beginningOf)
  if (words.length < 2) return words.map((word) => [{ words: [word], isPlain }])
  // In pairs: a pattern for many words at once could take very long.
  return words.slice(1).map((word, at) => [{ words: [words[at]!, word], isPlain }])
}

function needsOfLetters(needed: NeededLetters): Needs {
  if ('all' in needed) return needed.all.flatMap(needsOfLetters)
  if ('any' in needed) return oneOf(needed.any.map(needsOfLetters))
  // JSON escapes signs, but not letters.
  const words = needed.letters.match(/[\p{L}\p{N}]+/gu) ?? []
  const longest = words.reduce((best, word) => (word.length > best.length ? word : best), '')
  return longest === '' ? [] : [[{ words: [longest], isPlain: !beyondAscii.test(longest) }]]
}

/** Nothing is needed if one of the alternatives needs nothing. */
function oneOf(alternatives: Needs[]): Needs {
  const first = alternatives.map((needs) => needs[0])
  return first.every((any) => any !== undefined) ? [first.flat()] : []
}

/** How all words with this stem begin: `retri` is the stem of `retry`, `plate` of `plating`, `sensibl` of `sensibility`. */
function beginningOf(stem: string): string {
  return stem.length > shortWord ? stem.replace(/(?:i|e|(?<=b)l)$/, '') : stem
}

function sourceOf({ words, isPlain }: Beginnings, forms: Map<string, string[]>): string {
  const [first = '', second] = words.map((word) => {
    const letters = Array.from(word).slice(0, mostLetters)
    return isPlain ? letters.join('') : letters.map((letter) => formsOf(letter, forms)).join('')
  })
  if (second === undefined) return first
  return `${first}${words[0]!.length > shortWord ? ending : ''}${gap}${second}`
}

function formsOf(letter: string, forms: Map<string, string[]>): string {
  const base = fold(letter)
  const all = new Set([letter, base, ...(forms.get(base) ?? [])])
  return `(?:${[...all].flatMap(bytesOf).join('|')})${combining}`
}

/** As UTF-8, and as JSON may escape it. */
function bytesOf(letter: string): string[] {
  if (letter <= '\x7f') return [letter]
  const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')
  const plain = [...Buffer.from(letter)].map((byte) => `\\x${hex(byte, 2)}`)
  const units = Array.from({ length: letter.length }, (_, at) => `\\\\u${hex(letter.charCodeAt(at), 4)}`)
  return [plain.join(''), units.join('')]
}

/** The letters that are the same as another without accents and in lower case, by that one. */
function letterForms(): Map<string, string[]> {
  const forms = new Map<string, string[]>()
  for (const [first, last] of letterRanges) {
    for (let code = first; code <= last; code++) {
      const letter = String.fromCharCode(code)
      const base = fold(letter)
      if (base !== letter) forms.set(base, [...(forms.get(base) ?? []), letter])
    }
  }
  return forms
}
