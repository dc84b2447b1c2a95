// The current view, stored in the address: it can be bookmarked and shared, and Back works.
import { useEffect, useState } from 'preact/hooks'

export interface SessionRoute {
  view: 'session'
  id: string
  /** One of its sub-agents, by its id. */
  subagent?: string
  /** The message to show, by its uuid or, as `@` and milliseconds, by its time. */
  at?: string
}

export type Route =
  | { view: 'home' }
  | SessionRoute
  | { view: 'coding'; id: string }
  | { view: 'chat'; key?: string; at?: string }
  | { view: 'choose'; repo?: string }
  /** `doc`: one of its documents, by its path in the repository. */
  | { view: 'project'; path: string; doc?: string }
  | { view: 'cost'; by?: string }
  /** A note of an agent, and the line to show. */
  | { view: 'note'; path: string; line?: string }
  | { view: 'settings' }

/** The prefix of the name of a sub-agent's transcript; no message has it. */
const aside = 'agent-'

export function pathOf(route: Route): string {
  const parts = partsOf(route).filter((part) => part !== undefined)
  return `/${parts.map(encodeURIComponent).join('/')}`
}

function partsOf(route: Route): Array<string | undefined> {
  switch (route.view) {
    case 'home':
      return []
    case 'session':
      return [route.view, route.id, route.subagent && aside + route.subagent, route.at]
    case 'coding':
      return [route.view, route.id]
    case 'chat':
      return [route.view, route.key, route.at]
    case 'choose':
      return [route.view, route.repo]
    case 'project':
      return [route.view, route.path, route.doc]
    case 'note':
      return [route.view, route.path, route.line]
    case 'cost':
      return [route.view, route.by]
    default:
      return [route.view]
  }
}

export function routeOf(path: string): Route {
  const [view, first, second, third] = path.split('/').slice(1).map(decode)
  switch (view) {
    case 'session':
      if (!first) return { view: 'home' }
      return second?.startsWith(aside)
        ? { view, id: first, subagent: second.slice(aside.length), at: third }
        : { view, id: first, at: second }
    case 'coding':
      return first ? { view, id: first } : { view: 'home' }
    case 'project':
      return first ? { view, path: first, doc: second } : { view: 'home' }
    case 'note':
      return first ? { view, path: first, line: second } : { view: 'home' }
    case 'chat':
      return { view, key: first, at: second }
    case 'choose':
      return { view, repo: first }
    case 'cost':
      return { view, by: first }
    case 'settings':
      return { view }
    default:
      return { view: 'home' }
  }
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

export function go(route: Route): void {
  history.pushState(null, '', pathOf(route))
  dispatchEvent(new PopStateEvent('popstate'))
}

/** Opens a link within the page; new tabs and windows are left to the browser. */
export function follow(route: Route): (event: MouseEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    go(route)
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.pathname))
  useEffect(() => {
    const look = (): void => setRoute(routeOf(location.pathname))
    addEventListener('popstate', look)
    return () => removeEventListener('popstate', look)
  }, [])
  return route
}
