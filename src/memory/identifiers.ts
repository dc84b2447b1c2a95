// Code identifiers split sensibly, so that `jsonl header` finds `parseJsonlHeader`.

const camel = /[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*/g

/** The text, followed by the parts of its camel-case words. Parts at the end leave phrases intact. */
export function withIdentifierParts(text: string): string {
  const found = text.match(camel)
  if (!found) return text
  const parts = new Set<string>()
  for (const word of found) if (word.length <= 80) parts.add(splitIdentifier(word))
  return `${text}\n${[...parts].join(' ')}`
}

export function splitIdentifier(word: string): string {
  return word.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
}
