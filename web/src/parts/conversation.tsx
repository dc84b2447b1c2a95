// The live conversation of a Claude Code session: cards that can be linked, forked from, found in, and shown as raw records.
import { useCallback, useMemo, useState } from 'preact/hooks'
import type { Approval, Card, CodingRow } from '../data.ts'
import { visible } from '../format.ts'
import { placeOf, useCards } from '../read-cards.ts'
import type { NamedCard } from '../read-cards.ts'
import { go } from '../route.ts'
import type { Look, SessionRoute } from '../route.ts'
import type { Row } from '../rows.ts'
import { CardView, ToolRun, Unfolded, weightOf } from './cards.tsx'
import type { CardProps, Unfinished } from './cards.tsx'
import { Find } from './find-in-session.tsx'
import { Marked } from './marked.tsx'
import { Empty, Problem } from './states.tsx'
import { VirtualList } from './virtual-list.tsx'
import { useWriting, Working } from './working.tsx'

export interface ConversationProps {
  /** The session or sub-agent, and the message that the address names. */
  place: SessionRoute
  look: Look
  /** Records as Claude Code wrote them. */
  raw?: boolean
  /** Who answers, if it is a sub-agent; then Claude asks. */
  subagentName?: string
  /** The program that answers, if it is not Claude Code. */
  agentKind?: string
  /** Paths are shown relative to this folder. */
  root?: string
  /** The state of the session that lists show. */
  state?: Row['state']
  /** The open requests of the session. */
  requests?: Approval[]
  /** The coding session that works on it now. */
  coding?: CodingRow
  promptCount?: number
  /** Cards that follow the transcript and are not in it. */
  unwritten?: NamedCard[]
  onFork?: (uuid: string) => void
}

const none: NamedCard[] = []
const noRequests: Approval[] = []

/** A card, or several tool calls in a row that are shown as one. */
type Item = NamedCard | { key: string; run: NamedCard[] }

/** Nothing runs in a session that does not work, also if a call never got a result. */
export function unfinishedIn(state: Row['state'] | undefined, isAsked: boolean): Unfinished {
  if (isAsked) return 'waits for you'
  return state === undefined || state === 'working' ? 'runs' : 'has no result'
}

/** The calls that open requests name: by id, else the last call without a result that has the same tool and input. */
export function askedCalls(
  cards: NamedCard[],
  results: Map<string | undefined, Card>,
  requests: Approval[],
): Set<string> {
  const open = cards.filter(({ card }) => card.kind === 'tool' && !results.has(card.toolUseId))
  const isNamed = ({ card }: NamedCard, { toolUseId, toolName, input }: Approval): boolean =>
    toolUseId === undefined
      ? card.tool?.name === toolName && JSON.stringify(card.tool.input) === JSON.stringify(input)
      : card.toolUseId === toolUseId
  const named = requests.map((request) => open.findLast((card) => isNamed(card, request)))
  return new Set(named.flatMap((found) => found?.key ?? []))
}

