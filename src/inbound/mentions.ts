// Mentions of the agent: whether a text contains one, and the text without it.
import { Script, createContext, type Context } from 'node:vm'
import { RockpoolError } from '../domain/errors.ts'

export interface MentionRules {
  /** The agent's own names on the platform, with or without `@`. */
  names?: readonly string[]
  /** `messages.groupChat.mentionPatterns`: regular expressions that ignore case. */
  patterns?: readonly MentionPattern[]
}

/** Removes mentions and keeps the line breaks. For groups and channels only. */
export function stripMentions(text: string, rules: MentionRules = {}): string {
  let rest = text
  for (const pattern of rules.patterns ?? []) rest = pattern.without(rest)
  for (const pattern of [...namePatterns(rules.names ?? []), ...opaqueMentions]) {
    rest = rest.replace(new RegExp(`(?:${pattern.source})[ \\t]?`, 'giu'), '')
  }
  return rest === text ? text : rest.replace(/ $/gm, '').trim()
}

export function isMentioned(text: string, rules: MentionRules): boolean {
  const isNamed = namePatterns(rules.names ?? []).some((pattern) => pattern.test(text.slice(0, longestText)))
  return isNamed || (rules.patterns ?? []).some((pattern) => pattern.matches(text))
}

/** Compiles patterns of the configuration. Patterns with nested repetition are refused; the others have a time limit. */
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

// `(a+)+`, `(a|b)*`, `(\w*){2,}`: a repeated group that repeats or chooses inside.
const repeatedRepetition = /\([^)]*[+*}|][^)]*\)\s*(?:[+*]|\{\d+,)/

// Ids that platforms write instead of a name: `<@123>`, `<@!123>`, `@4915112345678`.
const opaqueMentions = [/<@[!&]?\d+>/u, /@\+?\d{5,}/u]

function namePatterns(names: readonly string[]): RegExp[] {
  return names
    .map((name) => name.replace(/^@/, ''))
    .filter((name) => name !== '')
    .map((name) => new RegExp(`@${escapeRegExp(name)}(?![\\p{L}\\p{N}_])`, 'iu'))
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

function refusedPattern(source: string, cause?: unknown): RockpoolError {
  return new RockpoolError(
    'config-invalid',
    `messages.groupChat.mentionPatterns: ${JSON.stringify(source)} cannot be used.`,
    { hint: 'Use a short regular expression without a repetition inside a repeated group.', cause },
  )
}

/** Time limits of the first and the second try. They are wall time: on a busy machine a good pattern can exceed the first. */
const limitsMs = [25, 250]
/** Only this many characters are searched; mentions are near the start of a text. */
const longestText = 10_000

const test = new Script("new RegExp(source, 'iu').test(text)")
const remove = new Script("text.replace(new RegExp(`(?:${source})[ \\\\t]?`, 'giu'), '')")

/**
 * A regular expression of the configuration. Some expressions take minutes on a hostile text, so every match has a time
 * limit. A pattern that exceeded it is not used again in this process.
 */
class MentionPattern {
  readonly source: string
  #context: Context | undefined
  #isTooSlow = false

  /** Throws when the source is no regular expression. */
  constructor(source: string) {
    this.source = new RegExp(source, 'iu').source
  }

  matches(text: string): boolean {
    return this.#run(test, text.slice(0, longestText)) === true
  }

  without(text: string): string {
    const head = text.slice(0, longestText)
    const rest = this.#run(remove, head)
    return typeof rest === 'string' ? rest + text.slice(longestText) : text
  }

  #run(script: Script, text: string): unknown {
    if (this.#isTooSlow) return undefined
    const context = (this.#context ??= createContext({ source: this.source, text: '' }))
    context['text'] = text
    for (const timeout of limitsMs) {
      try {
        return script.runInContext(context, { timeout })
      } catch {
        // Only the time limit can fail here: the source was compiled in the constructor.
      }
    }
    this.#isTooSlow = true
    return undefined
  }
}
