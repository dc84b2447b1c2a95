// A very long list that stays smooth: only what is on the screen, and a little around it, is in the page. Heights are
// measured as items are shown; what was not shown yet is guessed.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

interface VirtualListProps<Item> {
  items: readonly Item[]
  keyOf: (item: Item, index: number) => string
  children: (item: Item, index: number) => ComponentChildren
  /** Called when the beginning comes near. */
  onStart?: () => void
  /** The item to bring into view; after that the reader is free to go. */
  target?: number
  label: string
}

const guessPx = 96
const aroundPx = 500
/** A little of what came before stays in sight. */
const aboveTargetPx = 80
/** More than this many new items in one frame would be felt. */
const newPerFrame = 2

export function VirtualList<Item>({
  items,
  keyOf,
  children,
  onStart,
  target,
  label,
}: VirtualListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const stuck = useRef(true)
  const { sizes, ends, keys, watch } = useHeights(items, keyOf, box)
  const first = firstAfter(ends, view.top - aroundPx)
  const last = Math.min(items.length, firstAfter(ends, view.top + view.height + aroundPx) + 1)
  const total = ends.at(-1) ?? 0

  const onScroll = (): void => {
    const { scrollTop, clientHeight, scrollHeight } = box.current!
    stuck.current = scrollHeight - scrollTop - clientHeight < 40
    setView({ top: scrollTop, height: clientHeight })
    if (scrollTop < aroundPx) onStart?.()
  }
  // A reader at the end stays at the end; one who reads above stays where they are when older items arrive.
  const before = useRef({ total: 0, firstKey: '' })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const firstKey = keys[0] ?? ''
    if (stuck.current) element.scrollTop = element.scrollHeight
    else if (before.current.firstKey !== firstKey) element.scrollTop += total - before.current.total
    before.current = { total, firstKey }
  }, [keys, total])
  const targetKey = target === undefined ? undefined : keys[target]
  useLayoutEffect(() => {
    if (target === undefined || targetKey === undefined || !box.current) return
    stuck.current = false
    box.current.scrollTop = ends[target]! - sizes[target]! - aboveTargetPx
  }, [targetKey])
  useEffect(onScroll, [])

  const shown = useGradually(keys, first, last, firstAfter(ends, view.top))
  return (
    <div class="virtual" ref={box} onScroll={onScroll} role="log" aria-label={label} tabIndex={0}>
      <div style={{ height: `${total}px`, position: 'relative' }}>
        {items.slice(first, last).map((item, i) => {
          const index = first + i
          const key = keys[index]!
          const top = ends[index]! - sizes[index]!
          if (!shown.has(key)) return null
          return (
            <Measured key={key} itemKey={key} top={top} watch={watch}>
              {children(item, index)}
            </Measured>
          )
        })}
      </div>
    </div>
  )
}

interface Heights {
  keys: string[]
  sizes: Float64Array
  /** Where each item ends. */
  ends: Float64Array
  watch: (element: HTMLElement, key: string) => () => void
}

/** What was measured, and a guess for the rest. One observer for all, so that a frame is one change. */
function useHeights<Item>(
  items: readonly Item[],
  keyOf: (item: Item, index: number) => string,
  box: { current: HTMLDivElement | null },
): Heights {
  const measured = useRef(new Map<string, number>())
  const [version, setVersion] = useState(0)
  const keys = useMemo(() => items.map(keyOf), [items, items.length])
  const places = useMemo(() => new Map(keys.map((key, i) => [key, i])), [keys])
  const sizes = useMemo(() => Float64Array.from(keys, (key) => measured.current.get(key) ?? guessPx), [keys])
  const ends = useMemo(() => endsOf(sizes), [sizes, version])
  const now = useRef({ places, sizes, ends })
  now.current = { places, sizes, ends }
  const watch = useMemo(() => {
    const keyOfElement = new WeakMap<Element, string>()
    const observer = new ResizeObserver((entries) => {
      const heights = entries.map(({ target }) => [keyOfElement.get(target)!, heightOf(target)] as const)
      const changed = heights.filter(([key, height]) => height > 0 && measured.current.get(key) !== height)
      if (changed.length === 0) return
      for (const [key, height] of changed) measured.current.set(key, height)
      takeIn(box.current, now.current, changed)
      setVersion((current) => current + 1)
    })
    return (element: HTMLElement, key: string) => {
      keyOfElement.set(element, key)
      observer.observe(element)
      return () => observer.unobserve(element)
    }
  }, [])
  return { keys, sizes, ends, watch }
}

function heightOf(element: Element): number {
  return element instanceof HTMLElement ? element.offsetHeight : 0
}

/** What is above the reader became higher or lower than guessed: what they read stays where it is. */
function takeIn(
  box: HTMLDivElement | null,
  { places, sizes, ends }: { places: Map<string, number>; sizes: Float64Array; ends: Float64Array },
  changed: ReadonlyArray<readonly [key: string, height: number]>,
): void {
  const visible = firstAfter(ends, box?.scrollTop ?? 0)
  let shift = 0
  for (const [key, height] of changed) {
    const place = places.get(key)
    if (place === undefined) continue
    if (place < visible) shift += height - sizes[place]!
    sizes[place] = height
  }
  if (box && shift !== 0) box.scrollTop += shift
}

/** The items that may be in the page now: those that were, and a few new ones each frame, from where the reader looks. */
function useGradually(keys: string[], first: number, last: number, from: number): Set<string> {
  const before = useRef(new Set<string>())
  const [, draw] = useState(0)
  const wanted = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  wanted.sort((a, b) => nearness(a, from) - nearness(b, from))
  const shown = new Set<string>()
  let left = newPerFrame
  for (const index of wanted) {
    const key = keys[index]!
    if (before.current.has(key) || left-- > 0) shown.add(key)
  }
  before.current = shown
  const isAll = shown.size === wanted.length
  useEffect(() => {
    if (isAll) return undefined
    const frame = requestAnimationFrame(() => draw((count) => count + 1))
    return () => cancelAnimationFrame(frame)
  })
  return shown
}

/** What comes next is nearer than what has passed. */
function nearness(index: number, from: number): number {
  return index >= from ? index - from : (from - index) * 2
}

interface MeasuredProps {
  itemKey: string
  top: number
  watch: Heights['watch']
  children: ComponentChildren
}

function Measured({ itemKey, top, watch, children }: MeasuredProps) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => (element.current ? watch(element.current, itemKey) : undefined), [])
  return (
    <div ref={element} style={{ position: 'absolute', top: `${top}px`, left: 0, right: 0 }}>
      {children}
    </div>
  )
}

function endsOf(sizes: Float64Array): Float64Array {
  let end = 0
  return sizes.map((size) => (end += size))
}

function firstAfter(ends: Float64Array, position: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ends[middle]! < position) low = middle + 1
    else high = middle
  }
  return low
}
