// Hashes of lines of text, to find again where a line came from. The compiled code makes them (wasm/line-hash.ts), from text as it
// stands in JSON.
import { ScanCode } from './scan-code.ts'

let shared: ScanCode | undefined

/** The hashes of the lines of a text. Lines that say nothing about their origin (a closing brace) have none. */
export function hashesOfText(text: string): Uint32Array {
  const code = hashed(text)
  if (code) return code.hashes()
  return Uint32Array.from(text.split('\n').flatMap((line) => hashOfLine(line) ?? []))
}

/** The hash of one line; undefined for a line that says nothing about its origin, or is longer than any that is scanned. */
export function hashOfLine(line: string): number | undefined {
  return hashed(line)?.firstHash()
}

/** The compiled code after it has hashed the text; undefined if the text is too long for it. */
function hashed(text: string): ScanCode | undefined {
  const code = (shared ??= new ScanCode())
  const json = JSON.stringify(text)
  if (json.length * 3 > code.buffer.length && Buffer.byteLength(json) > code.buffer.length) return undefined
  const end = code.buffer.write(json)
  code.run.hashText(1, end - 1)
  return code
}
