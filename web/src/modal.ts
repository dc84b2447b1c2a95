// A modal dialog of the browser's own: what lies below cannot be reached, and Escape closes it.
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface Modal {
  box: RefObject<HTMLDialogElement | null>
  /** At once: whoever opens it in the next moment must not see it closed by an event that comes late. */
  close: () => void
  /** For the dialog itself. */
  hands: { onClose: () => void; onClick: (event: MouseEvent) => void }
}

export function useModal(onClose: () => void): Modal {
  const box = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => box.current?.showModal(), [])
  const close = (): void => {
    // Gives the keyboard back to where it was.
    box.current?.close()
    onClose()
  }
  return {
    box,
    close,
    hands: {
      // The browser closed it by itself; when it is gone from the page already, that is no news.
      onClose: () => box.current && onClose(),
      onClick: (event) => event.target === box.current && close(),
    },
  }
}
