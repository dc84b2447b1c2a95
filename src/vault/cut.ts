// Cuts the bytes of a file into chunks at places that the content decides, so that a copy of a file, or a file that was changed
// in one place, has the same chunks elsewhere. Transcripts are lines, so a cut is always after a line, which is found many times
// faster than by a rolling hash over every byte. A fork of a session is a copy in which only the session's id differs, so the id
// is masked before the place of a cut is decided and before a chunk is stored.

/** No chunk is smaller, except the last of a file; large enough to compress well. */
const minBytes = 128 * 1024
const maxBytes = 1024 * 1024
/** The average distance of two cuts after the smallest size: a cut after a long line is more likely. */
const usualBytes = 256 * 1024
const lineEnd = 10
/** How much of the next line decides whether a chunk ends before it; the first bytes of a record are often the same. */
const decidingBytes = 96

/** The offset after the next chunk in `bytes`; undefined if the chunk does not end here and more bytes may follow. `id` is the id
 *  of the session, which decides nothing. */
export function nextCut(bytes: Buffer, from: number, id: string): number | undefined {
  const last = Math.min(bytes.length - decidingBytes - id.length, from + maxBytes)
  let line = from + minBytes
  for (let at = bytes.indexOf(lineEnd, line); at >= 0 && at < last; at = bytes.indexOf(lineEnd, line)) {
    const length = at + 1 - line
    if (hashAt(bytes, at + 1, id) < (length / usualBytes) * 2 ** 32) return at + 1
    line = at + 1
  }
  return last === from + maxBytes ? last : undefined
}

/** FNV-1a, mixed once more so that all bits depend on all bytes. */
function hashAt(bytes: Buffer, from: number, id: string): number {
  const end = from + decidingBytes
  const found = bytes.subarray(from, end + id.length).indexOf(id)
  const [idFrom, idEnd] = found < 0 ? [end, end] : [from + found, from + found + id.length]
  let hash = 0x811c9dc5
  for (let at = from; at < end; at++)
    if (at < idFrom || at >= idEnd) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0
}

/** What stands in a stored chunk for the id of its session; as long as an id. */
const placeholder = Buffer.from('\u0000rockpool-vault: the id of a session')

/** Writes the placeholder over `id`; returns whether there was anything to replace. */
export function maskId(bytes: Buffer, id: string): boolean {
  const wanted = Buffer.from(id)
  // If the bytes contain the placeholder already, the two could not be distinguished afterwards.
  if (wanted.length !== placeholder.length || !bytes.includes(wanted) || bytes.includes(placeholder))
    return false
  replaceAll(bytes, wanted, placeholder)
  return true
}

/** The reverse of `maskId`; changes `bytes`. */
export function unmaskId(bytes: Buffer, id: string): Buffer {
  return replaceAll(bytes, placeholder, Buffer.from(id))
}

function replaceAll(bytes: Buffer, old: Buffer, replacement: Buffer): Buffer {
  for (let at = bytes.indexOf(old); at >= 0; at = bytes.indexOf(old, at + old.length))
    replacement.copy(bytes, at)
  return bytes
}
