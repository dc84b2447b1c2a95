// Short messages at the edge of the page: notices that arrive, and what was done with a button that undoes it.
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import type { RockpoolEvent } from '../gateway.ts'
import { visible } from '../format.ts'
import { useGateway } from '../live.ts'
import { withoutIds } from './notices.tsx'
import { follow, pathOf } from '../route.ts'
import type { Route } from '../route.ts'

interface Toast {
  id: string
  text: string
  /** Where the message leads. */
  route?: Route
  undo?: () => void
}

type ShowToast = (toast: Omit<Toast, 'id'> & { id?: string }) => void

const ToastContext = createContext<ShowToast>(() => undefined)

/** Shows a message for a few seconds. */
export function useShowToast(): ShowToast {
  return useContext(ToastContext)
}

const shownMs = 8_000
const maxShown = 3

interface ToastsProps {
  /** The view of the coding session with this name. */
  placeOf: (name: string) => Route | undefined
  /** True for a session whose notices are on the screen already. */
  isShown: (name: string | undefined) => boolean
  children: ComponentChildren
}

export function Toasts({ placeOf, isShown, children }: ToastsProps) {
  const gateway = useGateway()
  const [toasts, setToasts] = useState<Toast[]>([])
  const timers = useRef(new Set<number>())
  const remove = (id: string): void => setToasts((now) => now.filter((other) => other.id !== id))
  const showToast: ShowToast = ({ id = crypto.randomUUID(), ...more }) => {
    setToasts((before) => [...before.filter((other) => other.id !== id), { id, ...more }].slice(-maxShown))
    timers.current.add(window.setTimeout(() => remove(id), shownMs))
  }
  const latest = useRef({ placeOf, isShown })
  latest.current = { placeOf, isShown }
  useEffect(() => {
    const event = (one: RockpoolEvent): void => {
      if (one.type !== 'web-output' || one.output.type !== 'message') return
      const { id, text } = one.output.message
      const name = sessionIn.exec(text)?.[1]
      if (latest.current.isShown(name)) return
      const route = (name && latest.current.placeOf(name)) || ({ view: 'chat' } as const)
      showToast({ id, text: inShort(text), route })
    }
    const stop = gateway.listen('web', {}, { event, gap: () => undefined })
    return () => {
      stop()
      for (const timer of timers.current) clearTimeout(timer)
    }
  }, [gateway])
  return (
    <ToastContext.Provider value={showToast}>
      {children}
      <div class="toasts" role="status" aria-label="Notices">
        {toasts.map((toast) => (
          <div key={toast.id} class="toast">
            {toast.route ? (
              <a href={pathOf(toast.route)} onClick={follow(toast.route)}>
                {visible(toast.text)}
              </a>
            ) : (
              <span>{visible(toast.text)}</span>
            )}
            {toast.undo && (
              <button
                type="button"
                onClick={() => {
                  toast.undo?.()
                  remove(toast.id)
                }}
              >
                Undo
              </button>
            )}
          </div>
        ))}
      </div>
    </ToastContext.Provider>
  )
}

/** Notices of coding sessions begin with the name of the session. */
const sessionIn = /^\W*\[([^\]]+)\]/

/** The first paragraph, without the marks of Markdown. */
function inShort(text: string): string {
  const [first = ''] = withoutIds(text)
    .replaceAll(/^```.*\n?/gm, '')
    .split('\n\n', 1)
  return first
    .replaceAll(/\*\*|__|`+|^#+ /gm, '')
    .replace(sessionIn, '$1')
    .slice(0, 200)
}
