// Mentions: was the agent addressed by one of its patterns, and the text without the mention.
import { RockpoolError } from '../domain/errors.ts'
import { MentionPattern } from './mention-pattern.ts'

export interface MentionRules {
  /** The agent's own names on the platform, with or without `@`. */
  names?: readonly string[]
  /** `messages.groupChat.mentionPatterns`: regular expressions, upper and lower case alike. */
  patterns?: readonly MentionPattern[]
}

/** Removes mention tokens, and keeps the lines as they are. For groups and channels only. */
export function stripMentions(text: string, rules: MentionRules = {}): string {
  let rest = text
  for (const pattern of rules.patterns ?? []) rest = pattern.without(rest)
  for (const pattern of [...namePatterns(rules.names ?? []), ...opaqueMentions]) {
    rest = rest.replace(new RegExp(`(?:${pattern.source})[ \\t]?`, 'giu'), '')
  }
  return rest === text ? text : rest.replace(/ $/gm, '').trim()
}

export function isMentioned(text: string, rules: MentionRules): boolean {
  const isNamed = namePatterns(rules.names ?? []).some((pattern) =>
    pattern.test(text.slice(0, longestSearch)),
  )
  return isNamed || (rules.patterns ?? []).some((pattern) => pattern.matches(text))
}

/** Patterns from the configuration. One that could clearly take for ever is refused; the others have a time limit. */
export function compileMentionPatterns(sources: readonly string[]): MentionPattern[] {
  return sources.map((source) => {
    if (source.length > 200 || repeatedRepetition.test(source)) throw refusedPattern(source)
    try {
      return new MentionPattern(source)
    } catch (error) {
      throw refusedPattern(source, error)
    }
  })
}

const longestSearch = 10_000

// `(a+)+`, `(a|b)*`, `(\w*){2,}`: a repeated group that repeats or chooses inside.
const repeatedRepetition = /\([^)]*[+*}|][^)]*\)\s*(?:[+*]|\{\d+,)/

// Numbers that the platforms write for a person: they mean nothing to a reader. `<@123>`, `<@!123>`, `@4915112345678`.
const opaqueMentions = [/<@[!&]?\d+>/u, /@\+?\d{5,}/u]

function namePatterns(names: readonly string[]): RegExp[] {
  return names
    .map((name) => name.replace(/^@/, ''))
    .filter((name) => name !== '')
    .map((name) => new RegExp(`@${escapeRegExp(name)}(?![\\p{L}\\p{N}_])`, 'iu'))
}

export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function refusedPattern(source: string, cause?: unknown): RockpoolError {
  return new RockpoolError(
    'config-invalid',
    `messages.groupChat.mentionPatterns: ${JSON.stringify(source)} cannot be used.`,
    { hint: 'Use a short regular expression without a repetition inside a repeated group.', cause },
  )
}
