// JSON for a file or a wire. JavaScript's strings may hold half of a character pair (a text that was cut in the middle of an
// emoji); JSON writes such a half as an escape, and many readers then refuse the whole line. Here it becomes U+FFFD.

/** A half pair is the only thing that `JSON.stringify` writes as `\ud…`; two backslashes before it are a backslash that was said. */
const halfPair = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

export function jsonText(value: unknown): string {
  const text = JSON.stringify(value)
  // Undefined has no JSON, whatever the types say.
  if (!text?.includes('\\ud')) return text
  // Neighbours share their boundary, so what stood between two matches is looked at again.
  return text.replace(halfPair, '$1\\ufffd').replace(halfPair, '$1\\ufffd')
}
