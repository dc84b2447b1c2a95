// Lines of code for simulated histories, from a seed: most of them distinct, many that everybody writes.

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!
  }
}

const nouns = 'order price cart user basket invoice address coupon stock parcel refund tax label shelf'.split(
  ' ',
)
const verbs = 'load save find count send check parse merge close open read write'.split(' ')
const common = [
  '}',
  '})',
  '} else {',
  '',
  'return undefined',
  'return result',
  'try {',
  '} catch (error) {',
  'throw error',
  'const result = []',
  "import { join } from 'node:path'",
  'if (!user) return',
  'break',
  '// TODO',
]
/** Of hand-written code about a third are lines that stand in many files. */
const commonShare = 0.3

export function codeLine(random: Random): string {
  if (random.chance(commonShare)) return random.pick(common)
  const [noun, verb] = [random.pick(nouns), random.pick(verbs)]
  const name = `${noun}${random.between(1, 40)}`
  const call = `${verb}${noun[0]!.toUpperCase()}${noun.slice(1)}`
  switch (random.between(0, 4)) {
    case 0:
      return `  const ${name} = await ${call}(${random.pick(nouns)}, ${random.between(1, 99)})`
    case 1:
      return `  if (${name}.${verb}ed) return ${call}('${random.pick(nouns)} ${random.pick(verbs)}')`
    case 2:
      return `  // The ${noun} is ${verb}ed before the ${random.pick(nouns)}, because ${random.pick(nouns)} ${random.between(1, 40)} needs it.`
    case 3:
      return `export function ${call}${random.between(1, 40)}(${noun}: string, ${random.pick(nouns)}s: number[]): string {`
    default:
      return `  ${name}.push({ ${noun}: ${call}(${random.between(1, 99)}), ${random.pick(nouns)}: '${random.pick(verbs)}' })`
  }
}

/** What a formatter makes of a line: other quotes, a semicolon, and a long line in two. */
export function formatted(text: string): string[] {
  const quoted = text.replaceAll("'", '"').replace(/^ +/, (spaces) => '\t'.repeat(spaces.length / 2))
  const ended = /[\w)\]"]$/.test(quoted) && !quoted.includes('//') ? `${quoted};` : quoted
  const comma = ended.indexOf(', ', 40)
  return comma < 0 || ended.includes('//')
    ? [ended]
    : [ended.slice(0, comma + 1), `\t\t${ended.slice(comma + 2)}`]
}

/** What a person makes of a line in a review: another number or name. */
export function tweaked(text: string, random: Random): string {
  const number = `${random.between(100, 999)}`
  return /\d+/.test(text) ? text.replace(/\d+/, number) : `${text} // see ${number}`
}
