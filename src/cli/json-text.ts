// What `--json` prints. A file of its own, because it must load fast.

/** JSON for a pipe or a terminal: what JSON itself leaves raw is escaped too. */
export function jsonText(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const longList = 100
const runChars = 1 << 16

/**
 * The same text in runs, for an answer with a long list in it. As one text, a single character beyond Latin would make all
 * of it twice as wide and slow to write.
 */
export function* jsonRuns(answer: unknown): Generator<string> {
  let run = ''
  for (const piece of piecesOf(answer)) {
    run += piece
    if (run.length < runChars) continue
    yield run
    run = ''
  }
  yield run
}

function* piecesOf(answer: unknown): Generator<string> {
  if (!isPlain(answer) || !Object.values(answer).some(isLong)) {
    yield jsonText(answer)
    return
  }
  let before = '{'
  for (const [name, value] of Object.entries(answer)) {
    if (value === undefined) continue
    yield `${before}${jsonText(name)}:`
    before = ','
    if (isLong(value)) yield* elementsOf(value)
    else yield jsonText(value)
  }
  yield '}'
}

function* elementsOf(list: unknown[]): Generator<string> {
  let before = '['
  for (const element of list) {
    yield before
    yield jsonText(element)
    before = ','
  }
  yield ']'
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isLong(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > longList
}
