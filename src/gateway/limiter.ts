// Limits for clients that are not authenticated: how often they may try a credential, and how many may be connected.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import { TooManyTries } from './http.ts'
import { isFromBrowser, isLoopback } from './origin.ts'

const windowMs = 60_000
const lockoutMs = 300_000
const maxSources = 10_000
const maxLocalFailures = 100
const maxRemoteFailures = 10
/** `newToken` makes 43 characters; 32 cannot be guessed. */
const unguessableLength = 32

interface Tries {
  failures: number
  since: number
  lockedUntil: number
}

/** After too many failures within a minute a source is locked out for five minutes. */
export class Limiter {
  /** Over all sources. */
  failures = 0
  #tries = new Map<string, Tries>()
  #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns what `check` finds; throws `unauthorized` or `rate-limited` if it finds nothing. Tokens that Rockpool makes have
   * 256 bits, so a right one is accepted even from a locked source. A shorter secret, which a person chose, is not checked there.
   */
  guard<T>(
    purpose: string,
    request: IncomingMessage,
    secret: string | undefined,
    check: () => T | undefined,
  ): T {
    const address = request.socket.remoteAddress ?? ''
    const isBrowser = isFromBrowser(request)
    const isLocal = isLoopback(address.replace(/^::ffff:/, '')) && !isBrowser
    const source = `${purpose} ${isBrowser ? 'page' : 'program'} ${address}`
    const wait = this.lockedFor(source)
    const isGuessable = (secret ?? '').length < unguessableLength
    const found = wait > 0 && isGuessable ? undefined : check()
    if (found !== undefined) return found
    if (wait > 0) throw new TooManyTries(wait)
    this.fail(source, isLocal ? maxLocalFailures : maxRemoteFailures)
    throw new RockpoolError('unauthorized', 'A valid token is needed.', {
      hint: 'Send it as `Authorization: Bearer …`. It is in credentials/gateway-token of the state directory.',
    })
  }

  /** Seconds until this source may try again; 0 if it may try now. */
  lockedFor(source: string): number {
    const found = this.#tries.get(source)
    return found ? Math.max(0, Math.ceil((found.lockedUntil - this.#clock.monotonic()) / 1000)) : 0
  }

  fail(source: string, maxFailures: number): void {
    this.failures++
    const now = this.#clock.monotonic()
    let found = this.#tries.get(source)
    if (!found || now - found.since > windowMs) {
      found = { failures: 0, since: now, lockedUntil: found?.lockedUntil ?? 0 }
      if (this.#tries.size >= maxSources) this.#dropOne(now)
      this.#tries.set(source, found)
    }
    found.failures++
    if (found.failures >= maxFailures) found.lockedUntil = now + lockoutMs
  }

  /** A locked source stays in the list; otherwise a flood of other addresses would unlock it. */
  #dropOne(now: number): void {
    for (const [source, tries] of this.#tries) {
      if (tries.lockedUntil > now) continue
      this.#tries.delete(source)
      return
    }
  }
}

const tooMany = 'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

/** Sockets that are not authenticated yet. When there are too many, the oldest is refused, so that idle sockets cannot keep
 *  other clients out. */
export class PendingSockets {
  #pending = new Map<Socket, () => void>()
  #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get count(): number {
    return this.#pending.size
  }

  add(socket: Socket): void {
    this.#pending.set(socket, () => socket.end(tooMany))
    socket.once('close', () => this.#pending.delete(socket))
    if (this.#pending.size > this.#limit) this.#refuseOldest()
  }

  /** The socket became a WebSocket, which is refused with a close frame. */
  refuseWith(socket: Socket, refuse: () => void): void {
    if (this.#pending.has(socket)) this.#pending.set(socket, refuse)
  }

  /** The client has authenticated. */
  remove(socket: Socket): void {
    this.#pending.delete(socket)
  }

  #refuseOldest(): void {
    const [socket, refuse] = this.#pending.entries().next().value!
    this.#pending.delete(socket)
    refuse()
    // The client may not read the answer.
    setTimeout(() => socket.destroy(), 1000).unref()
  }
}
