// The page's line to its own gateway: the same client as the command line's, logged in by cookie and page key.
import { GatewayClient } from '../../src/rpc/client.ts'
import type { Call, ConnectionState } from '../../src/rpc/client.ts'
import type { RockpoolEvent } from '../../src/domain/events.ts'

export type { ConnectionState, RockpoolEvent }

export interface Gateway {
  call: Call
  /** Subscribes to a topic. `gap`: events may be missing, so load everything again; also called at the start. */
  listen: (topic: string, input: Record<string, unknown>, listener: Listener) => () => void
  /** Called after every connection. */
  onConnected: (listener: () => void) => () => void
}

interface Listener {
  event(event: RockpoolEvent): void
  gap(): void
}

/** Only ever to where the page itself came from: nothing in the address can send it elsewhere. */
export function openGateway(options: {
  onState: (state: ConnectionState) => void
  onRefused: () => void
}): Gateway {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  const waiting = new Set<() => void>()
  const onState = (state: ConnectionState): void => {
    options.onState(state)
    if (state === 'connected') for (const listener of waiting) listener()
  }
  const { onRefused } = options
  const url = `${scheme}://${location.host}/ws`
  const client = new GatewayClient({ url, pageKey: storedPageKey, onState, onRefused })
  return {
    call: (method, input) => client.call(method, input),
    listen: shared((topic, input, listener) => client.subscribe(topic, input, listener)),
    onConnected(listener) {
      waiting.add(listener)
      return () => waiting.delete(listener)
    },
  }
}

type Subscribe = GatewayClient['subscribe']

/** Parts of the page that listen to the same topic share one subscription. */
function shared(subscribe: Subscribe): Gateway['listen'] {
  const subscriptions = new Map<string, { listeners: Set<Listener>; stop: () => void }>()
  return (topic, input, listener) => {
    const key = JSON.stringify([topic, input])
    const subscription = subscriptions.get(key) ?? openSubscription(subscribe, topic, input)
    subscriptions.set(key, subscription)
    subscription.listeners.add(listener)
    return () => {
      subscription.listeners.delete(listener)
      if (subscription.listeners.size > 0) return
      subscriptions.delete(key)
      subscription.stop()
    }
  }
}

function openSubscription(
  subscribe: Subscribe,
  topic: string,
  input: Record<string, unknown>,
): { listeners: Set<Listener>; stop: () => void } {
  const listeners = new Set<Listener>()
  const gap = (): void => {
    for (const listener of listeners) listener.gap()
  }
  const event = (news: RockpoolEvent): void => {
    for (const listener of listeners) listener.event(news)
  }
  const stop = subscribe(topic, input, { event, gap, begun: gap })
  return { listeners, stop }
}

type LoginOutcome = 'in' | 'refused' | 'unreachable'

/**
 * Browsers send the cookie of 127.0.0.1 to every port there, so the cookie alone is not a credential. The page key is stored
 * where only pages of this origin, with its port, can read it.
 */
const pageKeyName = 'rockpool-page-key'

/** Empty without a login: the gateway then refuses the connection, and the page asks for a login. */
function storedPageKey(): string {
  return localStorage.getItem(pageKeyName) ?? ''
}

/** Logs in with a one-time code or the gateway's token. Sets a cookie that scripts cannot read, and stores the page key. */
export async function logIn(secret: string): Promise<LoginOutcome> {
  try {
    const answer = await fetch('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ secret }),
    })
    if (!answer.ok) return 'refused'
    const { pageKey } = (await answer.json()) as { pageKey: string }
    localStorage.setItem(pageKeyName, pageKey)
    return 'in'
  } catch {
    return 'unreachable'
  }
}

/** The gateway then closes the connection, and the page asks for a login. If the gateway does not answer, the browser still forgets its
 *  key, and the page what it shows. */
export async function logOut(): Promise<void> {
  const pageKey = storedPageKey()
  localStorage.removeItem(pageKeyName)
  try {
    await fetch('/logout', { method: 'POST', headers: { 'x-rockpool-page-key': pageKey } })
  } catch {
    location.reload()
  }
}

export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch('/health')).ok
  } catch {
    return false
  }
}
