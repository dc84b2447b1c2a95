// The cards of a conversation: what was said, and tools folded to one line with their result.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Card } from '../data.ts'
import { clock, visible } from '../format.ts'
import { Diff } from './diff.tsx'
import { Markdown } from './markdown.tsx'

interface CardProps {
  card: Card
  /** Files of this folder are named without it. */
  root?: string
  result?: Card
  /** Who answers. */
  agent?: string
  /** The one that the address names. */
  isTarget?: boolean
  onFork?: (uuid: string) => void
  onLink?: (uuid: string) => void
}

export function CardView({ card, root, result, agent = 'Claude', isTarget, onFork, onLink }: CardProps) {
  const target = isTarget ? ' target' : ''
  switch (card.kind) {
    case 'prompt':
      return (
        <article class={`card prompt${target}`}>
          <Head who="You" card={card} onFork={onFork} onLink={onLink} />
          <p class="said">{visible(card.text)}</p>
        </article>
      )
    case 'text':
      return (
        <article class={`card answer${target}`}>
          <Head who={agent} card={card} onFork={onFork} onLink={onLink} />
          <Markdown text={card.text} />
        </article>
      )
    case 'thinking':
      return (
        <details class={`card thinking${target}`}>
          <summary>Thinking</summary>
          <p class="said">{visible(card.text)}</p>
        </details>
      )
    case 'tool':
      return <ToolCard card={card} root={root} result={result} target={target} />
    case 'compaction':
      return (
        <div class="cliff" role="separator">
          Context compacted here: what stands above is no longer in it
        </div>
      )
    default:
      return <p class={`card notice${target}`}>{visible(card.text)}</p>
  }
}

function Head({
  who,
  card,
  onFork,
  onLink,
}: Pick<CardProps, 'card' | 'onFork' | 'onLink'> & { who: string }) {
  const { uuid } = card
  return (
    <div class="head">
      <h3>{who}</h3>
      {card.at > 0 && <time dateTime={new Date(card.at).toISOString()}>{clock(card.at)}</time>}
      {uuid !== undefined && onLink && <Quiet onClick={() => onLink(uuid)}>Link</Quiet>}
      {uuid !== undefined && onFork && <Quiet onClick={() => onFork(uuid)}>Fork from here</Quiet>}
    </div>
  )
}

function Quiet({ onClick, children }: { onClick: () => void; children: ComponentChildren }) {
  return (
    <button type="button" class="quiet" onClick={onClick}>
      {children}
    </button>
  )
}

interface ToolProps extends Pick<CardProps, 'card' | 'root' | 'result'> {
  target: string
}

function ToolCard({ card, root, result, target }: ToolProps) {
  const [open, setOpen] = useState(false)
  const { name, input } = card.tool!
  const state = result === undefined ? 'runs' : result.isError ? 'failed' : 'done'
  return (
    <article class={`card tool ${state}${target}`}>
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="toolname">{visible(name)}</span>{' '}
        <span class="about">{visible(aboutTool(input, root))}</span>
        <span class="faint">{state === 'done' ? '' : state}</span>
      </button>
      {open && (
        <div class="inside">
          <Input input={input} />
          {result && <pre class={result.isError ? 'error' : ''}>{visible(result.text) || '(nothing)'}</pre>}
        </div>
      )}
    </article>
  )
}

/** A change as a difference, a command as it would be typed, everything else as it is. */
function Input({ input }: { input: Record<string, unknown> }) {
  const { old_string: before, new_string: after, command, content } = input
  if (typeof before === 'string' && typeof after === 'string') return <Diff before={before} after={after} />
  if (typeof content === 'string') return <Diff before="" after={content} />
  if (Array.isArray(input['edits'])) return <Edits edits={input['edits']} />
  return <pre>{visible(typeof command === 'string' ? command : JSON.stringify(input, null, 2))}</pre>
}

function Edits({ edits }: { edits: unknown[] }) {
  // Claude Code's own shape; whatever else it may be is shown as nothing changed.
  const changes = edits as Array<{ old_string?: string; new_string?: string }>
  return (
    <>
      {changes.map((edit, i) => (
        <Diff key={i} before={edit.old_string ?? ''} after={edit.new_string ?? ''} />
      ))}
    </>
  )
}

function aboutTool(input: Record<string, unknown>, root: string | undefined): string {
  const about = ['command', 'file_path', 'path', 'pattern', 'url', 'description', 'prompt', 'query'].map(
    (field) => input[field],
  )
  const text = about.find((value): value is string => typeof value === 'string')
  const line = text?.split('\n')[0]?.slice(0, 160) ?? ''
  return root !== undefined && line.startsWith(`${root}/`) ? line.slice(root.length + 1) : line
}
