// Text over a platform's limit becomes several pieces, cut where a reader would cut: between paragraphs, lines,
// sentences, words. A code block that is cut is closed in one piece and opened again in the next.

/** Pieces of at most `limit` UTF-16 units each. Nothing but white space at a cut is left out. */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest.length > limit) {
    const at = cutOf(rest, limit - closing.length)
    const piece = rest.slice(0, at)
    const opener = openFence(piece)
    pieces.push(opener === undefined ? piece.trimEnd() : piece.trimEnd() + closing)
    const next = opener === undefined ? rest.slice(at).trimStart() : rest.slice(at).replace(/^\n/, '')
    // An opener as long as the limit would never let us go on; then the block simply ends.
    rest = opener === undefined || opener.length > limit / 4 ? next : `${opener}\n${next}`
  }
  if (rest.trim() !== '' || pieces.length === 0) pieces.push(rest)
  return pieces.filter((piece) => piece.trim() !== '' || text.trim() === '')
}

const closing = '\n```'

function cutOf(text: string, room: number): number {
  const head = text.slice(0, room)
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = head.lastIndexOf(mark)
    if (at > room / 3) return at + mark.length
  }
  return betweenCharacters(text, Math.max(room, 1))
}

/** Never inside a surrogate pair: half a character makes a whole conversation unreadable for the model. */
function betweenCharacters(text: string, at: number): number {
  const before = text.charCodeAt(at - 1)
  const isHighSurrogate = before >= 0xd800 && before <= 0xdbff
  return isHighSurrogate && at > 1 ? at - 1 : isHighSurrogate ? at + 1 : at
}

/** The opening line of a code block that is still open at the end of `text`. */
function openFence(text: string): string | undefined {
  let open: string | undefined
  for (const line of text.split('\n')) {
    if (/^\s{0,3}```/.test(line)) open = open === undefined ? line.trim() : undefined
  }
  return open
}
