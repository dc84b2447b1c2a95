// The live conversation of a Claude Code session: cards that can be linked, forked from, and shown as raw records.
import { useCallback, useMemo, useState } from 'preact/hooks'
import { visible } from '../format.ts'
import { placeOf, useCards } from '../read-cards.ts'
import type { NamedCard } from '../read-cards.ts'
import { go } from '../route.ts'
import type { SessionRoute } from '../route.ts'
import { CardView, Unfolded, weightOf } from './cards.tsx'
import type { CardProps } from './cards.tsx'
import { Empty, Problem } from './states.tsx'
import { VirtualList } from './virtual-list.tsx'

interface ConversationProps {
  /** The session or sub-agent, and the message that the address names. */
  place: SessionRoute
  /** Who answers, if it is a sub-agent; then Claude asks. */
  subagentName?: string
  /** Paths are shown relative to this folder. */
  root?: string
  onFork?: (uuid: string) => void
  problem?: string
}

export function Conversation({
  place: { id, subagent, at },
  subagentName,
  root,
  onFork,
  problem,
}: ConversationProps) {
  const [raw, setRaw] = useState(false)
  const reading = useCards({ view: 'session', id, subagent, at }, raw)
  const { items: cards, results, hasMore, hasLater, error, isLoading } = reading
  // A list that is loaded again starts at its end.
  const [begun, setBegun] = useState(0)
  const shown = useMemo(
    () => cards.filter(({ card, isFirstOfRecord }) => (raw ? isFirstOfRecord : card.kind !== 'result')),
    [cards, raw],
  )
  const place = at === undefined ? -1 : placeOf(shown, at, hasMore)
  const goTo = useCallback(
    (message?: string) => go({ view: 'session', id, subagent, at: message }),
    [id, subagent],
  )
  const unfolded = useMemo(() => new Set<string>(), [id, subagent])
  const toEnd = (): void => {
    reading.toEnd()
    setBegun(begun + 1)
    goTo()
  }
  const wrong = problem ?? error
  return (
    <section class="conversation" aria-label="Conversation">
      <div class="toolbar">
        <Prompts cards={cards} goTo={goTo} />
        {hasLater && (
          <button type="button" class="quiet" onClick={toEnd}>
            To the end
          </button>
        )}
        <label class="switch">
          <input type="checkbox" checked={raw} onChange={(event) => setRaw(event.currentTarget.checked)} />
          Raw
        </label>
      </div>
      {wrong && <Problem text={wrong} />}
      {reading.isMissing && !wrong && (
        <p class="faint missing" role="status">
          The message that the address names is not in this session.
        </p>
      )}
      {!isLoading && shown.length === 0 && !wrong ? (
        <Empty title="Nothing was said yet">
          <p>The messages of this session appear here while they are written.</p>
        </Empty>
      ) : (
        <Unfolded.Provider value={unfolded}>
          <VirtualList
            key={begun}
            items={shown}
            keyOf={({ key }) => key}
            onStart={reading.more}
            onEnd={hasLater ? reading.later : undefined}
            weightOf={({ card }) => weightOf(card)}
            target={place === -1 ? undefined : place}
            label="Transcript"
          >
            {({ card, goesOn }, index) => (
              <Said
                card={card}
                goesOn={goesOn}
                raw={raw}
                root={root}
                asker={subagentName && 'Claude'}
                agent={subagentName}
                sessionId={id}
                result={results.get(card.toolUseId)}
                isTarget={index === place}
                onFork={onFork}
                onLink={goTo}
              />
            )}
          </VirtualList>
        </Unfolded.Provider>
      )}
    </section>
  )
}

interface SaidProps extends CardProps {
  raw: boolean
}

/** Rendered again only if a property changes: the list is rendered in every frame while scrolling. */
function Said({ raw, ...about }: SaidProps) {
  const { card, goesOn, root, asker, agent, sessionId, result, isTarget, onFork, onLink } = about
  return useMemo(
    () => (raw ? <pre class="card raw">{visible(pretty(card.raw ?? ''))}</pre> : <CardView {...about} />),
    [raw, card, goesOn, root, asker, agent, sessionId, result, isTarget, onFork, onLink],
  )
}

/** More would slow down loading older pages; the search finds the others. */
const maxPrompts = 50

/** The last prompts, to jump between them. */
function Prompts({ cards, goTo }: { cards: NamedCard[]; goTo: (message: string) => void }) {
  const all = useMemo(
    () => cards.filter(({ card, goesOn }) => card.kind === 'prompt' && card.uuid !== undefined && !goesOn),
    [cards],
  )
  const prompts = all.slice(-maxPrompts)
  return (
    <label class="jump">
      <span class="sr">Go to a prompt</span>
      <select value="" disabled={prompts.length === 0} onChange={(event) => goTo(event.currentTarget.value)}>
        <option value="">
          {all.length} {all.length === 1 ? 'prompt' : 'prompts'}: go to…
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
