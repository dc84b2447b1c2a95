// A very long list that scrolls smoothly: only the items on the screen, and a few around them, are in the page. Items are laid
// out by the browser, so an item that is higher than estimated moves the following ones. The list is rendered at most once a
// frame, with a few new items at a time.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Reader } from './reader.ts'

interface VirtualListProps<Item> {
  items: readonly Item[]
  keyOf: (item: Item, index: number) => string
  children: (item: Item, index: number) => ComponentChildren
  /** Called when the reader is near the beginning. */
  onStart?: () => void
  /** Called when the reader is near the end, if there are more items after it. */
  onEnd?: () => void
  /** The item to scroll to; after that the reader scrolls freely. */
  target?: number
  /** Nothing is added at the end, so the reader is not kept there. */
  isWhole?: boolean
  /** The cost of rendering an item; a short line costs 1. */
  weightOf?: (item: Item) => number
  label: string
}

const aroundPx = 500
/** More new items than this in one frame would be noticeable; a single item may cost more. */
const weightPerFrame = 5

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, children, target, label } = props
  const keys = useMemo(() => items.map(keyOf), [items])
  const drawSoon = useDrawing()
  const { onStart, onEnd, isWhole } = props
  const { box, reader, watch, ...handlers } = useReader(keys, { target, onStart, onEnd, isWhole, drawSoon })
  const { first, last } = reader
  const weightAt = (place: number): number => props.weightOf?.(items[place]!) ?? 1
  const shown = useGradually(keys, reader, { weightAt, drawSoon })
  return (
    <div class="virtual" ref={box} role="log" aria-label={label} tabIndex={0} {...handlers}>
      <div key="above" style={{ height: `${reader.startOf(first)}px` }} />
      {items.slice(first, last).map((item, i) => {
        const place = first + i
        const key = keys[place]!
        return shown.has(key) ? (
          <Measured key={key} itemKey={key} watch={watch}>
            {children(item, place)}
          </Measured>
        ) : (
          <div key={`${key} later`} style={{ height: `${reader.sizeOf(place)}px` }} />
        )
      })}
      <div key="below" style={{ height: `${reader.total - reader.startOf(last)}px` }} />
    </div>
  )
}

type Watch = (element: HTMLElement, key: string) => () => void

interface Wishes {
  target: number | undefined
  onStart: (() => void) | undefined
  onEnd: (() => void) | undefined
  isWhole: boolean | undefined
  drawSoon: () => void
}

/** The scroll position, and what changes it: the list itself, new items, items that are higher than estimated. */
function useReader(keys: string[], { target, onStart, onEnd, isWhole, drawSoon }: Wishes) {
  const box = useRef<HTMLDivElement>(null)
  const reader = useMemo(() => new Reader(), [])
  const targetKey = target === undefined ? undefined : keys[target]
  const reached = useRef<string>(undefined)
  reader.goesOn = onEnd !== undefined || isWhole === true
  reader.take(keys, targetKey === reached.current ? undefined : targetKey)
  reached.current = targetKey
  reader.look(aroundPx)
  useLayoutEffect(() => restoreScroll(box.current, reader), [keys, targetKey])
  const watch = useMemo(
    () =>
      watchHeights((heights) => {
        const shift = reader.grew(heights)
        if (shift !== 0 || reader.isAtEnd) restoreScroll(box.current, reader)
        drawSoon()
      }),
    [],
  )
  const onScroll = (): void => {
    // An effect may run after the list has left the page.
    if (!box.current) return
    reader.moved(box.current)
    drawSoon()
    if (reader.top < aroundPx) onStart?.()
    if (reader.top + reader.height > reader.total - aroundPx) onEnd?.()
  }
  useEffect(onScroll, [keys])
  const release = (): void => reader.release()
  const onClick = (event: MouseEvent): void => {
    // An item that is opened grows downwards from the click, also at the end.
    if (event.target instanceof Element && event.target.closest('[aria-expanded], summary'))
      reader.isAtEnd = false
  }
  return {
    box,
    reader,
    watch,
    onScroll,
    onWheel: release,
    onTouchMove: release,
    onPointerDown: release,
    onKeyDown: release,
    onClick,
  }
}

/** Scrolls to the position that the list was rendered for: the end, or where the reader was. */
function restoreScroll(box: HTMLDivElement | null, reader: Reader): void {
  if (!box) return
  if (reader.isAtEnd) {
    box.scrollTop = box.scrollHeight
    reader.top = box.scrollTop
  } else if (Math.abs(box.scrollTop - reader.top) >= 1) box.scrollTop = reader.top
}

/** Renders again in the next frame, once for any number of calls. */
function useDrawing(): () => void {
  const [, draw] = useState(0)
  const frame = useRef<number>(undefined)
  useEffect(() => () => cancelAnimationFrame(frame.current ?? 0), [])
  return () => {
    frame.current ??= requestAnimationFrame(() => {
      frame.current = undefined
      draw((count) => count + 1)
    })
  }
}

/** One observer for all items: one change a frame, and heights without forcing a layout. */
function watchHeights(onChange: (heights: Map<string, number>) => void): Watch {
  const keyOf = new WeakMap<Element, string>()
  const known = new Map<string, number>()
  const observer = new ResizeObserver((entries) => {
    const heights = new Map(
      entries.map(({ target, borderBoxSize }) => [keyOf.get(target)!, borderBoxSize[0]?.blockSize ?? 0]),
    )
    // A hidden list has no heights.
    for (const [key, height] of heights) if (height === 0 || known.get(key) === height) heights.delete(key)
    if (heights.size === 0) return
    for (const [key, height] of heights) known.set(key, height)
    onChange(heights)
  })
  return (element, key) => {
    keyOf.set(element, key)
    observer.observe(element)
    return () => observer.unobserve(element)
  }
}

/** The items of this frame: those of the last frame, and a few new ones, starting where the reader is. */
function useGradually(
  keys: string[],
  reader: Reader,
  { weightAt, drawSoon }: { weightAt: (place: number) => number; drawSoon: () => void },
): Set<string> {
  const before = useRef(new Set<string>())
  const from = reader.firstInSight()
  const wanted = Array.from({ length: reader.last - reader.first }, (_, i) => reader.first + i)
  wanted.sort((a, b) => nearness(a, from) - nearness(b, from))
  const shown = new Set<string>()
  let weight = 0
  for (const place of wanted) {
    const key = keys[place]!
    const isNew = !before.current.has(key)
    if (isNew && weight > 0 && weight + weightAt(place) > weightPerFrame) break
    if (isNew) weight += weightAt(place)
    shown.add(key)
  }
  before.current = shown
  useEffect(() => {
    if (shown.size < wanted.length) drawSoon()
  })
  return shown
}

/** Items after the reader come before items that have been passed. */
function nearness(place: number, from: number): number {
  return place >= from ? place - from : (from - place) * 2
}

interface MeasuredProps {
  itemKey: string
  watch: Watch
  children: ComponentChildren
}

function Measured({ itemKey, watch, children }: MeasuredProps) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => (element.current ? watch(element.current, itemKey) : undefined), [])
  return (
    <div class="item" ref={element}>
      {children}
    </div>
  )
}
