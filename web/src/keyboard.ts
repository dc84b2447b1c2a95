// Keyboard shortcuts of single keys. They are off while a person types into a field, and while a dialog is open.
import { useEffect, useRef } from 'preact/hooks'

const isMac = /mac|iphone|ipad/i.test(navigator.platform)
/** The label of the key that opens the palette together with K. */
export const modKey = isMac ? '⌘' : 'Ctrl '

export function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
}

type Keys = Record<string, (event: KeyboardEvent) => void>

/** Keys by their name (`j`, `Enter`, `ArrowDown`). A handled key does nothing else. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return
      if (isWriting(event.target) || document.querySelector('dialog[open]')) return
      if (isForElement(event)) return
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined
      if (!act) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Space and Enter press a button; Space and arrows scroll a list or a request that has the focus. */
function isForElement({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false
  const isPress = key === ' ' || key === 'Enter'
  if (isPress && target.matches('button, summary, input, a:not([data-row])')) return true
  return (key === ' ' || key.startsWith('Arrow')) && target.closest('.virtual, .tab-body, .request') !== null
}

const nextKeyMs = 1_500

/** `g` and then a letter. */
export function useKeyPairs(first: string, seconds: Record<string, () => void>): void {
  const since = useRef(0)
  const follow = Object.entries(seconds).map(([key, act]) => [key, act] as const)
  const latest = useRef(follow)
  latest.current = follow
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return
      if (event.key === first) {
        since.current = event.timeStamp
        return
      }
      const isSecond = since.current > 0 && event.timeStamp - since.current < nextKeyMs
      since.current = 0
      const act = latest.current.find(([key]) => key === event.key)?.[1]
      if (!isSecond || !act) return
      // No other shortcut has this key now.
      event.preventDefault()
      event.stopImmediatePropagation()
      act()
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [])
}
