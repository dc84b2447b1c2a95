// How many sessions wait for a person, for the badge, the page's title and, while the page is open, a notification.
import { useEffect, useRef } from 'preact/hooks'
import type { CodingRow, NativeSession } from './data.ts'
import { nameOf, visible } from './format.ts'
import { useLive } from './live.ts'
import { go } from './route.ts'
import type { Route } from './route.ts'

/** The session cannot continue without an answer. One that has finished its turn can wait. */
export function needsYou(row: CodingRow): boolean {
  return row.waiting !== undefined && row.waiting.for !== 'input'
}

export function useNeedsYou(): number {
  const coding = useLive(
    'coding.sessions',
    { limit: 200 },
    (event) => event.type === 'coding-changed' || event.type === 'approval-changed',
  )
  const native = useLive(
    'cc.list',
    { running: true, archived: false },
    (event) => event.type === 'native-changed',
    1_000,
  )
  const ours = new Set(coding.data?.sessions.map((row) => row.claudeSessionId))
  const waiting = [
    ...(coding.data?.sessions ?? []).filter(needsYou).map(waitingCoding),
    ...(native.data?.sessions ?? [])
      .filter(({ status, sessionId }) => status === 'waiting' && !ours.has(sessionId))
      .map(waitingNative),
  ]
  const notified = useRef(new Set<string>())
  useEffect(() => {
    document.title = waiting.length > 0 ? `(${waiting.length}) Rockpool` : 'Rockpool'
    for (const one of waiting) if (!notified.current.has(one.key)) notify(one)
    // A session that waits again later causes a new notification.
    notified.current = new Set(waiting.map(({ key }) => key))
  }, [coding.data, native.data])
  return waiting.length
}

/** A session that waits for a person. */
interface WaitingSession {
  /** One notification for each wait. */
  key: string
  name: string
  about: string
  route: Route
}

function waitingCoding({ id, name, waiting }: CodingRow): WaitingSession {
  const about = waiting?.about ?? ''
  return { key: `${id} ${waiting?.since}`, name, about, route: { view: 'coding', id } }
}

function waitingNative(session: NativeSession): WaitingSession {
  const { sessionId: id, waitingFor: about = '' } = session
  return { key: `${id} ${about}`, name: nameOf(session), about, route: { view: 'session', id } }
}

function notify({ key, name, about, route }: WaitingSession): void {
  if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return
  const notice = new Notification(`${visible(name)} needs you`, {
    body: visible(about),
    tag: key,
    icon: '/icon.svg',
  })
  notice.addEventListener('click', () => {
    window.focus()
    go(route)
  })
}
