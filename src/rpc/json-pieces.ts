// JSON of a large answer in pieces. As one text it would block the process for long, and a single character beyond Latin
// would double its size in memory.

const pieceLength = 250

/** Together, the pieces are `stringify(value)`. Only lists at most two levels deep are split: answers have theirs there. */
export function* jsonPieces(value: unknown, stringify: (value: unknown) => string): Generator<string> {
  if (!hasLongList(value)) yield stringify(value)
  else if (Array.isArray(value)) yield* listPieces(value, stringify)
  else {
    let before = '{'
    for (const [key, inner] of Object.entries(value)) {
      if (inner === undefined) continue
      yield `${before}${stringify(key)}:`
      yield* jsonPieces(inner, stringify)
      before = ','
    }
    yield '}'
  }
}

function* listPieces(list: unknown[], stringify: (value: unknown) => string): Generator<string> {
  for (let start = 0; start < list.length; start += pieceLength) {
    const inner = stringify(list.slice(start, start + pieceLength)).slice(1, -1)
    yield `${start === 0 ? '[' : ','}${inner}`
  }
  yield ']'
}

export function hasLongList(value: unknown, depth = 0): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > pieceLength
  if (depth === 2) return false
  for (const key in value) if (hasLongList((value as Record<string, unknown>)[key], depth + 1)) return true
  return false
}
