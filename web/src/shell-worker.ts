// Runs beside the page, in the browser: keeps the page itself (its document, scripts, styles, picture), so that it opens
// also while the gateway is away and can say so. Nothing that the gateway tells is ever kept. Built as a file of its own,
// because a browser takes such a worker only from a fixed address.

/** The part of a worker's world that is used here; the types of the page know only the page's. */
interface ShellScope {
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
  registration: { navigationPreload?: { enable(): Promise<void> } }
  addEventListener(type: 'install' | 'activate', listener: (event: Lasting) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void
}

interface Lasting {
  waitUntil(work: Promise<unknown>): void
}

interface Fetching extends Lasting {
  request: Request
  /** Asked by the browser while this worker was still waking. */
  preloadResponse: Promise<Response | undefined>
  respondWith(answer: Promise<Response>): void
}

// Here the global object is a worker's, whatever the page's types say.
const scope = globalThis as unknown as ShellScope
const kept = 'rockpool-shell'
const address = '/'
/** Addresses that are no view of the page; their answers are nobody's business here. */
const doors = new Set(['login', 'logout', 'rpc', 'ws', 'health', 'metrics', 'hooks'])

scope.addEventListener('install', (event) => {
  event.waitUntil(fetch(address).then(keep).then(scope.skipWaiting.bind(scope)))
})
scope.addEventListener('activate', (event) => event.waitUntil(takeOver()))
scope.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request
  const { origin, pathname } = new URL(url)
  if (method !== 'GET' || origin !== location.origin) return
  if (pathname.startsWith('/assets/')) event.respondWith(asset(event.request))
  else if (pathname === '/icon.svg') event.respondWith(networkFirst(event, event.request))
  else if (mode === 'navigate' && !doors.has(pathname.split('/')[1]!)) event.respondWith(page(event))
})

async function takeOver(): Promise<void> {
  for (const name of await caches.keys()) if (name !== kept) await caches.delete(name)
  await scope.registration.navigationPreload?.enable()
  await scope.clients.claim()
}

/** Always the gateway's own while it answers, so that a new build is there at once. */
async function page(event: Fetching): Promise<Response> {
  const answer = await networkFirst(event, address)
  const isPage = answer.ok && answer.headers.get('content-type')?.startsWith('text/html')
  if (isPage) event.waitUntil(keep(answer.clone()))
  return answer
}

async function networkFirst(event: Fetching, fallback: Request | string): Promise<Response> {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request))
  } catch {
    // The gateway is away; the page will say so.
    return (await caches.match(fallback)) ?? Response.error()
  }
}

/** Its name changes with its content, so the one that is kept is right. */
async function asset(request: Request): Promise<Response> {
  const known = await caches.match(request)
  if (known) return known
  const answer = await fetch(request)
  if (answer.ok) await (await caches.open(kept)).put(request, answer.clone())
  return answer
}

/** A document with all that it names; what only an older one named is forgotten. */
async function keep(answer: Response): Promise<void> {
  const cache = await caches.open(kept)
  const text = await answer.clone().text()
  if (text === (await (await cache.match(address))?.text())) return
  const named = [...text.matchAll(/ (?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!)
  await cache.addAll(named)
  await cache.put(address, answer)
  for (const request of await cache.keys()) {
    const { pathname } = new URL(request.url)
    if (pathname !== address && !named.includes(pathname)) await cache.delete(request)
  }
}
