// The cards of a Claude Code session or of a sub-agent, each with a name of its own, and where to find one that an address
// names.
import { useMemo } from 'preact/hooks'
import type { Card } from './data.ts'
import { useGateway } from './live.ts'
import { useReading } from './reading.ts'
import type { Reading } from './reading.ts'
import { timeIn } from './route.ts'
import type { SessionRoute } from './route.ts'
import { partsOfCard } from './split-text.ts'
import type { CardPart } from './split-text.ts'

export interface NamedCard extends CardPart {
  key: string
  /** One record may have several cards. */
  isFirstOfRecord: boolean
}

interface CardReading extends Reading<NamedCard> {
  /** The results of tools by the id of their use; filled while pages are loaded. */
  results: Map<string | undefined, Card>
}

/** `at`: the message that the address names; it must be among the items. */
export function useCards({ id, subagent, at }: SessionRoute, raw: boolean): CardReading {
  const gateway = useGateway()
  const name = `${id} ${subagent} ${raw}`
  const results = useMemo(() => new Map<string | undefined, Card>(), [name])
  const reading = useReading(
    {
      name,
      async read(wanted) {
        const { cards, before, after } = await gateway.call('cc.read', { id, subagent, raw, ...wanted })
        for (const card of cards) if (card.kind === 'result') results.set(card.toolUseId, card)
        return { items: named(cards), before, after }
      },
      isNews: (event) => event.type === 'native-changed' && event.sessionId === id,
      most: 1000,
      canJump: true,
    },
    at === undefined ? undefined : { at, isAmong: (cards) => placeOf(cards, at, true) !== -1 },
  )
  return { ...reading, results }
}

/** A page has whole records, so the number within a record identifies a card permanently. */
export function named(cards: Card[]): NamedCard[] {
  let record: string | undefined
  let nth = 0
  return cards.flatMap(partsOfCard).map((part) => {
    const { card } = part
    const of = card.uuid ?? `@${card.at}`
    nth = of === record ? nth + 1 : 0
    record = of
    return { ...part, key: nth === 0 ? of : `${of} ${nth}`, isFirstOfRecord: nth === 0 }
  })
}

/** The position of the message that the address names: by its uuid, or the first one at or after a time. */
export function placeOf(cards: NamedCard[], at: string, hasMore: boolean): number {
  const time = timeIn(at)
  if (time === undefined) return cards.findIndex(({ card }) => card.uuid === at)
  const isInside = !hasMore || (cards[0] !== undefined && cards[0].card.at <= time)
  return isInside ? cards.findIndex(({ card }) => card.at >= time) : -1
}