export function Conversation(props: ConversationProps) {
  const {
    place,
    look,
    raw = false,
    subagentName,
    agentKind,
    root,
    state,
    requests = noRequests,
    coding,
    unwritten = none,
    onFork,
  } = props
  const { id, subagent, at } = place
  const reading = useCards({ view: 'session', id, subagent, at }, raw)
  const { items: cards, results, hasMore, hasLater, error, isLoading } = reading
  // A list that is loaded again starts at its end.
  const [begun, setBegun] = useState(0)
  const shown = useMemo(
    () => cards.filter(({ card, isFirstOfRecord }) => (raw ? isFirstOfRecord : card.kind !== 'result')),
    [cards, raw],
  )
  const writing = useWriting(coding, shown)
  const target = at === undefined ? undefined : shown[placeOf(shown, at, hasMore)]?.key
  const items = useMemo(
    () => [...(raw ? shown : inRuns(shown, results, target)), ...unwritten, ...writing],
    [shown, raw, target, unwritten, writing, results],
  )
  const goTo = useCallback(
    (message?: string, mark = look.mark) =>
      go({ view: 'session', id, subagent, at: message }, { ...look, mark }),
    [id, subagent, look],
  )
  const unfolded = useMemo(() => new Set<string>(), [id, subagent])
  const toEnd = (): void => {
    reading.toEnd()
    setBegun(begun + 1)
    goTo(undefined, undefined)
  }
  const index = items.findIndex((item) => item.key === target)
  const asked = useMemo(() => askedCalls(cards, results, requests), [cards, results, requests])
  const isWaiting = coding?.waiting !== undefined && coding.waiting.for !== 'input'
  return (
    <section class="conversation" aria-label="Conversation">
      <div class="toolbar">
        <Prompts cards={cards} total={props.promptCount} goTo={goTo} />
        {subagent === undefined && <Find id={id} mark={look.mark} at={at} goTo={goTo} />}
        {hasLater && (
          <button type="button" class="quiet" onClick={toEnd}>
            To the end
          </button>
        )}
      </div>
      {error && <Problem text={error} />}
      {reading.isMissing && !error && (
        <p class="faint missing" role="status">
          The message that the address names is not in this session.
        </p>
      )}
      {!isLoading && items.length === 0 && !error ? (
        <Empty title="Nothing was said yet">
          <p>The messages of this session appear here while they are written.</p>
        </Empty>
      ) : (
        <Marked.Provider value={look.mark ?? ''}>
          <Unfolded.Provider value={unfolded}>
            <VirtualList
              key={begun}
              items={items}
              keyOf={({ key }) => key}
              onStart={reading.more}
              onEnd={hasLater ? reading.later : undefined}
              weightOf={(item) => ('run' in item ? 1 : weightOf(item.card))}
              target={index === -1 ? undefined : index}
              label="Transcript"
            >
              {(item) =>
                'run' in item ? (
                  <ToolRun
                    run={item.run.map(({ card }) => card)}
                    results={results}
                    root={root}
                    sessionId={id}
                  />
                ) : (
                  <Said
                    card={item.card}
                    goesOn={item.goesOn}
                    raw={raw}
                    root={root}
                    asker={subagentName && 'Claude'}
                    agent={unwritten.includes(item) ? 'Offline agent' : (subagentName ?? agentKind)}
                    sessionId={id}
                    result={results.get(item.card.toolUseId)}
                    isTarget={item.key === target}
                    unfinished={unfinishedIn(state, asked.has(item.key))}
                    onFork={onFork}
                    onLink={goTo}
                    mark={look.mark}
                  />
                )
              }
            </VirtualList>
          </Unfolded.Provider>
        </Marked.Provider>
      )}
      {coding && !isWaiting && <Working coding={coding} cards={cards} />}
    </section>
  )
}

const shortestRun = 3

/** Finished tool calls in a row become one line; the named message and calls that still run stay as they are. */
export function inRuns(
  cards: NamedCard[],
  results: Map<string | undefined, Card>,
  target: string | undefined,
): Item[] {
  const items: Item[] = []
  let run: NamedCard[] = []
  const end = (): void => {
    items.push(...(run.length < shortestRun ? run : [{ key: `run ${run[0]!.key}`, run }]))
    run = []
  }
  for (const named of cards) {
    const { card, key } = named
    const result = results.get(card.toolUseId)
    const isPlain = card.kind === 'tool' && result !== undefined && !result.subagent && key !== target
    if (isPlain) run.push(named)
    else {
      end()
      items.push(named)
    }
  }
  end()
  return items
}

interface SaidProps extends CardProps {
  raw: boolean
  mark: string | undefined
}

/** Rendered again only if a property changes: the list is rendered in every frame while scrolling. */
function Said({ raw, mark, ...about }: SaidProps) {
  const { card, goesOn, root, asker, agent, sessionId, result, isTarget, unfinished, onFork, onLink } = about
  return useMemo(
    () => (raw ? <pre class="card raw">{visible(pretty(card.raw ?? ''))}</pre> : <CardView {...about} />),
    [raw, mark, card, goesOn, root, asker, agent, sessionId, result, isTarget, unfinished, onFork, onLink],
  )
}

/** More would slow down loading older pages; the search finds the others. */
const maxPrompts = 50

interface PromptsProps {
  cards: NamedCard[]
  /** Those that are not loaded included. */
  total: number | undefined
  goTo: (message: string) => void
}

/** The last prompts, to jump between them. */
function Prompts({ cards, total, goTo }: PromptsProps) {
  const all = useMemo(
    () => cards.filter(({ card, goesOn }) => card.kind === 'prompt' && card.uuid !== undefined && !goesOn),
    [cards],
  )
  const prompts = all.slice(-maxPrompts)
  const number = Math.max(total ?? 0, all.length)
  return (
    <label class="jump">
      <span class="sr">Go to a prompt</span>
      <select value="" disabled={prompts.length === 0} onChange={(event) => goTo(event.currentTarget.value)}>
        <option value="">
          {number} {number === 1 ? 'prompt' : 'prompts'}
          {prompts.length < number && `, the last ${prompts.length}`}: go to…
        </option>
        {prompts.map(({ card }) => (
          <option key={card.uuid} value={card.uuid}>
            {visible(card.text.slice(0, 90))}
          </option>
        ))}
      </select>
    </label>
  )
}

function pretty(record: string): string {
  try {
    return JSON.stringify(JSON.parse(record), null, 2)
  } catch {
    // A record that was cut off is shown as it is.
    return record
  }
}
