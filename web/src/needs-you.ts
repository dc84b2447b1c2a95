// How many sessions wait for a person, for the badge, the page's title and, while the page is open, a notification.
import { useEffect, useRef } from 'preact/hooks'
import type { CodingRow } from './data.ts'
import { useLive } from './live.ts'

export function useNeedsYou(): number {
  const { data } = useLive<{ sessions: CodingRow[] }>(
    'coding.sessions',
    { limit: 200 },
    (event) => event.type.startsWith('coding-changed') || event.type === 'approval-changed',
  )
  const waiting = data?.sessions.filter((row) => row.waiting) ?? []
  const told = useRef(new Set<string>())
  useEffect(() => {
    document.title = waiting.length > 0 ? `(${waiting.length}) Rockpool` : 'Rockpool'
    for (const row of waiting) {
      const key = `${row.id} ${row.waiting!.since}`
      if (!told.current.has(key)) notify(row)
      told.current.add(key)
    }
  }, [data])
  return waiting.length
}

function notify(row: CodingRow): void {
  if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return
  const notice = new Notification(`${row.name} needs you`, {
    body: row.waiting?.about,
    tag: row.id,
    icon: '/icon.svg',
  })
  notice.addEventListener('click', () => window.focus())
}
