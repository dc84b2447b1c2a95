// The sessions of the machine, loaded once for all panes, and what calls a person: the title of the page and, while the page is
// open in the background, a notification.
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks'
import { visible } from './format.ts'
import { useLive } from './live.ts'
import { go } from './route.ts'
import { rowsOf } from './rows.ts'
import type { Row } from './rows.ts'

interface Sessions {
  rows: Row[]
  /** How many sessions there are besides the rows. */
  notLoaded: number
  isLoading: boolean
  error: string | undefined
  reload: () => void
}

export const SessionsContext = createContext<Sessions | undefined>(undefined)

export function useSessions(): Sessions {
  const sessions = useContext(SessionsContext)
  if (!sessions) throw new Error('The sessions are not loaded.')
  return sessions
}

const loaded = 400

export function useLoadedSessions(): Sessions {
  const coding = useLive('coding.sessions', { limit: loaded }, (event) =>
    ['coding-changed', 'approval-changed'].includes(event.type),
  )
  const native = useLive(
    'cc.list',
    { limit: loaded },
    (event) => ['native-changed', 'session-changed'].includes(event.type),
    200,
  )
  const approvals = useLive('approvals.list', {}, (event) => event.type === 'approval-changed')
  const rows = useMemo(
    () => rowsOf(coding.data?.sessions ?? [], native.data?.sessions ?? [], approvals.data?.approvals ?? []),
    [coding.data, native.data, approvals.data],
  )
  const isThere = ({ data, error }: { data: unknown; error: unknown }): boolean =>
    data !== undefined || error !== undefined
  // Shown together, so that the page does not move when the next one arrives.
  const isLoading = ![coding, native, approvals].every(isThere)
  const notLoaded = Math.max(0, (native.data?.total ?? 0) - (native.data?.sessions.length ?? 0))
  return useMemo(
    () => ({
      rows: isLoading ? [] : rows,
      notLoaded: isLoading ? 0 : notLoaded,
      isLoading,
      error: coding.error ?? native.error ?? approvals.error,
      reload: () => {
        for (const one of [coding, native, approvals]) one.reload()
      },
    }),
    [rows, notLoaded, isLoading, coding.error, native.error, approvals.error],
  )
}

/** The title names what is shown, and how many sessions need a person. Each new one is notified once. */
export function useCalling(waiting: Row[], shown: string): void {
  useEffect(() => {
    document.title = `${waiting.length > 0 ? `(${waiting.length}) ` : ''}${visible(shown)} · Rockpool`
  }, [waiting.length, shown])
  const notified = useRef(new Set<string>())
  useEffect(() => {
    const keyOf = (row: Row): string => `${row.id} ${row.coding?.waiting?.since ?? row.waitingFor ?? row.at}`
    for (const row of waiting) if (!notified.current.has(keyOf(row))) notify(row, keyOf(row))
    // A session that waits again later causes a new notification.
    notified.current = new Set(waiting.map(keyOf))
  }, [waiting])
}

function notify({ name, coding, waitingFor, route }: Row, tag: string): void {
  if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return
  const notice = new Notification(`${visible(name)} needs you`, {
    body: visible(coding?.stateText ?? waitingFor ?? ''),
    tag,
    icon: '/icon.svg',
  })
  notice.addEventListener('click', () => {
    window.focus()
    go(route)
  })
}
