// Cuts a text to what a channel takes in one message: between paragraphs, else lines, else sentences, else words; never
// through a character. A code block that must be cut is closed and opened again.

export function chunkText(text: string, limit: number): string[] {
  if (text.trim() === '') return []
  const size = Math.max(limit, 16)
  const chunks: string[] = []
  let rest = text
  let open: Fence | undefined
  while (rest.length > 0) {
    const head = open ? `${open.line}\n` : ''
    if (head.length + rest.length <= size) {
      chunks.push(head + rest)
      break
    }
    const cut = takeChunk(rest, size - head.length, open)
    chunks.push(head + cut.text)
    open = cut.open
    rest = open ? cut.rest.replace(/^\n/, '') : cut.rest.replace(/^\s+/, '')
  }
  return chunks.filter((chunk) => chunk.trim() !== '')
}

interface Fence {
  /** The line that opens it, with the language: "```ts". */
  line: string
  mark: string
}

interface Cut {
  text: string
  rest: string
  open: Fence | undefined
}

function takeChunk(text: string, room: number, open: Fence | undefined): Cut {
  // Room for the line that closes a code block.
  const at = cutPoint(text, room - 4, open !== undefined)
  const piece = text.slice(0, at)
  const rest = text.slice(at)
  const fence = fenceAt(piece, open)
  if (!fence) return { text: piece.trimEnd(), rest, open: undefined }
  // A block that only just began goes whole into the next chunk.
  const start = piece.lastIndexOf(`\n${fence.line}`)
  if (start > room / 3 && fence !== open) {
    return { text: text.slice(0, start).trimEnd(), rest: text.slice(start + 1), open: undefined }
  }
  return { text: `${piece.trimEnd()}\n${fence.mark}`, rest, open: fence }
}

/** The best place to cut, at most `room` characters in. */
function cutPoint(text: string, room: number, inCode: boolean): number {
  const window = text.slice(0, room + 1)
  const enough = room / 2
  const candidates = inCode
    ? [window.lastIndexOf('\n')]
    : [lastParagraph(window), window.lastIndexOf('\n'), lastSentence(window), window.lastIndexOf(' ')]
  const good = candidates.find((at) => at > enough) ?? candidates.find((at) => at > 0)
  return good ?? wholeCharacters(text, room)
}

function lastParagraph(text: string): number {
  return text.lastIndexOf('\n\n')
}

function lastSentence(text: string): number {
  const at = Math.max(text.lastIndexOf('. '), text.lastIndexOf('! '), text.lastIndexOf('? '))
  return at < 0 ? -1 : at + 1
}

/** Not between the halves of a surrogate pair, and not inside a joined emoji. */
function wholeCharacters(text: string, room: number): number {
  const window = text.slice(0, room + 64)
  let last = 0
  for (const { index, segment } of new Intl.Segmenter().segment(window)) {
    if (index + segment.length > room) break
    last = index + segment.length
  }
  return last > 0 ? last : room
}

/** The code block that is open at the end of a piece. */
function fenceAt(piece: string, before: Fence | undefined): Fence | undefined {
  let open = before
  for (const line of piece.split('\n')) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1]
    if (mark === undefined) continue
    if (open === undefined) open = { line: line.trim().slice(0, 40), mark }
    else if (mark.startsWith(open.mark) && line.trim() === mark) open = undefined
  }
  return open
}
