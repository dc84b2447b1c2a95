// The expected value of an input or of a configuration key, in words for people. The texts of the schema library are for
// programmers.
import type { z } from 'zod'

export function expectationOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `${nameOf(issue.expected)} is expected`
  if (issue.code === 'invalid_value')
    return `${issue.values.join(', ').replace(/, ([^,]*)$/, ' or $1')} is expected`
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1)
    return 'a text is expected'
  if (issue.code === 'too_small')
    return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`
  if (issue.code === 'too_big')
    return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`
  if (issue.code === 'invalid_format' && issue.format === 'url')
    return 'an address such as https://example.org is expected'
  return issue.message.replace(/\.$/, '')
}

function nameOf(type: string): string {
  const names: Record<string, string> = {
    int: 'a whole number',
    string: 'a text',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    record: 'an object',
  }
  return names[type] ?? `a ${type}`
}

function unitOf(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : ''
}
