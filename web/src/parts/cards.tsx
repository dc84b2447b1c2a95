// The cards of a conversation: what was said, and tools folded to one line with their result.
import { useState } from 'preact/hooks'
import type { Card } from '../data.ts'
import { visible } from '../format.ts'
import { Diff } from './diff.tsx'
import { Markdown } from './markdown.tsx'

interface CardProps {
  card: Card
  result: Card | undefined
  onFork?: (uuid: string) => void
}

export function CardView({ card, result, onFork }: CardProps) {
  const fork = card.uuid !== undefined && onFork && (
    <button type="button" class="quiet" onClick={() => onFork(card.uuid!)}>
      Fork from here
    </button>
  )
  switch (card.kind) {
    case 'prompt':
      return (
        <article class="card prompt">
          <h3>You</h3>
          <p class="said">{visible(card.text)}</p>
          {fork}
        </article>
      )
    case 'text':
      return (
        <article class="card answer">
          <h3 class="sr">Claude</h3>
          <Markdown text={card.text} />
          {fork}
        </article>
      )
    case 'thinking':
      return (
        <details class="card thinking">
          <summary>Thinking</summary>
          <p class="said">{visible(card.text)}</p>
        </details>
      )
    case 'tool':
      return <ToolCard card={card} result={result} />
    case 'compaction':
      return (
        <div class="cliff" role="separator">
          Context compacted here: what stands above is no longer in it
        </div>
      )
    default:
      return <p class="card notice">{card.text}</p>
  }
}

function ToolCard({ card, result }: { card: Card; result: Card | undefined }) {
  const [open, setOpen] = useState(false)
  const { name, input } = card.tool!
  const state = result === undefined ? 'runs' : result.isError ? 'failed' : 'done'
  return (
    <article class={`card tool ${state}`}>
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="toolname">{visible(name)}</span> <span class="about">{visible(aboutTool(input))}</span>
        <span class="faint">{state === 'done' ? '' : state}</span>
      </button>
      {open && (
        <div class="inside">
          {typeof input['old_string'] === 'string' && typeof input['new_string'] === 'string' ? (
            <Diff before={input['old_string']} after={input['new_string']} />
          ) : (
            <pre>
              {visible(
                typeof input['command'] === 'string' ? input['command'] : JSON.stringify(input, null, 2),
              )}
            </pre>
          )}
          {result && <pre class={result.isError ? 'error' : ''}>{visible(result.text) || '(nothing)'}</pre>}
        </div>
      )}
    </article>
  )
}

function aboutTool(input: Record<string, unknown>): string {
  const about = ['command', 'file_path', 'path', 'pattern', 'url', 'description', 'prompt', 'query'].map(
    (field) => input[field],
  )
  const text = about.find((value): value is string => typeof value === 'string')
  return text?.split('\n')[0]?.slice(0, 160) ?? ''
}
