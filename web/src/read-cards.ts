// The cards of a session: the last ones at once, older ones as the reader goes up, new ones as they are written.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { InputOf } from '../../src/rpc/client.ts'
import type { Card } from './data.ts'
import { messageOf, useGateway } from './live.ts'

export interface Reading {
  cards: Card[]
  /** The beginning comes near. */
  more: () => void
  error: string | undefined
  isLoading: boolean
}

/** The largest page that the gateway gives. */
const most = 1000

/** `at` is a message that must be among them; the reader came to see it. */
export function useCards(id: string, options: { raw: boolean; at?: string }): Reading {
  const { raw, at } = options
  const gateway = useGateway()
  const [older, setOlder] = useState<Card[]>([])
  const [newest, setNewest] = useState<Card[]>()
  const [error, setError] = useState<string>()
  const before = useRef<number>(undefined)
  const loading = useRef(false)
  const latest = useRef<Card[]>([])
  const page = (wanted: Pick<InputOf<'cc.read'>, 'limit' | 'before'>) =>
    gateway.call('cc.read', { id, raw, ...wanted })
  const fail = (problem: unknown): void => setError(messageOf(problem))
  useEffect(() => {
    let isGone = false
    latest.current = []
    const read = async (limit: number): Promise<void> => {
      const { cards, before: mark } = await page({ limit })
      if (isGone) return
      const known = joined(latest.current, cards)
      if (!known && latest.current.length > 0 && limit < most) return read(most)
      if (!known) {
        // The first look, or so much is new that the two do not meet: begin from the end.
        setOlder([])
        before.current = mark
      }
      latest.current = known ?? cards
      setNewest(latest.current)
      setError(undefined)
    }
    const again = (): void => void read(latest.current.length === 0 ? 200 : 60).catch(fail)
    const event = (told: { type: string; sessionId?: string }): void => {
      if (told.type === 'native-changed' && told.sessionId === id) again()
    }
    const stops = [
      gateway.listen('sessions', {}, { event, gap: again }),
      gateway.onConnected(again),
      () => (isGone = true),
    ]
    again()
    return () => {
      for (const stop of stops) stop()
    }
  }, [id, raw])
  const more = (limit = 300): void => {
    if (loading.current || before.current === undefined) return
    loading.current = true
    page({ limit, before: before.current })
      .then((found) => {
        before.current = found.before
        setOlder((known) => [...found.cards, ...known])
      })
      .catch(fail)
      .finally(() => (loading.current = false))
  }
  const cards = useMemo(() => [...older, ...(newest ?? [])], [older, newest])
  // What somebody wants to see may lie far up: go there page by page.
  useEffect(() => {
    if (at !== undefined && newest && placeOf(cards, at) === -1) more(most)
  }, [at, cards])
  return { cards, more: () => more(), error, isLoading: newest === undefined && error === undefined }
}

/** Where the message is that an address names: by its uuid, or the first one at or after a time. */
export function placeOf(cards: Card[], at: string): number {
  const time = /^@(\d+)$/.exec(at)?.[1]
  if (time === undefined) return cards.findIndex((card) => card.uuid === at)
  const isOlder = cards[0] !== undefined && cards[0].at <= Number(time)
  return isOlder ? cards.findIndex((card) => card.at >= Number(time)) : -1
}

/** What is known and what came after its last card; undefined when nothing is known or the two do not meet. */
function joined(known: Card[], page: Card[]): Card[] | undefined {
  const last = known.at(-1)
  const place = page.findLastIndex((card) => card.uuid === last?.uuid && card.kind === last?.kind)
  return last === undefined || place === -1 ? undefined : [...known, ...page.slice(place + 1)]
}
