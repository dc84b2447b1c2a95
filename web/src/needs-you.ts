// How many sessions wait for a person, for the badge, the page's title and, while the page is open, a notification.
import { useEffect, useRef } from 'preact/hooks'
import type { CodingRow, NativeSession } from './data.ts'
import { useLive } from './live.ts'
import { go } from './route.ts'

/** It cannot go on without an answer. One that has done its turn can wait. */
export function needsYou(row: CodingRow): boolean {
  return row.waiting !== undefined && row.waiting.for !== 'input'
}

export function useNeedsYou(): number {
  const { data } = useLive<{ sessions: CodingRow[] }>(
    'coding.sessions',
    { limit: 200 },
    (event) => event.type.startsWith('coding-changed') || event.type === 'approval-changed',
  )
  const native = useLive<{ sessions: NativeSession[] }>(
    'cc.list',
    { running: true, archived: false },
    (event) => event.type === 'native-changed',
    1_000,
  )
  const waiting = data?.sessions.filter(needsYou) ?? []
  const ours = new Set(data?.sessions.map((row) => row.claudeSessionId))
  const others = native.data?.sessions.filter(
    ({ status, sessionId }) => status === 'waiting' && !ours.has(sessionId),
  )
  const count = waiting.length + (others?.length ?? 0)
  const told = useRef(new Set<string>())
  useEffect(() => {
    document.title = count > 0 ? `(${count}) Rockpool` : 'Rockpool'
    for (const row of waiting) {
      const key = `${row.id} ${row.waiting!.since}`
      if (!told.current.has(key)) notify(row)
      told.current.add(key)
    }
  }, [data, count])
  return count
}

function notify(row: CodingRow): void {
  if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return
  const notice = new Notification(`${row.name} needs you`, {
    body: row.waiting?.about,
    tag: row.id,
    icon: '/icon.svg',
  })
  notice.addEventListener('click', () => {
    window.focus()
    go({ view: 'coding', id: row.id })
  })
}
