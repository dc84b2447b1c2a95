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
  label: string
}

const guessPx = 96
const aroundPx = 800

export function VirtualList<Item>({ items, keyOf, children, onStart, label }: VirtualListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const heights = useRef(new Map<string, number>())
  const [view, setView] = useState({ top: 0, height: 800 })
  const stuck = useRef(true)
  const offsets = useMemo(() => offsetsOf(items, keyOf, heights.current), [items, items.length, view])
  const first = firstAfter(offsets, view.top - aroundPx)
  const last = Math.min(items.length, firstAfter(offsets, view.top + view.height + aroundPx) + 1)
  const total = offsets.at(-1) ?? 0

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
    const firstKey = items[0] ? keyOf(items[0], 0) : ''
    if (stuck.current) element.scrollTop = element.scrollHeight
    else if (before.current.firstKey !== firstKey) element.scrollTop += total - before.current.total
    before.current = { total, firstKey }
  }, [items, total])
  useEffect(onScroll, [])

  return (
    <div class="virtual" ref={box} onScroll={onScroll} role="log" aria-label={label} tabIndex={0}>
      <div style={{ height: `${total}px`, position: 'relative' }}>
        {items.slice(first, last).map((item, i) => {
          const key = keyOf(item, first + i)
          return (
            <Measured
              key={key}
              top={first + i === 0 ? 0 : offsets[first + i - 1]!}
              onHeight={(height) => {
                if (heights.current.get(key) === height) return
                heights.current.set(key, height)
                setView((current) => ({ ...current }))
              }}
            >
              {children(item, first + i)}
            </Measured>
          )
        })}
      </div>
    </div>
  )
}

interface MeasuredProps {
  top: number
  onHeight: (height: number) => void
  children: ComponentChildren
}

function Measured({ top, onHeight, children }: MeasuredProps) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const watched = element.current
    if (!watched) return undefined
    const observer = new ResizeObserver(() => onHeight(watched.offsetHeight))
    observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={element} style={{ position: 'absolute', top: `${top}px`, left: 0, right: 0 }}>
      {children}
    </div>
  )
}

/** Where each item ends. */
function offsetsOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item, index: number) => string,
  heights: Map<string, number>,
): number[] {
  let end = 0
  return items.map((item, i) => (end += heights.get(keyOf(item, i)) ?? guessPx))
}

function firstAfter(offsets: number[], position: number): number {
  let low = 0
  let high = offsets.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (offsets[middle]! < position) low = middle + 1
    else high = middle
  }
  return low
}
