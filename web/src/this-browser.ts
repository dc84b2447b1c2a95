// This browser as a device that is notified while the page is closed: its subscription at the push server, and its id in the list of
// devices. Who logs out takes both away.
import type { Gateway } from './gateway.ts'

export type BrowserState = 'unknown' | 'impossible' | 'off' | 'on'

/** A device that is no longer listed gets nothing: it was removed, or the token with which it was added was replaced. */
const ownId = 'rockpool-device'
const patienceMs = 2_000

export function deviceHere(): string | undefined {
  return localStorage.getItem(ownId) ?? undefined
}

export function keepDeviceHere(id: string): void {
  localStorage.setItem(ownId, id)
}

export async function stateOfBrowser(): Promise<BrowserState> {
  const push = await pushManager()
  if (!push) return 'impossible'
  return (await push.getSubscription()) ? 'on' : 'off'
}

/** The browser asks the person for permission. */
export async function subscribeBrowser(publicKey: string) {
  const push = await pushManager()
  const subscription = await push?.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
  const { endpoint, keys } = subscription?.toJSON() ?? {}
  if (endpoint === undefined || keys?.['p256dh'] === undefined || keys['auth'] === undefined)
    throw new Error('there is no push service.')
  return { url: endpoint, keys: { p256dh: keys['p256dh'], auth: keys['auth'] }, name: nameOfBrowser() }
}

/** Before the page logs out: a notification shows requests and answers them without a login. If the gateway does not answer, the push
 *  server tells it later that this browser has left. */
export async function endNotifications(call: Gateway['call']): Promise<void> {
  const id = deviceHere()
  localStorage.removeItem(ownId)
  const removed = id === undefined ? undefined : call('devices.remove', { id })
  const late = new Promise((resolve) => setTimeout(resolve, patienceMs))
  // What fails here must not keep anybody logged in.
  await Promise.race([Promise.allSettled([removed, unsubscribe(), closeNotifications()]), late])
}

async function unsubscribe(): Promise<void> {
  const subscription = await (await pushManager())?.getSubscription()
  await subscription?.unsubscribe()
}

async function closeNotifications(): Promise<void> {
  const shown = (await (await worker())?.getNotifications()) ?? []
  for (const notification of shown) notification.close()
}

/** Undefined where the browser has no push: no TLS, a private window, an old browser. */
async function pushManager(): Promise<PushManager | undefined> {
  return 'PushManager' in window ? (await worker())?.pushManager : undefined
}

async function worker(): Promise<ServiceWorkerRegistration | undefined> {
  return 'serviceWorker' in navigator ? navigator.serviceWorker.getRegistration() : undefined
}

function nameOfBrowser(): string {
  const [, browser = 'Browser'] = /(Edg|Firefox|Chrome|Safari)/.exec(navigator.userAgent) ?? []
  const [, system] = /(Android|iPhone|iPad|Mac OS|Windows|Linux)/.exec(navigator.userAgent) ?? []
  return `${browser === 'Edg' ? 'Edge' : browser}${system ? ` on ${system}` : ''}`
}
