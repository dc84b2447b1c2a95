// Which view is shown, kept in the address: it can be bookmarked, and Back works.
import { useEffect, useState } from 'preact/hooks'

export type Route =
  | { view: 'home' }
  | { view: 'session'; id: string }
  | { view: 'coding'; id: string }
  | { view: 'chat'; key?: string }
  | { view: 'choose' }
  | { view: 'project'; path: string }
  | { view: 'cost' }
  | { view: 'settings' }

export function pathOf(route: Route): string {
  switch (route.view) {
    case 'home':
      return '/'
    case 'session':
    case 'coding':
      return `/${route.view}/${encodeURIComponent(route.id)}`
    case 'chat':
      return route.key === undefined ? '/chat' : `/chat/${encodeURIComponent(route.key)}`
    case 'project':
      return `/project/${encodeURIComponent(route.path)}`
    default:
      return `/${route.view}`
  }
}

export function routeOf(path: string): Route {
  const [, view = '', rest = ''] = /^\/([^/]*)\/?(.*)$/.exec(path) ?? []
  const value = decode(rest)
  if ((view === 'session' || view === 'coding') && value !== '') return { view, id: value }
  if (view === 'chat') return value === '' ? { view } : { view, key: value }
  if (view === 'project' && value !== '') return { view, path: value }
  if (view === 'choose' || view === 'cost' || view === 'settings') return { view }
  return { view: 'home' }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export function go(route: Route): void {
  history.pushState(null, '', pathOf(route))
  dispatchEvent(new PopStateEvent('popstate'))
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
