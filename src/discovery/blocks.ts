// The content blocks of a message of Claude's. The file is untrusted: values that are not blocks are dropped.
export type Fields = Record<string, unknown>

export function blocksIn(content: unknown): Fields[] {
  return Array.isArray(content) ? content.filter(isFields) : []
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
