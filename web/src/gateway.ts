// The page's line to its own gateway: the same client as the command line's, logged in by cookie and page key.
import { GatewayClient } from '../../src/rpc/client.ts'
import type { Call, ConnectionState } from '../../src/rpc/client.ts'
import type { RockpoolEvent } from '../../src/domain/events.ts'

export type { ConnectionState, RockpoolEvent }

export interface Gateway {
  call: Call
  /** Hears of what a topic tells; `gap` means: look at the whole anew, also when one has only begun to listen. */
  listen: (topic: string, input: Record<string, unknown>, listener: Listener) => () => void
  /** Called whenever the line is there again. */
  onConnected: (listener: () => void) => () => void
}

export interface Listener {
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
  const client = new GatewayClient({ url, pageKey: keptPageKey, onState, onRefused })
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

/** Many parts of the page listen to the same thing; the gateway is asked for it once. */
function shared(subscribe: Subscribe): Gateway['listen'] {
  const lines = new Map<string, { listeners: Set<Listener>; stop: () => void }>()
  return (topic, input, listener) => {
    const key = JSON.stringify([topic, input])
    const line = lines.get(key) ?? openLine(subscribe, topic, input)
    lines.set(key, line)
    line.listeners.add(listener)
    return () => {
      line.listeners.delete(listener)
      if (line.listeners.size > 0) return
      lines.delete(key)
      line.stop()
    }
  }
}

function openLine(
  subscribe: Subscribe,
  topic: string,
  input: Record<string, unknown>,
): { listeners: Set<Listener>; stop: () => void } {
  const listeners = new Set<Listener>()
  const gap = (): void => {
    for (const listener of listeners) listener.gap()
  }
  const event = (told: RockpoolEvent): void => {
    for (const listener of listeners) listener.event(told)
  }
  const stop = subscribe(topic, input, { event, gap, begun: gap })
  return { listeners, stop }
}

export type LoginOutcome = 'in' | 'refused' | 'unreachable'

/**
 * Browsers send the cookie of 127.0.0.1 to every port there, so the cookie alone opens nothing. The page key is kept where
 * only pages of this origin, with its port, can read it.
 */
const pageKeyName = 'rockpool-page-key'

/** Empty without a login: the gateway then refuses the connection, and the page asks for a login. */
function keptPageKey(): string {
  return localStorage.getItem(pageKeyName) ?? ''
}

/** By a one-time code or the gateway's token. Sets a cookie that scripts cannot read, and keeps the page key. */
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

/** The gateway then ends the line, and the page asks for a log-in. */
export async function logOut(): Promise<void> {
  await fetch('/logout', { method: 'POST', headers: { 'x-rockpool-page-key': keptPageKey() } })
  localStorage.removeItem(pageKeyName)
}

export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch('/health')).ok
  } catch {
    return false
  }
}
