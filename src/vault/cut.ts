// Cuts the bytes of a file into chunks at places that the content decides (FastCDC with a gear hash), so that a copy of a
// file, or a file that was changed in one place, has the same chunks elsewhere. A fork of a session is a copy in which only
// the session's id differs, so the id is masked before the place of a cut is decided and before a chunk is stored.

/** No chunk is smaller, except the last of a file; large enough to compress well. */
const minBytes = 96 * 1024
/** Up to this size a cut is unlikely, after it likely: most chunks have about this size. */
const usualBytes = 256 * 1024
const maxBytes = 1024 * 1024

/** 20 bits of the hash must be zero before the usual size, 16 after it. */
const strictMask = 0xfffff000
const looseMask = 0xffff0000
/** The hash depends on this many bytes: each byte is shifted out after 32 steps. */
const windowBytes = 32

/** The offset after the next chunk in `bytes`; undefined if the chunk does not end here and more bytes may follow. */
export function nextCut(bytes: Uint8Array, from: number): number | undefined {
  const last = Math.min(bytes.length, from + maxBytes)
  const usual = Math.min(last, from + usualBytes)
  let hash = 0
  let at = from + minBytes - windowBytes
  for (; at < usual; at++) {
    hash = ((hash << 1) + gear[bytes[at]!]!) | 0
    if ((hash & strictMask) === 0) return at + 1
  }
  for (; at < last; at++) {
    hash = ((hash << 1) + gear[bytes[at]!]!) | 0
    if ((hash & looseMask) === 0) return at + 1
  }
  return last === from + maxBytes ? last : undefined
}

/** Random numbers that are always the same: other numbers would cut at other places, and nothing would be found twice. */
const gear = makeGear()

function makeGear(): Int32Array {
  const table = new Int32Array(256)
  let state = 0x9e3779b9
  for (let i = 0; i < table.length; i++) {
    // xorshift32, mixed once more by a multiplication.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    table[i] = Math.imul(state, 0x85ebca6b)
  }
  return table
}

/** What stands in a stored chunk for the id of its session; as long as an id. */
const placeholder = Buffer.from('\u0000rockpool-vault: the id of a session')

/** A copy of `bytes` with the placeholder instead of `id`; undefined if nothing was replaced or nothing can be. */
export function maskId(bytes: Buffer, id: string): Buffer | undefined {
  const wanted = Buffer.from(id)
  // Bytes that contain the placeholder already could not be told apart afterwards.
  if (wanted.length !== placeholder.length || !bytes.includes(wanted) || bytes.includes(placeholder))
    return undefined
  return replaceAll(Buffer.from(bytes), wanted, placeholder)
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
