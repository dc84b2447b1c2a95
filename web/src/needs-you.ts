// How many sessions wait for a person, for the badge, the page's title and, while the page is open, a notification.
import { useEffect, useRef } from 'preact/hooks'
import type { CodingRow, NativeSession } from './data.ts'
import { nameOf, visible } from './format.ts'
import { useLive } from './live.ts'
import { go } from './route.ts'
import type { Route } from './route.ts'

/** It cannot go on without an answer. One that has done its turn can wait. */
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
    ...(coding.data?.sessions ?? []).filter(needsYou).map(callOfCoding),
    ...(native.data?.sessions ?? [])
      .filter(({ status, sessionId }) => status === 'waiting' && !ours.has(sessionId))
      .map(callOfNative),
  ]
  const told = useRef(new Set<string>())
  useEffect(() => {
    document.title = waiting.length > 0 ? `(${waiting.length}) Rockpool` : 'Rockpool'
    for (const call of waiting) if (!told.current.has(call.key)) notify(call)
    // What no longer waits is forgotten: when it waits again, that is news.
    told.current = new Set(waiting.map((call) => call.key))
  }, [coding.data, native.data])
  return waiting.length
}

/** Somebody is called: by whom, for what, and where the answer is given. */
interface CallForSomebody {
  /** Each wait is told once. */
  key: string
  name: string
  about: string
  route: Route
}

function callOfCoding({ id, name, waiting }: CodingRow): CallForSomebody {
  const about = waiting?.about ?? ''
  return { key: `${id} ${waiting?.since}`, name, about, route: { view: 'coding', id } }
}

function callOfNative(session: NativeSession): CallForSomebody {
  const { sessionId: id, waitingFor: about = '' } = session
  return { key: `${id} ${about}`, name: nameOf(session), about, route: { view: 'session', id } }
}

function notify({ key, name, about, route }: CallForSomebody): void {
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
