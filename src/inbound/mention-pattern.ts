// A regular expression that a person configured. Some take minutes on the wrong text, and text comes from strangers, so every
// match has a time limit: V8 interrupts it. A pattern that was once too slow is not used again in this process.
import { Script, createContext } from 'node:vm'
import type { Context } from 'node:vm'

const limitMs = 25
/** Mentions stand near the beginning. */
const longestText = 10_000

const test = new Script("new RegExp(source, 'iu').test(text)")
const remove = new Script("text.replace(new RegExp(`(?:${source})[ \\\\t]?`, 'giu'), '')")

export class MentionPattern {
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
    try {
      return script.runInContext(context, { timeout: limitMs })
    } catch {
      // Only the time limit can fail here: the source was compiled in the constructor.
      this.#isTooSlow = true
      return undefined
    }
  }
}
