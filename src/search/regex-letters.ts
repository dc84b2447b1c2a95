// Which letters every match of a regular expression has, so that an index of substrings can name the passages to try, and how
// many steps it takes at most. Letters that are not certain are left out: an additional passage is only tried in vain, but no
// passage that matches may be missed.
import { eitherOf, inSequence, noBound, oneWay, repeated, stepsOn, type Effort } from './regex-steps.ts'

/** The requirement for a text to match: these letters, one of several things, or all of them. */
export type NeededLetters = { letters: string } | { any: NeededLetters[] } | { all: NeededLetters[] }

/** Substrings are indexed by three characters. */
const leastLetters = 3
/** Deeper groups are not looked at. */
const mostDepth = 50

/** Undefined if nothing is known. The expression is valid, with the flags `iu`. */
export function lettersNeededBy(pattern: string): NeededLetters | undefined {
  return new PatternReader(pattern).disjunction(0).needs
}

/** How many steps the expression takes at most on a text of a length. */
export function mostStepsOf(pattern: string): (length: number) => number {
  const { effort } = new PatternReader(pattern).disjunction(0)
  return (length) => stepsOn(length, effort)
}

/** The known facts of a part of an expression. */
interface Part {
  needs?: NeededLetters
  effort: Effort
}

/** One step of an expression. */
type Step =
  /** Consumes this character. */
  | { kind: 'character'; character: string; effort: Effort }
  /** Consumes nothing: `\b`, `^`, a look around. What it looks for is needed too. */
  | ({ kind: 'assertion' } & Part)
  /** Consumes something else. */
  | ({ kind: 'other' } & Part)

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
  disjunction(depth: number): Part {
    const alternatives = [this.#alternative(depth)]
    while (this.#take('|')) alternatives.push(this.#alternative(depth))
    if (depth > mostDepth) return { effort: noBound }
    const effort = alternatives.map((each) => each.effort).reduce(eitherOf)
    const known = alternatives.flatMap(({ needs }) => needs ?? [])
    if (known.length < alternatives.length) return { effort }
    return { effort, needs: known.length === 1 ? known[0] : { any: known } }
  }

  #alternative(depth: number): Part {
    const run = new LetterRun()
    let effort = oneWay
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#pattern[this.#at]!)) {
      const step = this.#step(depth)
      const quantifier = this.#quantifier()
      run.add(step, quantifier)
      effort = inSequence(effort, repeated(step.effort, quantifier.least, quantifier.most))
    }
    return { needs: run.needs(), effort }
  }

  #step(depth: number): Step {
    const group = this.#takeMatch(/\((?:\?(?:<?[=!]|<[^>]*>|[ims-]*:))?/y)
    if (group !== undefined) return this.#group(group, depth)
    const set = this.#takeMatch(/\[(?:\\.|[^\]\\])*\]/suy)
    if (set !== undefined) return { kind: 'other', effort: oneWay }
    if (this.#takeMatch(/[\^$]|\\[bB]/y) !== undefined) return { kind: 'assertion', effort: oneWay }
    const escaped = this.#takeMatch(
      /\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<[^>]*>|c[a-zA-Z]|\d+|.)/suy,
    )
    const character = escaped === undefined ? this.#takeMatch(/[^.]/suy) : characterOf(escaped)
    if (escaped === undefined && character === undefined) this.#take('.')
    // A back reference compares a whole text.
    const effort = /^\\[1-9k]/.test(escaped ?? '') ? noBound : oneWay
    return character !== undefined && isComparable(character)
      ? { kind: 'character', character, effort }
      : { kind: 'other', effort }
  }

  #group(opening: string, depth: number): Step {
    const part = this.disjunction(depth + 1)
    this.#take(')')
    if (/^\(\?<?!/.test(opening)) return { kind: 'assertion', effort: part.effort }
    return { kind: /^\(\?<?=/.test(opening) ? 'assertion' : 'other', ...part }
  }

  #quantifier(): Quantifier {
    const found = this.#takeMatch(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
    if (found === undefined) return { least: 1, most: 1, isOnce: true }
    if (!found.startsWith('{'))
      return {
        least: found.startsWith('+') ? 1 : 0,
        most: found.startsWith('?') ? 1 : Infinity,
        isOnce: false,
      }
    const [least, most = least] = found.slice(1, found.indexOf('}')).split(',')
    return { least: Number(least), most: most === '' ? Infinity : Number(most), isOnce: false }
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

/** How often the step before it is wanted. */
interface Quantifier {
  least: number
  most: number
  /** There is no quantifier. */
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
