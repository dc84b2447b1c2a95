// Text over a platform's limit becomes several pieces, cut where a reader would cut: between paragraphs, lines,
// sentences, words. A code block that is cut is closed in one piece and opened again in the next.

/** Pieces of at most `limit` UTF-16 units each. Nothing but white space at a cut is left out. */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = []
  let rest = text
  while (rest.length > limit) {
    const at = cutOf(rest, limit - roomForClosing(rest, limit))
    const piece = rest.slice(0, at)
    const open = openFence(piece)
    pieces.push(open === undefined ? piece.trimEnd() : `${piece.trimEnd()}\n${open.fence}`)
    const next = open === undefined ? rest.slice(at).trimStart() : rest.slice(at).replace(/^\n/, '')
    // An opening fence as long as the limit would loop forever; end the block instead.
    rest = open === undefined || open.line.length > limit / 4 ? next : `${open.line}\n${next}`
  }
  if (rest.trim() !== '' || pieces.length === 0) pieces.push(rest)
  return pieces.filter((piece) => piece.trim() !== '' || text.trim() === '')
}

interface OpenFence {
  /** The line that opens the block, with its language. */
  line: string
  /** What closes it: the same character, as often. */
  fence: string
}

/** A line break and the longest fence that may have to be closed within the first piece. */
function roomForClosing(text: string, limit: number): number {
  const fences = text.slice(0, limit).matchAll(/^\s{0,3}(`{3,20}|~{3,20})/gm)
  const longest = Math.max(3, ...[...fences].map(([, fence]) => fence!.length))
  return Math.min(longest + 1, Math.floor(limit / 2))
}

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

/** The code block that is still open at the end of `text`. Only a fence of its own kind and length closes one. */
function openFence(text: string): OpenFence | undefined {
  let open: OpenFence | undefined
  for (const line of text.split('\n')) {
    const [, fence, info = ''] = /^\s{0,3}(`{3,20}|~{3,20})(.*)$/.exec(line) ?? []
    if (fence === undefined) continue
    if (open === undefined) open = { line: line.trim(), fence }
    else if (fence.startsWith(open.fence) && info.trim() === '') open = undefined
  }
  return open
}
