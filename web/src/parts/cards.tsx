// The cards of a conversation: messages, and tool calls folded to one line with their result.
import { createContext } from 'preact'
import type { ComponentChildren } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { Card } from '../data.ts'
import { clock, visible } from '../format.ts'
import type { CardPart } from '../split-text.ts'
import { Changes, Code, Copy } from './code.tsx'
import { Link } from './link.tsx'
import { Markdown } from './markdown.tsx'
import { Words } from './marked.tsx'

export type Unfinished = 'runs' | 'waits for you' | 'has no result'

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
  /** What a tool without a result does. */
  unfinished?: Unfinished
  /** It continues the previous card. */
  goesOn?: CardPart['goesOn']
  onFork?: (uuid: string) => void
  onLink?: (uuid: string) => void
}

export function CardView(props: CardProps) {
  const { card, root, result, sessionId, isTarget, unfinished, goesOn, onFork, onLink } = props
  const { asker = 'You', agent = 'Claude' } = props
  const more = `${isTarget ? ' target' : ''}${goesOn ? ` goes-on ${goesOn}` : ''}`
  switch (card.kind) {
    case 'prompt':
      return (
        <article class={`card prompt${more}`}>
          {!goesOn && <Head who={asker} card={card} onFork={onFork} onLink={onLink} />}
          <p class="said">
            <Words text={card.text} />
          </p>
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
      return <ToolCard {...{ card, root, result, sessionId, unfinished, more }} />
    case 'compaction':
      return (
        <div class="cliff" role="separator">
          Context compacted here: the messages above are no longer in it
        </div>
      )
    default:
      return <p class={`card notice faint${more}`}>{visible(card.text)}</p>
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
      <Copy text={card.text} />
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

interface ToolProps extends Pick<CardProps, 'card' | 'root' | 'result' | 'sessionId' | 'unfinished'> {
  more: string
}

function ToolCard({ card, root, result, sessionId, unfinished, more }: ToolProps) {
  const [open, toggle] = useFold(card.toolUseId)
  const { name, input } = card.tool!
  const state = toolState(result, unfinished)
  return (
    <article class={`card tool ${state.replaceAll(' ', '-')}${more}`}>
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

/** A tool that a person refused has a failed result that says so. */
function toolState(result: Card | undefined, unfinished: Unfinished = 'runs'): string {
  if (result === undefined) return unfinished
  if (!result.isError) return 'done'
  if (/no answer|expired/i.test(result.text.slice(0, 200))) return 'expired'
  return /person said no|denied|doesn't want to proceed/i.test(result.text.slice(0, 200))
    ? 'denied'
    : 'failed'
}

/** An edit as a difference, a command as text, other input as a list of its fields. */
function Input({ input }: { input: Record<string, unknown> }) {
  const { new_string: after, command, content, edits } = input
  if (typeof after === 'string' || typeof content === 'string' || Array.isArray(edits))
    return <Changes input={input} />
  if (typeof command === 'string') return <Code text={command} language="sh" />
  return (
    <dl class="fields">
      {Object.entries(input).map(([name, value]) => (
        <>
          <dt key={name}>{visible(name)}</dt>
          <dd>{visible(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</dd>
        </>
      ))}
    </dl>
  )
}

interface ToolRunProps {
  run: Card[]
  results: Map<string | undefined, Card>
  root?: string
  sessionId?: string
}

/** Several tool calls in a row, as one line that unfolds. */
export function ToolRun({ run, results, root, sessionId }: ToolRunProps) {
  const [open, toggle] = useFold(`run ${run[0]?.toolUseId}`)
  return (
    <article class="card tool run">
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <span class="toolname">{summaryOf(run)}</span>
      </button>
      {open &&
        run.map((card) => (
          <ToolCard
            key={card.toolUseId}
            card={card}
            result={results.get(card.toolUseId)}
            root={root}
            sessionId={sessionId}
            more=""
          />
        ))}
    </article>
  )
}

const verbs: Record<string, [one: string, many: string]> = {
  Read: ['read', 'reads'],
  Bash: ['command', 'commands'],
  Edit: ['edit', 'edits'],
  MultiEdit: ['edit', 'edits'],
  Write: ['file written', 'files written'],
  Grep: ['search', 'searches'],
  Glob: ['search', 'searches'],
}

/** For example: 4 reads, 2 commands. */
export function summaryOf(run: Card[]): string {
  const kinds = Map.groupBy(run, ({ tool }) =>
    (verbs[tool?.name ?? ''] ?? [tool?.name ?? '', tool?.name ?? '']).join('/'),
  )
  return [...kinds]
    .map(([kind, cards]) => {
      const [one = '', many = ''] = kind.split('/')
      return visible(`${cards.length} ${cards.length === 1 ? one : many}`)
    })
    .join(', ')
}

function aboutTool(input: Record<string, unknown>, root: string | undefined): string {
  const about = ['command', 'file_path', 'pattern', 'path', 'url', 'description', 'prompt', 'query'].map(
    (field) => input[field],
  )
  const text = about.find((value): value is string => typeof value === 'string')
  const line = text?.split('\n')[0]?.slice(0, 160) ?? ''
  return root !== undefined && line.startsWith(`${root}/`) ? line.slice(root.length + 1) : line
}
