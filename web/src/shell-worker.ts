// A service worker that stores the page itself (its document, scripts, styles, icon), so that it opens and shows a message while
// the gateway is not reachable, and that shows notifications while the page is closed. Answers of the gateway are never stored.
// Built as a separate file, because a browser loads a service worker only from a fixed address.

/** The worker API that is used here; the types of the page do not include it. */
interface ShellScope {
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void>; openWindow(url: string): Promise<unknown> }
  registration: {
    navigationPreload?: { enable(): Promise<void> }
    showNotification(title: string, options: object): Promise<void>
  }
  addEventListener(type: 'install' | 'activate', listener: (event: Lasting) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void
  addEventListener(type: 'push', listener: (event: Pushed) => void): void
  addEventListener(type: 'notificationclick', listener: (event: Pressed) => void): void
}

interface Pushed extends Lasting {
  data: { json(): Notice } | null
}

interface Pressed extends Lasting {
  /** The label of the button; empty for a press on the notification itself. */
  action: string
  notification: { data: Notice; close(): void }
}

/** A notification from the gateway; see `Notification` in src/channels/devices.ts. */
interface Notice {
  title: string
  body: string
  path: string
  tag: string
  answers: Array<{ label: string; deviceId: string; answer: string; signed: string }>
}

interface Lasting {
  waitUntil(work: Promise<unknown>): void
}

interface Fetching extends Lasting {
  request: Request
  /** The request that the browser has sent while this worker was starting. */
  preloadResponse: Promise<Response | undefined>
  respondWith(answer: Promise<Response>): void
}

// The global object is a worker, unlike in the types of the page.
const scope = globalThis as unknown as ShellScope
const kept = 'rockpool-shell'
const address = '/'
/** Paths that are not views of the page; their answers are never stored. */
const apiPaths = new Set(['login', 'logout', 'rpc', 'ws', 'health', 'metrics', 'hooks', 'answers'])

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
  else if (mode === 'navigate' && !apiPaths.has(pathname.split('/')[1]!)) event.respondWith(page(event))
})

scope.addEventListener('push', (event) => {
  const notice = event.data?.json()
  if (notice) event.waitUntil(show(notice))
})
scope.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(answerOrOpen(event))
})

function show(notice: Notice): Promise<void> {
  const { title, body, tag, answers } = notice
  const actions = answers.map(({ label }) => ({ action: label, title: label }))
  return scope.registration.showNotification(title, { body, tag, actions, data: notice, icon: '/icon.svg' })
}

/** A press on Allow or Deny answers; if that fails, or for any other press, the page opens. */
async function answerOrOpen({ action, notification: { data } }: Pressed): Promise<void> {
  const chosen = data.answers.find(({ label }) => label === action)
  if (chosen && (await isAnswered(chosen))) return
  await scope.clients.openWindow(data.path)
}

async function isAnswered({ deviceId, answer, signed }: Notice['answers'][number]): Promise<boolean> {
  try {
    const body = JSON.stringify({ deviceId, answer, signed })
    return (await fetch('/answers', { method: 'POST', body })).ok
  } catch {
    // The gateway is not reachable; the page shows that.
    return false
  }
}

async function takeOver(): Promise<void> {
  for (const name of await caches.keys()) if (name !== kept) await caches.delete(name)
  await scope.registration.navigationPreload?.enable()
  await scope.clients.claim()
}

/** From the gateway while it answers, so that a new build is used at once. */
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
    // The gateway is not reachable; the page shows that.
    return (await caches.match(fallback)) ?? Response.error()
  }
}

/** The name changes with the content, so a stored file is always current. */
async function asset(request: Request): Promise<Response> {
  const known = await caches.match(request)
  if (known) return known
  const answer = await fetch(request)
  if (answer.ok) await (await caches.open(kept)).put(request, answer.clone())
  return answer
}

/** Stores a document with all files that it names; files of older documents are removed. */
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
