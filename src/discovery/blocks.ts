// What a message of Claude's is made of, read from a file that anybody may have written: whatever is no block is no part of it.
export type Fields = Record<string, unknown>

export function blocksIn(content: unknown): Fields[] {
  return Array.isArray(content) ? content.filter(isFields) : []
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
