// How values of PostgreSQL become ours: counters and times fit a number, the rest stays text.

/** The driver would give bigint as text, and times as dates. */
export function parserOf(oid: number, format?: string): (text: string) => unknown {
  if (format === 'binary') return (text) => text
  if (oid === 20 || oid === 21 || oid === 23 || oid === 700 || oid === 701) return Number
  if (oid === 16) return (text) => text === 't'
  if (oid === 1009) return parseTextArray
  return (text) => text
}

function parseTextArray(text: string): string[] {
  const found = [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)]
  return found.map(([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
}
