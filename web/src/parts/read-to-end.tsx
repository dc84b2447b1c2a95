// A box for a request that a person must read before allowing it. The box reports when its end has been on the screen; until then
// it shows that there is more.
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface ReadToEndProps {
  /** Its end has been on the screen. */
  isRead: boolean
  onRead: () => void
  /** What the person gets by reading to the end: "to allow it". */
  purpose: string
  /** The id of the line below the box, for the buttons that it explains. */
  lineId?: string
  children: ComponentChildren
}

/** Needs a key by the request: the box of another request starts at its beginning. */
export function ReadToEnd({ isRead, onRead, purpose, lineId, children }: ReadToEndProps) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = box.current!
    const look = (): void => {
      if (isEndShown(element)) onRead()
    }
    look()
    // The size changes when the box appears, and when the window or the text in the box changes.
    const sizes = new ResizeObserver(look)
    for (const one of [element, ...element.children]) sizes.observe(one)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      sizes.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
  const showMore = (): void => {
    const element = box.current!
    element.scrollBy({ top: element.clientHeight * 0.8, behavior: 'instant' })
    // The button disappears at the end; the keyboard stays at the request.
    if (isEndShown(element)) element.focus()
  }
  return (
    <>
      <div
        ref={box}
        class={`request${isRead ? '' : ' unread'}`}
        role="group"
        aria-label="Request"
        tabIndex={0}
      >
        {children}
      </div>
      {!isRead && (
        <p class="read-on">
          <span id={lineId}>Read it to the end {purpose}.</span>{' '}
          <button type="button" onClick={showMore}>
            Show more
          </button>
        </p>
      )}
    </>
  )
}

/** False while the box is hidden. Positions may be fractions of a pixel. */
function isEndShown({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean {
  return clientHeight > 0 && scrollTop + clientHeight >= scrollHeight - 2
}
