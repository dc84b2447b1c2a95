// Which letters every match of a regular expression has, so that an index of substrings can name the passages to try. What is
// not plain to see is left out: a passage too many is tried in vain, but none that matches may be missed.

/** What a text must have to match: these letters, one of several things, or all of them. */
export type NeededLetters = { letters: string } | { any: NeededLetters[] } | { all: NeededLetters[] }

/** Substrings are indexed by three characters. */
const leastLetters = 3
/** Deeper groups are not looked at. */
const mostDepth = 50

/** Undefined if nothing is known. The expression is valid, with the flags `iu`. */
export function lettersNeededBy(pattern: string): NeededLetters | undefined {
  return new PatternReader(pattern).disjunction(0)
}

/** One step of an expression. */
type Step =
  /** Consumes this character. */
  | { kind: 'character'; character: string }
  /** Consumes nothing: `\b`, `^`, a look around. What it looks for is needed too. */
  | { kind: 'assertion'; needs?: NeededLetters }
  /** Consumes something else. */
  | { kind: 'other'; needs?: NeededLetters }

/** Characters for which the index and a regular expression agree on upper and lower case; `regex-letters.test.ts` compares them. */
const comparable =
  /^[\t\n\r\x20-\x7e\xa0-\u019a\u019c-\u024f\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3]$/u

export function isComparable(character: string): boolean {
  return comparable.test(character)
}

class PatternReader {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  /** Up to the end, or to the bracket that closes the group. */
  disjunction(depth: number): NeededLetters | undefined {
    const alternatives = [this.#alternative(depth)]
    while (this.#take('|')) alternatives.push(this.#alternative(depth))
    const known = alternatives.filter((needs) => needs !== undefined)
    if (known.length < alternatives.length || depth > mostDepth) return undefined
    return known.length === 1 ? known[0] : { any: known }
  }

  #alternative(depth: number): NeededLetters | undefined {
    const run = new LetterRun()
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#pattern[this.#at]!)) {
      const step = this.#step(depth)
      run.add(step, this.#quantifier())
    }
    return run.needs()
  }

  #step(depth: number): Step {
    const group = this.#takeMatch(/\((?:\?(?:<?[=!]|<[^>]*>|[ims-]*:))?/y)
    if (group !== undefined) return this.#group(group, depth)
    const set = this.#takeMatch(/\[(?:\\.|[^\]\\])*\]/suy)
    if (set !== undefined) return { kind: 'other' }
    if (this.#takeMatch(/[\^$]|\\[bB]/y) !== undefined) return { kind: 'assertion' }
    const escaped = this.#takeMatch(
      /\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<[^>]*>|c[a-zA-Z]|\d+|.)/suy,
    )
    const character = escaped === undefined ? this.#takeMatch(/[^.]/suy) : characterOf(escaped)
    if (escaped === undefined && character === undefined) this.#take('.')
    return character !== undefined && isComparable(character)
      ? { kind: 'character', character }
      : { kind: 'other' }
  }

  #group(opening: string, depth: number): Step {
    const needs = this.disjunction(depth + 1)
    this.#take(')')
    if (/^\(\?<?!/.test(opening)) return { kind: 'assertion' }
    return { kind: /^\(\?<?=/.test(opening) ? 'assertion' : 'other', needs }
  }

  /** How often the step before it is wanted at least, and whether more often is possible. */
  #quantifier(): Quantifier {
    const found = this.#takeMatch(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
    if (found === undefined) return { least: 1, isOnce: true }
    if (found.startsWith('{')) return { least: Number(/\d+/.exec(found)![0]), isOnce: false }
    return { least: found.startsWith('+') ? 1 : 0, isOnce: false }
  }

  #take(character: string): boolean {
    const isThere = this.#pattern[this.#at] === character
    if (isThere) this.#at++
    return isThere
  }

  #takeMatch(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at
    const found = sticky.exec(this.#pattern)?.[0]
    this.#at += found?.length ?? 0
    return found
  }
}

interface Quantifier {
  least: number
  isOnce: boolean
}

const controls: Record<string, string> = { t: '\t', n: '\n', r: '\r' }

/** The one character that an escape stands for; undefined if it stands for something else. */
function characterOf(escaped: string): string | undefined {
  const name = escaped.slice(1)
  const code = /^(?:x|u)\{?([0-9a-fA-F]{2,})\}?$/.exec(name)?.[1]
  if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16))
  if (/^[^\p{L}\p{N}]$/u.test(name)) return name
  return controls[name]
}

/** Collects characters that follow each other, and what else one alternative needs. */
class LetterRun {
  readonly #needed: NeededLetters[] = []
  #current = ''

  add(step: Step, { least, isOnce }: Quantifier): void {
    if (least > 0 && step.kind !== 'character' && step.needs) this.#needed.push(step.needs)
    if (step.kind === 'assertion') return
    if (step.kind === 'character' && least > 0) this.#current += step.character
    if (step.kind === 'character' && isOnce) return
    this.#end()
    // Of `ab+c`, a match has `ab` and `bc`.
    if (step.kind === 'character' && least > 0) this.#current = step.character
  }

  needs(): NeededLetters | undefined {
    this.#end()
    if (this.#needed.length < 2) return this.#needed[0]
    return { all: this.#needed }
  }

  #end(): void {
    if (Array.from(this.#current).length >= leastLetters) this.#needed.push({ letters: this.#current })
    this.#current = ''
  }
}
