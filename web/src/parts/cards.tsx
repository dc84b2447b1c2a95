// The cards of a conversation: messages, and tool calls folded to one line with their result.
import { createContext } from 'preact'
import type { ComponentChildren } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Card } from '../data.ts'
import { clock, visible } from '../format.ts'
import type { CardPart } from '../split-text.ts'
import { Diff } from './diff.tsx'
import { Link } from './link.tsx'
import { Markdown } from './markdown.tsx'

export interface CardProps {
  card: Card
  /** Paths are shown relative to this folder. */
  root?: string
  result?: Card
  /** Who asks. */
  asker?: string
  /** Who answers. */
  agent?: string
  /** The session whose sub-agents can be opened. */
  sessionId?: string
  /** The card of the linked message. */
  isTarget?: boolean
  /** It continues the previous card. */
  goesOn?: CardPart['goesOn']
  onFork?: (uuid: string) => void
  onLink?: (uuid: string) => void
}

export function CardView(props: CardProps) {
  const { card, root, result, sessionId, isTarget, goesOn, onFork, onLink } = props
  const { asker = 'You', agent = 'Claude' } = props
  const more = `${isTarget ? ' target' : ''}${goesOn ? ` goes-on ${goesOn}` : ''}`
  switch (card.kind) {
    case 'prompt':
      return (
        <article class={`card prompt${more}`}>
          {!goesOn && <Head who={asker} card={card} onFork={onFork} onLink={onLink} />}
          <p class="said">{visible(card.text)}</p>
        </article>
      )
    case 'text':
      return (
        <article class={`card answer${more}`}>
          {!goesOn && <Head who={agent} card={card} onFork={onFork} onLink={onLink} />}
          <Markdown text={card.text} />
        </article>
      )
    case 'thinking':
      return <Thought card={card} more={more} />
    case 'tool':
      return <ToolCard card={card} root={root} result={result} sessionId={sessionId} more={more} />
    case 'compaction':
      return (
        <div class="cliff" role="separator">
          Context compacted here: the messages above are no longer in it
        </div>
      )
    default:
      return <p class={`card notice${more}`}>{visible(card.text)}</p>
  }
}

/** The cost of rendering a card: Markdown must be parsed and laid out. */
export function weightOf({ kind, text }: Card): number {
  return kind === 'text' ? 1 + text.length / 300 : 1 + (kind === 'prompt' ? text.length / 1000 : 0)
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

/** An opened card stays open after scrolling away and back. */
export const Unfolded = createContext<Set<string> | undefined>(undefined)

function useFold(name: string | undefined): [isOpen: boolean, toggle: () => void] {
  const unfolded = useContext(Unfolded)
  const [open, setOpen] = useState(name !== undefined && unfolded?.has(name) === true)
  const toggle = (): void => {
    setOpen(!open)
    if (name === undefined) return
    if (open) unfolded?.delete(name)
    else unfolded?.add(name)
  }
  return [open, toggle]
}

function Thought({ card, more }: { card: Card; more: string }) {
  const [open, toggle] = useFold(card.uuid && `thinking ${card.uuid}`)
  return (
    <article class={`card thinking${more}`}>
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        Thinking
      </button>
      {open && <p class="said">{visible(card.text)}</p>}
    </article>
  )
}

interface ToolProps extends Pick<CardProps, 'card' | 'root' | 'result' | 'sessionId'> {
  more: string
}

function ToolCard({ card, root, result, sessionId, more }: ToolProps) {
  const [open, toggle] = useFold(card.toolUseId)
  const { name, input } = card.tool!
  const state = result === undefined ? 'runs' : result.isError ? 'failed' : 'done'
  return (
    <article class={`card tool ${state}${more}`}>
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <span class="toolname">{visible(name)}</span>{' '}
        <span class="about">{visible(aboutTool(input, root))}</span>
        <span class="faint">{state === 'done' ? '' : state}</span>
      </button>
      {sessionId !== undefined && result?.subagent !== undefined && (
        <Link class="aside" to={{ view: 'session', id: sessionId, subagent: result.subagent }}>
          What it did
        </Link>
      )}
      {open && (
        <div class="inside">
          <Input input={input} />
          {result && <pre class={result.isError ? 'error' : ''}>{visible(result.text) || '(nothing)'}</pre>}
        </div>
      )}
    </article>
  )
}

/** An edit as a difference, a command as text, other input as JSON. */
function Input({ input }: { input: Record<string, unknown> }) {
  const { old_string: before, new_string: after, command, content } = input
  if (typeof before === 'string' && typeof after === 'string') return <Diff before={before} after={after} />
  if (typeof content === 'string') return <Diff before="" after={content} />
  if (Array.isArray(input['edits'])) return <Edits edits={input['edits']} />
  return <pre>{visible(typeof command === 'string' ? command : JSON.stringify(input, null, 2))}</pre>
}

function Edits({ edits }: { edits: unknown[] }) {
  // The format of Claude Code; any other input is shown without changes.
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
  const about = ['command', 'file_path', 'pattern', 'path', 'url', 'description', 'prompt', 'query'].map(
    (field) => input[field],
  )
  const text = about.find((value): value is string => typeof value === 'string')
  const line = text?.split('\n')[0]?.slice(0, 160) ?? ''
  return root !== undefined && line.startsWith(`${root}/`) ? line.slice(root.length + 1) : line
}
