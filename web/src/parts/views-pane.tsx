// The views at the left: lists with their counts, repositories, agents, cost and settings. On a phone: tabs at the bottom,
// the last of which shows the other views.
import { useMemo, useState } from 'preact/hooks'
import { shortPath, visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useLive } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import { follow, pathOf } from '../route.ts'
import type { ListName, Route } from '../route.ts'
import { countsOf } from '../rows.ts'

export const places: Array<{ route: Route; label: string; detail: string; key: string }> = [
  { route: { view: 'inbox' }, label: 'Inbox', detail: 'sessions that need you come first', key: 'i' },
  { route: { view: 'review' }, label: 'Review', detail: 'sessions that have finished a turn', key: 'r' },
  { route: { view: 'working' }, label: 'Working', detail: 'sessions that work now', key: 'w' },
  { route: { view: 'failed' }, label: 'Failed', detail: 'sessions that failed', key: 'f' },
  { route: { view: 'all' }, label: 'All', detail: 'every session', key: 'a' },
  { route: { view: 'new' }, label: 'New task', detail: 'choose a session and launch', key: 'n' },
  { route: { view: 'chat' }, label: 'Chat', detail: 'talk to an agent', key: 't' },
  { route: { view: 'mail' }, label: 'Mail', detail: 'messages between sessions', key: 'm' },
  { route: { view: 'cost' }, label: 'Cost', detail: 'by day, repository, model', key: 'c' },
  { route: { view: 'schedules' }, label: 'Schedules', detail: 'upcoming and past runs', key: 'e' },
  { route: { view: 'settings' }, label: 'Settings', detail: 'channels, people, agents', key: 's' },
]

const shownRepos = 8

export function ViewsPane({ route, list }: { route: Route; list: Route }) {
  const { rows } = useSessions()
  const agents = useLive('agents.list', {}, (event) => event.type === 'config-changed')
  const counts = useCounts()
  const repos = useMemo(() => [...new Set(rows.map((row) => row.path))].slice(0, shownRepos), [rows])
  const current = (to: Route): 'page' | undefined =>
    pathOf(to) === pathOf(route) || pathOf(to) === pathOf(list) ? 'page' : undefined
  const item = (to: Route, label: string, more?: number | string, title?: string) => (
    <li key={pathOf(to)}>
      <a href={pathOf(to)} title={title} aria-current={current(to)} onClick={follow(to)}>
        <span class="label">{visible(label)}</span>
        {more !== undefined && more !== 0 && <span class="count">{more}</span>}
      </a>
    </li>
  )
  const named = (name: string) => {
    const place = places.find(({ label }) => label === name)!
    return item(place.route, place.label, counts[place.route.view as ListName], `g ${place.key}`)
  }
  return (
    <nav class="views-pane" aria-label="Views">
      <a class="button primary new-task" href="/new" title="n" onClick={follow({ view: 'new' })}>
        New task
      </a>
      <ul>{['Inbox', 'Review', 'Working', 'Failed', 'All'].map(named)}</ul>
      {repos.length > 0 && (
        <>
          <h2>Repositories</h2>
          <ul>{repos.map((path) => item({ view: 'project', path }, shortPath(path), undefined, path))}</ul>
        </>
      )}
      <h2>Agents</h2>
      <ul>
        {named('Chat')}
        {(agents.data?.agents ?? []).map(({ id, name }) =>
          item({ view: 'chat', key: `agent:${id}:main` }, name ?? id),
        )}
      </ul>
      <ul class="last">{['Mail', 'Schedules', 'Cost', 'Settings'].map(named)}</ul>
    </nav>
  )
}

function useCounts(): Record<ListName, number> {
  const { rows, notLoaded } = useSessions()
  return useMemo(() => countsOf(rows, notLoaded), [rows, notLoaded])
}

const bottom = ['Inbox', 'All', 'New task', 'Chat']
const others = ['Review', 'Working', 'Failed', 'Mail', 'Schedules', 'Cost', 'Settings']

export function BottomTabs({ list }: { list: Route }) {
  const counts = useCounts()
  const [isOpen, setOpen] = useState(false)
  useKeys({ Escape: () => setOpen(false) })
  const link = (name: string) => {
    const { route, label } = places.find((place) => place.label === name)!
    const number = name === 'All' ? 0 : (counts[route.view as ListName] ?? 0)
    return (
      <a
        key={name}
        href={pathOf(route)}
        aria-current={route.view === list.view ? 'page' : undefined}
        onClick={(event) => {
          setOpen(false)
          follow(route)(event)
        }}
      >
        {label === 'New task' ? 'New' : label}
        {number > 0 && <span class={name === 'Inbox' ? 'badge' : 'count'}>{number}</span>}
      </a>
    )
  }
  const isOther = others.some((name) => places.find(({ label }) => label === name)?.route.view === list.view)
  return (
    <nav class="bottom-tabs" aria-label="Views">
      {isOpen && (
        <div class="more-views" id="more-views">
          {others.map(link)}
        </div>
      )}
      {bottom.map(link)}
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls="more-views"
        aria-current={isOther ? 'true' : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        More
      </button>
    </nav>
  )
}
