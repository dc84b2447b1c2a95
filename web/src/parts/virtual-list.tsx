// A very long list that stays smooth: only what is on the screen, and a little around it, is in the page. Items stand in
// the flow of the page, so that one which is higher than guessed moves what follows without our help; the list is drawn
// once a frame at most, and a few new items at a time.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Reader } from './reader.ts'

interface VirtualListProps<Item> {
  items: readonly Item[]
  keyOf: (item: Item, index: number) => string
  children: (item: Item, index: number) => ComponentChildren
  /** Called when the beginning comes near. */
  onStart?: () => void
  /** Called when the end comes near; only where there is more after it. */
  onEnd?: () => void
  /** The item to bring into view; after that the reader is free to go. */
  target?: number
  /** What it costs to show it; a short line costs 1. */
  weightOf?: (item: Item) => number
  label: string
}

const aroundPx = 500
/** New items of more weight would be felt in one frame; one alone may be heavier. */
const weightPerFrame = 5

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, children, target, label } = props
  const keys = useMemo(() => items.map(keyOf), [items])
  const drawSoon = useDrawing()
  const { onStart, onEnd } = props
  const { box, reader, watch, ...hands } = useReader(keys, { target, onStart, onEnd, drawSoon })
  const { first, last } = reader
  const weightAt = (place: number): number => props.weightOf?.(items[place]!) ?? 1
  const shown = useGradually(keys, reader, { weightAt, drawSoon })
  return (
    <div class="virtual" ref={box} role="log" aria-label={label} tabIndex={0} {...hands}>
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
  drawSoon: () => void
}

/** The reader of this list, and what moves them: the list itself, new items, items that turn out higher than guessed. */
function useReader(keys: string[], { target, onStart, onEnd, drawSoon }: Wishes) {
  const box = useRef<HTMLDivElement>(null)
  const reader = useMemo(() => new Reader(), [])
  const targetKey = target === undefined ? undefined : keys[target]
  const reached = useRef<string>(undefined)
  reader.goesOn = onEnd !== undefined
  reader.take(keys, targetKey === reached.current ? undefined : targetKey)
  reached.current = targetKey
  reader.look(aroundPx)
  useLayoutEffect(() => stand(box.current, reader), [keys, targetKey])
  const watch = useMemo(
    () =>
      watchHeights((heights) => {
        const shift = reader.grew(heights)
        if (shift !== 0 || reader.isAtEnd) stand(box.current, reader)
        drawSoon()
      }),
    [],
  )
  const onScroll = (): void => {
    reader.moved(box.current!)
    drawSoon()
    if (reader.top < aroundPx) onStart?.()
    if (reader.top + reader.height > reader.total - aroundPx) onEnd?.()
  }
  useEffect(onScroll, [keys])
  const letGo = (): void => reader.letGo()
  const onClick = (event: MouseEvent): void => {
    // What is unfolded grows downwards from where it was clicked, also at the end.
    if (event.target instanceof Element && event.target.closest('[aria-expanded], summary'))
      reader.isAtEnd = false
  }
  return {
    box,
    reader,
    watch,
    onScroll,
    onWheel: letGo,
    onTouchMove: letGo,
    onPointerDown: letGo,
    onKeyDown: letGo,
    onClick,
  }
}

/** The list stands where it was drawn for. */
function stand(box: HTMLDivElement | null, reader: Reader): void {
  if (!box) return
  if (reader.isAtEnd) {
    box.scrollTop = box.scrollHeight
    reader.top = box.scrollTop
  } else if (Math.abs(box.scrollTop - reader.top) >= 1) box.scrollTop = reader.top
}

/** Draws again, once in the next frame, however often it is asked for. */
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

/** One observer for all items: a frame is one change, and the heights are there without asking the page to lay out. */
function watchHeights(onChange: (heights: Map<string, number>) => void): Watch {
  const keyOf = new WeakMap<Element, string>()
  const known = new Map<string, number>()
  const observer = new ResizeObserver((entries) => {
    const heights = new Map(
      entries.map(({ target, borderBoxSize }) => [keyOf.get(target)!, borderBoxSize[0]?.blockSize ?? 0]),
    )
    // A list that is not shown has no heights.
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

/** The items that may be in the page now: those that were, and a few new ones each frame, from where the reader looks. */
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

/** What comes next is nearer than what has passed. */
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
