// Limits for JSON from outside. Deeply nested values can be parsed but not written again (JSON.stringify overflows the
// stack), and a key named `__proto__` changes what a careless copy inherits.
import { RockpoolError } from './errors.ts'

export const maxJsonDepth = 64

export function isTooDeep(value: unknown, limit = maxJsonDepth): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  for (const inner of Object.values(value)) if (isTooDeep(inner, limit - 1)) return true
  return false
}

export function checkJsonDepth(value: unknown, what: string): void {
  if (!isTooDeep(value)) return
  throw new RockpoolError('input-invalid', `${what} is nested more than ${maxJsonDepth} levels deep.`, {
    hint: 'Flatten it. Nothing was changed.',
  })
}

/** The same value, or a copy without keys named `__proto__`: they are never data, and a careless copy would act on them. */
export function withoutProtoKeys<T>(value: T): T {
  return hasProtoKey(value) ? (copyWithoutProtoKeys(value) as T) : value
}

export function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey)
}

function copyWithoutProtoKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyWithoutProtoKeys)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([key]) => key !== '__proto__')
  return Object.fromEntries(members.map(([key, inner]) => [key, copyWithoutProtoKeys(inner)]))
}
