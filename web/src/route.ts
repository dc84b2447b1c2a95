// The current view, stored in the address: it can be bookmarked and shared, and Back works. The path names what is shown; the
// part after `#` says how: in which list, with which filter, order and tab. (The gateway drops parameters after `?`.)
import { useEffect, useState } from 'preact/hooks'

export interface SessionRoute {
  view: 'session'
  id: string
  /** One of its sub-agents, by its id. */
  subagent?: string
  /** The message to show, by its uuid or, as `@` and milliseconds, by its time. */
  at?: string
}

const lists = ['inbox', 'review', 'working', 'failed', 'all'] as const
export type ListName = (typeof lists)[number]

export type Route =
  | { view: ListName }
  | SessionRoute
  | { view: 'coding'; id: string }
  | { view: 'chat'; key?: string; at?: string }
  | { view: 'new'; repo?: string }
  /** `doc`: one of its documents, by its path in the repository. */
  | { view: 'project'; path: string; doc?: string }
  | { view: 'cost'; by?: string }
  /** A note of an agent, and the line to show. */
  | { view: 'note'; path: string; line?: string }
  /** Which session wrote a file, a line (`file:line`) or a commit of a repository. */
  | { view: 'why'; repo: string; target: string }
  | { view: 'mail' }
  | { view: 'schedules' }
  | { view: 'settings' }
  | { view: 'unknown' }

/** How it is shown. */
export interface Look {
  /** The path of the list that a session was opened from. */
  in?: string
  /** The filter of the list. */
  q?: string
  /** The column that sorts the list; `-` in front reverses the order. */
  sort?: string
  tab?: string
  /** A word to mark in the conversation. */
  mark?: string
  /** The first and the last day of the costs, as 2026-11-15. */
  from?: string
  to?: string
}

const lookFields = ['in', 'q', 'sort', 'tab', 'mark', 'from', 'to'] as const

/** The prefix of the name of a sub-agent's transcript; no message has it. */
const aside = 'agent-'

export function pathOf(route: Route, look: Look = {}): string {
  const parts = partsOf(route).filter((part) => part !== undefined)
  const params = lookFields.flatMap((field) => (look[field] ? [[field, look[field]]] : []))
  const how = params.length > 0 ? `#${new URLSearchParams(params).toString()}` : ''
  return `/${parts.map(encodeURIComponent).join('/')}${how}`
}

function partsOf(route: Route): Array<string | undefined> {
  switch (route.view) {
    case 'inbox':
      return []
    case 'session':
      return [route.view, route.id, route.subagent && aside + route.subagent, route.at]
    case 'coding':
      return [route.view, route.id]
    case 'chat':
      return [route.view, route.key, route.at]
    case 'new':
      return [route.view, route.repo]
    case 'project':
      return [route.view, route.path, route.doc]
    case 'note':
      return [route.view, route.path, route.line]
    case 'why':
      return [route.view, route.repo, route.target]
    case 'cost':
      return [route.view, route.by]
    default:
      return [route.view]
  }
}

export function routeOf(path: string): Route {
  const [view = '', first, second, third] = path.split('/').slice(1).map(decode)
  const isNamed = first !== undefined
  switch (view) {
    case '':
      return { view: 'inbox' }
    case 'session':
      if (!isNamed) return { view: 'unknown' }
      return second?.startsWith(aside)
        ? { view, id: first, subagent: second.slice(aside.length), at: third }
        : { view, id: first, at: second }
    case 'coding':
      return isNamed ? { view, id: first } : { view: 'unknown' }
    case 'project':
      return isNamed ? { view, path: first, doc: second } : { view: 'unknown' }
    case 'note':
      return isNamed ? { view, path: first, line: second } : { view: 'unknown' }
    case 'why':
      return isNamed && second !== undefined ? { view, repo: first, target: second } : { view: 'unknown' }
    case 'chat':
      return { view, key: first, at: second }
    case 'new':
      return { view, repo: first }
    case 'cost':
      return { view, by: first }
    case 'mail':
    case 'schedules':
    case 'settings':
      return { view }
    default: {
      const list = lists.find((name) => name === view)
      return list && !isNamed ? { view: list } : { view: 'unknown' }
    }
  }
}

export function isList(route: Route): route is { view: ListName } {
  return lists.some((name) => name === route.view)
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text) || undefined
  } catch {
    // Not a value that the page has written: ignored.
    return undefined
  }
}

/** An address may name a time instead of a message: `@` and milliseconds. */
export function timeIn(at: string): number | undefined {
  const time = /^@(\d+)$/.exec(at)?.[1]
  return time === undefined ? undefined : Number(time)
}

export function go(route: Route, look: Look = {}): void {
  history.pushState(null, '', pathOf(route, look))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Changes the address without a step for Back, for example while typing a filter. */
export function replaceWith(route: Route, look: Look): void {
  history.replaceState(null, '', pathOf(route, look))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Opens a link within the page; new tabs and windows are left to the browser. */
export function follow(route: Route, look: Look = {}): (event: MouseEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    go(route, look)
  }
}

export interface Place {
  route: Route
  look: Look
}

function currentPlace(): Place {
  const params = new URLSearchParams(location.hash.slice(1))
  const look = Object.fromEntries(
    lookFields.flatMap((field) => (params.get(field) ? [[field, params.get(field)]] : [])),
  ) as Look
  return { route: routeOf(location.pathname), look }
}

export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace)
  useEffect(() => {
    const look = (): void => setPlace(currentPlace())
    addEventListener('popstate', look)
    return () => removeEventListener('popstate', look)
  }, [])
  return place
}
