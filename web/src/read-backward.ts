// A record that is read from its end: the last piece at once, older ones as the reader goes up, new ones as they are
// written. What is known stays as it is, so that one more piece costs no more at the end of a long way than at its start.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { RockpoolEvent } from './gateway.ts'
import { messageOf, useGateway } from './live.ts'

export interface Piece<Item> {
  items: Item[]
  /** Where the piece before this one ends; none when this is the first. */
  before?: number
}

/** Where a record is read. */
export interface Source<Item> {
  /** Another name is another source. */
  name: string
  read: (wanted: { limit: number; before?: number }) => Promise<Piece<Item>>
  isNews: (event: RockpoolEvent) => boolean
  /** The largest piece that can be asked for. */
  most: number
}

export interface Reading<Item> {
  items: Item[]
  /** There is more before these. */
  hasMore: boolean
  /** The beginning comes near. */
  more: () => void
  /** Looks whether there is more at the end, and is done when that is shown. */
  reload: () => Promise<void>
  error: string | undefined
  isLoading: boolean
}

const firstLimit = 200
const newsLimit = 60
/** Small enough to be taken in between two frames. */
const olderLimit = 100

/** `isThere` says whether what the reader came to see is among them; until then, piece after piece is read. */
export function useReading<Item extends { key: string }>(
  source: Source<Item>,
  isThere: (items: Item[]) => boolean = () => true,
): Reading<Item> {
  const [older, setOlder] = useState<Item[]>([])
  const [error, setError] = useState<string>()
  const before = useRef<number>(undefined)
  const loading = useRef(false)
  const fail = (problem: unknown): void => setError(messageOf(problem))
  const { newest, reload } = useNewest(source, fail, (mark) => {
    if (mark) {
      setOlder([])
      before.current = mark.before
    }
    setError(undefined)
  })
  const more = (limit = olderLimit): void => {
    if (loading.current || before.current === undefined) return
    loading.current = true
    const mark = before.current
    source
      .read({ limit, before: mark })
      .then(inTheNextFrame)
      .then((found) => {
        // Begun anew meanwhile: these belong to what was.
        if (before.current !== mark) return
        before.current = found.before
        setOlder((known) => [...found.items, ...known])
      })
      .catch(fail)
      .finally(() => (loading.current = false))
  }
  const items = useMemo(() => [...older, ...(newest ?? [])], [older, newest])
  useEffect(() => {
    if (newest && !isThere(items)) more(source.most)
  })
  const hasMore = before.current !== undefined
  const isLoading = newest === undefined && error === undefined
  return { items, hasMore, more: () => more(), reload, error, isLoading }
}

/** To read a piece from the line is work enough for one frame. */
function inTheNextFrame<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => setTimeout(() => resolve(value)))
}

/** When the newest piece is another one than before, a mark says where the older ones end. */
type Mark = { before: number | undefined } | undefined

/** The end of the record, looked at again whenever there is news. */
function useNewest<Item extends { key: string }>(
  source: Source<Item>,
  fail: (problem: unknown) => void,
  onShown: (mark: Mark) => void,
): { newest: Item[] | undefined; reload: () => Promise<void> } {
  const gateway = useGateway()
  const [newest, setNewest] = useState<Item[]>()
  const look = useRef<() => Promise<void>>(() => Promise.resolve())
  const reload = useCallback(() => look.current(), [])
  useEffect(() => {
    const piece = keepNewest(source, (items, mark) => {
      onShown(mark)
      setNewest(items)
    })
    look.current = () => piece.look().catch(fail)
    const again = (): void => void reload()
    const event = (told: RockpoolEvent): void => {
      if (source.isNews(told)) again()
    }
    const stops = [
      gateway.listen('sessions', {}, { event, gap: again }),
      gateway.onConnected(again),
      piece.stop,
    ]
    again()
    return () => {
      for (const stop of stops) stop()
    }
  }, [source.name])
  return { newest, reload }
}

/** The end of the record as it grows. */
function keepNewest<Item extends { key: string }>(
  source: Source<Item>,
  show: (items: Item[], mark: Mark) => void,
): { look: () => Promise<void>; stop: () => void } {
  let known: Item[] = []
  let isGone = false
  const read = async (limit: number): Promise<void> => {
    const piece = await source.read({ limit })
    if (isGone) return
    const grown = joined(known, piece.items)
    if (!grown && known.length > 0 && limit < source.most) return read(source.most)
    known = grown ?? piece.items
    show(known, grown ? undefined : { before: piece.before })
  }
  return {
    look: () => read(known.length === 0 ? firstLimit : newsLimit),
    stop: () => (isGone = true),
  }
}

/** What is known and what came after its last item; undefined when nothing is known or the two do not meet. */
export function joined<Item extends { key: string }>(known: Item[], piece: Item[]): Item[] | undefined {
  const last = known.at(-1)?.key
  const place = piece.findLastIndex(({ key }) => key === last)
  if (last === undefined || place === -1) return undefined
  return place === piece.length - 1 ? known : [...known, ...piece.slice(place + 1)]
}
