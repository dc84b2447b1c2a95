// A record that is loaded in pages: the last one at once, older ones while scrolling up, new ones as they are written.
// A link to an early message shows that message at once; the messages between it and the end are loaded while scrolling.
// Loaded items are kept as they are, so that loading one more page costs the same for any number of items.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { RockpoolEvent } from './gateway.ts'
import { messageOf, useGateway } from './live.ts'

export interface Piece<Item> {
  items: Item[]
  /** The position where the previous page ends; absent for the first page. */
  before?: number
  /** The position where the next page begins; absent for the last page. */
  after?: number
}

interface Wanted {
  limit: number
  before?: number
  after?: number
  around?: string
}

/** Where a record is loaded from. */
interface Source<Item> {
  /** A different name is a different source. */
  name: string
  read: (wanted: Wanted) => Promise<Piece<Item>>
  isNews: (event: RockpoolEvent) => boolean
  /** The largest page. */
  most: number
  /** True if a page around a position can be loaded; otherwise all pages up to it are loaded. */
  canJump: boolean
}

/** The item that the address names. */
interface Goal<Item> {
  at: string
  isAmong: (items: Item[]) => boolean
}

export interface Reading<Item> {
  items: Item[]
  /** There are older items. */
  hasMore: boolean
  /** Called when the reader is near the beginning. */
  more: () => void
  /** There are newer items. */
  hasLater: boolean
  /** Called when the reader is near the end of the loaded items. */
  later: () => void
  /** Leaves the named item and shows the end. */
  toEnd: () => void
  /** Loads new items at the end; resolves when they are shown. */
  reload: () => Promise<void>
  /** The named item is not in this record. */
  isMissing: boolean
  error: string | undefined
  isLoading: boolean
}

const firstLimit = 200
const newsLimit = 60
/** Small enough to be rendered between two frames. */
const olderLimit = 100

export function useReading<Item extends { key: string }>(
  source: Source<Item>,
  goal?: Goal<Item>,
): Reading<Item> {
  const [error, setError] = useState<string>()
  const fail = (problem: unknown): void => setError(messageOf(problem))
  const { newest, reload } = useNewest(source, fail, () => setError(undefined))
  const { earlier, extend, begin } = useEarlier(source, newest, fail)
  const items = useMemo(
    () => (earlier.after === undefined ? [...earlier.items, ...(newest?.items ?? [])] : earlier.items),
    [earlier, newest],
  )
  const isThere = goal === undefined || goal.isAmong(items)
  const search = useSearch(source, goal, begin, fail)
  const hasMore = earlier.before !== undefined
  useEffect(() => {
    if (isThere) search.end()
    else if (!newest || error !== undefined) return
    else if (source.canJump) search.start()
    else extend('before', source.most)
  })
  const isSeeking = !isThere && error === undefined && (source.canJump ? !search.isMissing : hasMore)
  return {
    // With a link to a message, the end is not shown first.
    items: isSeeking && source.canJump ? [] : items,
    hasMore,
    more: () => extend('before'),
    hasLater: earlier.after !== undefined,
    later: () => extend('after'),
    toEnd: () => begin({ items: [], before: newest?.before }),
    reload,
    isMissing: newest !== undefined && !isThere && !isSeeking && error === undefined,
    error,
    isLoading: error === undefined && (newest === undefined || isSeeking),
  }
}

/** The loaded items besides the newest page. They end where it begins, or (with `after`) somewhere before. */
function useEarlier<Item extends { key: string }>(
  source: Source<Item>,
  newest: Piece<Item> | undefined,
  fail: (problem: unknown) => void,
) {
  const until = newest?.before
  const [kept, setKept] = useState<{ name: string; until?: number; piece: Piece<Item> }>()
  const nothing = useMemo((): Piece<Item> => ({ items: [], before: until }), [until])
  const isApart = kept?.piece.after !== undefined
  // Another record, or a newest page that does not follow the loaded ones: start again.
  const earlier =
    kept && kept.name === source.name && (isApart || kept.until === until) ? kept.piece : nothing
  const now = useRef({ newest, earlier })
  now.current = { newest, earlier }
  const loading = useRef<string>(undefined)
  const begin = (piece: Piece<Item>): void => {
    const end = now.current.newest
    loading.current = undefined
    setKept({ name: source.name, until: end?.before, piece: meeting(piece, end) })
  }
  const extend = (side: 'before' | 'after', limit = olderLimit): void => {
    const mark = earlier[side]
    if (mark === undefined || loading.current !== undefined) return
    const way = (loading.current = `${source.name} ${side} ${mark}`)
    source
      .read({ limit, [side]: mark })
      .then(inTheNextFrame)
      .then((found) => {
        const { earlier: known } = now.current
        // Ignore this page if the list was loaded again while the page was fetched.
        if (loading.current === way && known[side] === mark) begin(extended(known, side, found))
      })
      .catch(fail)
      .finally(() => {
        if (loading.current === way) loading.current = undefined
      })
  }
  return { earlier, extend, begin }
}

