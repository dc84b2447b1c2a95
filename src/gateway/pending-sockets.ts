// Sockets that are not authenticated yet. Their number is limited: when more come, the one that has waited
// longest makes room, so that a crowd of idle sockets never keeps an honest client out.
import type { Socket } from 'node:net'

const tooMany = 'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

export class Unvouched {
  #waiting = new Map<Socket, () => void>()
  #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get count(): number {
    return this.#waiting.size
  }

  add(socket: Socket): void {
    this.#waiting.set(socket, () => socket.end(tooMany))
    socket.once('close', () => this.#waiting.delete(socket))
    if (this.#waiting.size > this.#limit) this.#turnAwayOldest()
  }

  /** A WebSocket is turned away in its own words. */
  becomes(socket: Socket, turnAway: () => void): void {
    if (this.#waiting.has(socket)) this.#waiting.set(socket, turnAway)
  }

  /** Somebody with a credential is behind this socket. */
  vouch(socket: Socket): void {
    this.#waiting.delete(socket)
  }

  #turnAwayOldest(): void {
    const [socket, turnAway] = this.#waiting.entries().next().value!
    this.#waiting.delete(socket)
    turnAway()
    // It may not read the answer; it is gone soon all the same.
    setTimeout(() => socket.destroy(), 1000).unref()
  }
}
