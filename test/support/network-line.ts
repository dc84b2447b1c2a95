// A network line between a program and a server that can be cut: packets stay where they are until it is whole again.
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

export class NetworkLine {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #toServer = new Set<Socket>()
  #isCut = false

  private constructor(to: { hostname: string; port: number }) {
    this.#server = createServer((near) => {
      const far = connect(to.port, to.hostname)
      for (const socket of [near, far]) this.#add(socket)
      this.#toServer.add(far)
      near.pipe(far).pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
      if (this.#isCut) for (const socket of [near, far]) socket.pause()
    })
  }

  /** A line to the server that the URL names. */
  static async open(url: string): Promise<{ line: NetworkLine; url: string }> {
    const there = new URL(url)
    const line = new NetworkLine({ hostname: there.hostname, port: Number(there.port) })
    await new Promise<void>((resolve) => line.#server.listen(0, '127.0.0.1', resolve))
    there.port = String((line.#server.address() as AddressInfo).port)
    return { line, url: there.href }
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** What the program sends still arrives; what the server answers on open connections waits until `mend`. */
  holdAnswers(): void {
    for (const socket of this.#toServer) socket.pause()
  }

  mend(): void {
    this.#isCut = false
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {
      // The user of the connection gets the error.
    })
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#toServer.delete(socket)
    })
  }
}
