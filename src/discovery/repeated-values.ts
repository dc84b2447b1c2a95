// Values repeat from line to line: a directory, a branch, a model. Compares bytes, so that unchanged values need no strings.
import type { Span } from './json-bytes.ts'

/** The bytes of a value as they were last seen, so that the same value again costs no string. */
export class Remembered {
  #bytes = new Uint8Array(64)
  #length = -1

  /** Is the value another one than last time? Then it is remembered instead. */
  differs(buffer: Buffer, { start, end }: Span): boolean {
    const length = end - start
    if (this.#length === length && this.#isSame(buffer, start)) return false
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(length * 2)
    const bytes = this.#bytes
    for (let i = 0; i < length; i++) bytes[i] = buffer[start + i]!
    this.#length = length
    return true
  }

  #isSame(buffer: Buffer, start: number): boolean {
    const bytes = this.#bytes
    // From the end: ids differ there.
    for (let i = this.#length - 1; i >= 0; i--) if (bytes[i] !== buffer[start + i]) return false
    return true
  }
}
