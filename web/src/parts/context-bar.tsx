// What fills a context, by kind, in proportion to the model's window, with the point at which Claude Code compacts it.
import type { Anatomy } from '../data.ts'
import { tokens } from '../format.ts'

/** The bar is a little wider than the context window, so that the end of the window, where Claude Code compacts, is visible. */
const shownOfWindow = 1.04

export function ContextBar({ context, contextTokens, contextWindow }: Anatomy) {
  const window = Math.max(contextWindow, contextTokens, 1)
  const share = (count: number): string => `${(count / (window * shownOfWindow)) * 100}%`
  const words = context.map((part) => `${part.kind} ${tokens(part.tokens)}`).join(', ')
  return (
    <figure class="context">
      <div class="context-bar" role="img" aria-label={`Context: ${words}, of ${tokens(window)} tokens`}>
        {context.map((part) => (
          <span key={part.kind} class={part.kind} style={{ width: share(part.tokens) }} />
        ))}
        <i style={{ left: share(window) }} title="Compacted when it is full" />
      </div>
      <figcaption>
        {context.map((part) => (
          <span key={part.kind}>
            <b class={part.kind} /> {part.kind} {tokens(part.tokens)}
          </span>
        ))}
        <span class="faint">compacted when it reaches {tokens(window)}</span>
      </figcaption>
    </figure>
  )
}
