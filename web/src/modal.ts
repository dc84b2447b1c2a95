// A modal dialog of the browser: the page below is inert, and Escape closes the dialog.
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface Modal {
  box: RefObject<HTMLDialogElement | null>
  /** Closes at once: a late close event must not close a dialog that was opened again. */
  close: () => void
  /** For the dialog itself. */
  handlers: { onClose: () => void; onClick: (event: MouseEvent) => void }
}

export function useModal(onClose: () => void): Modal {
  const box = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => box.current?.showModal(), [])
  const close = (): void => {
    // Returns the focus to where it was.
    box.current?.close()
    onClose()
  }
  return {
    box,
    close,
    handlers: {
      // The browser closed it. If it is no longer in the page, its close was reported already.
      onClose: () => box.current && onClose(),
      onClick: (event) => event.target === box.current && close(),
    },
  }
}