function extended<Item>(piece: Piece<Item>, side: 'before' | 'after', found: Piece<Item>): Piece<Item> {
  return side === 'before'
    ? { ...piece, items: [...found.items, ...piece.items], before: found.before }
    : { ...piece, items: [...piece.items, ...found.items], after: found.after }
}

/** The end of the earlier page is the beginning of the newest one. */
export function meeting<Item extends { key: string }>(
  earlier: Piece<Item>,
  newest: Piece<Item> | undefined,
): Piece<Item> {
  const first = newest?.items[0]?.key
  const place = first === undefined ? -1 : earlier.items.findLastIndex(({ key }) => key === first)
  return place === -1 ? earlier : { items: earlier.items.slice(0, place), before: earlier.before }
}

/** Loads the pages up to the named item, once. */
function useSearch<Item>(
  source: Source<Item>,
  goal: Goal<Item> | undefined,
  begin: (piece: Piece<Item>) => void,
  fail: (problem: unknown) => void,
): { start: () => void; isMissing: boolean; end: () => void } {
  const name = `${source.name} ${goal?.at}`
  const asked = useRef<string>(undefined)
  const [missing, setMissing] = useState<string>()
  const start = (): void => {
    if (goal === undefined || asked.current === name) return
    asked.current = name
    const isWanted = (): boolean => asked.current === name
    source
      .read({ limit: olderLimit, around: goal.at })
      .then((found) => isWanted() && begin(found))
      .catch((problem: unknown) => {
        if (!isWanted()) return
        if (isNotFound(problem)) return setMissing(name)
        asked.current = undefined
        fail(problem)
      })
  }
  return { start, isMissing: missing === name, end: () => (asked.current = undefined) }
}

export function isNotFound(problem: unknown): boolean {
  return problem instanceof Error && 'code' in problem && problem.code === 'not-found'
}

/** Parsing one page is enough work for one frame. */
function inTheNextFrame<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => setTimeout(() => resolve(value)))
}

/** The end of the record, loaded again after every event. */
function useNewest<Item extends { key: string }>(
  source: Source<Item>,
  fail: (problem: unknown) => void,
  onShown: () => void,
): { newest: Piece<Item> | undefined; reload: () => Promise<void> } {
  const gateway = useGateway()
  const [newest, setNewest] = useState<Piece<Item>>()
  const look = useRef<() => Promise<void>>(() => Promise.resolve())
  const reload = useCallback(() => look.current(), [])
  useEffect(() => {
    const end = keepNewest(source, (piece) => {
      onShown()
      setNewest(piece)
    })
    look.current = () => end.look().catch(fail)
    const again = (): void => void reload()
    const event = (news: RockpoolEvent): void => {
      if (source.isNews(news)) again()
    }
    const stops = [
      gateway.listen('sessions', {}, { event, gap: again }),
      gateway.onConnected(again),
      end.stop,
    ]
    again()
    return () => {
      for (const stop of stops) stop()
    }
  }, [source.name])
  return { newest, reload }
}

/** The end of the growing record. */
function keepNewest<Item extends { key: string }>(
  source: Source<Item>,
  show: (piece: Piece<Item>) => void,
): { look: () => Promise<void>; stop: () => void } {
  let known: Piece<Item> = { items: [] }
  let isGone = false
  const read = async (limit: number): Promise<void> => {
    const piece = await source.read({ limit })
    if (isGone) return
    const grown = joined(known.items, piece.items)
    if (!grown && known.items.length > 0 && limit < source.most) return read(source.most)
    if (grown !== known.items) known = grown ? { items: grown, before: known.before } : piece
    show(known)
  }
  return {
    look: () => read(known.items.length === 0 ? firstLimit : newsLimit),
    stop: () => (isGone = true),
  }
}

/** The loaded items with the new ones after them; undefined if nothing is loaded or items between them are missing. */
export function joined<Item extends { key: string }>(known: Item[], piece: Item[]): Item[] | undefined {
  const last = known.at(-1)?.key
  const place = piece.findLastIndex(({ key }) => key === last)
  if (last === undefined || place === -1) return undefined
  return place === piece.length - 1 ? known : [...known, ...piece.slice(place + 1)]
}
