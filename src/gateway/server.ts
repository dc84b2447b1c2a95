// The gateway: one HTTP server with a WebSocket door. Listens, lets in, and goes down in order.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import { readGatewayToken } from '../store/gateway-tokens.ts'
import { Auth, bearerToken, narrow } from './auth.ts'
import type { Admission } from './auth.ts'
import { Calls } from './calls.ts'
import { EventLog } from './event-log.ts'
import { sendError } from './http.ts'
import { Metrics } from './metrics.ts'
import { doorplate, isLoopback } from './origin.ts'
import { Peer } from './peer.ts'
import type { Hello } from './peer.ts'
import { checkRequest, handleRequest, pageSecrets } from './routes.ts'
import type { RouteParts } from './routes.ts'
import { listStaticFiles } from './static.ts'
import { refuseUpgrade } from './upgrade.ts'
import { Unvouched } from './pending-sockets.ts'

export interface GatewayLimits {
  handshakeMs: number
  headersMs: number
  bodyMs: number
  unauthenticatedSockets: number
  frameBytes: number
  unauthenticatedBytes: number
  pingMs: number
}

const defaultLimits: GatewayLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  bodyMs: 30_000,
  unauthenticatedSockets: 64,
  frameBytes: 1024 * 1024,
  unauthenticatedBytes: 16 * 1024,
  pingMs: 30_000,
}

export interface GatewayOptions {
  port: number
  bind: string
  allowPlaintextLan: boolean
  /** Where the built dashboard is. */
  webRoot?: string
  limits?: Partial<GatewayLimits>
}

export interface Gateway {
  url: string
  wsUrl: string
  port: number
  /** The port that was asked for was taken. */
  movedFrom?: number
  auth: Auth
  /** Ends every open connection; clients come back by themselves. */
  dropConnections(): void
  close(drainMs: number): Promise<void>
}

export async function startGateway(app: App, options: GatewayOptions): Promise<Gateway> {
  const limits = { ...defaultLimits, ...options.limits }
  const auth = new Auth(app.paths.root, app.clock, app.log)
  checkExposure(app, options)
  const metrics = new Metrics()
  const calls = new Calls(app, metrics)
  const events = new EventLog(app.events, randomUUID(), app.redactor().knownValues)
  const unvouched = new Unvouched(limits.unauthenticatedSockets)
  const peers = new Set<Peer>()
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.bodyMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs / 4),
    maxHeaderSize: 16 * 1024,
    keepAliveTimeout: 5000,
  })
  const { port, movedFrom } = await listen(server, options)
  const parts: RouteParts = {
    auth,
    calls,
    unvouched,
    door: () => doorplate(app.config.gateway, options.bind, port),
    files: listStaticFiles(options.webRoot),
    metricsText: () =>
      metrics.text({
        connections: peers.size,
        unauthenticated: unvouched.count,
        authFailures: auth.failures,
        events: events.position.seq,
        uptimeSeconds: (app.clock.now() - app.startedAt) / 1000,
      }),
  }
  server.on('connection', (socket) => unvouched.add(socket))
  server.on('request', (request, response) => void handleRequest(request, response, parts))
  const sockets = openSocketDoor(server, parts, { events, peers, limits })
  const timers = [
    setInterval(() => endWithdrawn(peers, auth), 500).unref(),
    setInterval(() => peers.forEach((peer) => peer.ping()), limits.pingMs).unref(),
  ]
  const host = options.bind === '::1' ? '[::1]' : isLoopback(options.bind) ? '127.0.0.1' : options.bind
  return {
    url: `http://${host}:${port}`,
    wsUrl: `ws://${host}:${port}/ws`,
    port,
    ...(movedFrom === undefined ? {} : { movedFrom }),
    auth,
    dropConnections: () => peers.forEach(({ socket }) => socket.terminate()),
    async close(drainMs) {
      timers.forEach(clearInterval)
      server.close()
      await calls.drain(drainMs)
      for (const { socket } of peers) socket.close(1001, 'the gateway stops')
      events.close()
      metrics.close()
      sockets.close()
      await closed(server)
    },
  }
}

/** Listening on a network needs a strong token, and an explicit setting that accepts unencrypted traffic. */
function checkExposure(app: App, options: GatewayOptions): void {
  if (isLoopback(options.bind)) return
  const token = readGatewayToken(app.paths.root) ?? ''
  if (!/^[\w-]{43,}$/.test(token)) {
    throw new RockpoolError('exposed', `The gateway may not listen on ${options.bind} with a weak token.`, {
      hint: 'Remove credentials/gateway-token: a strong one is made at the next start.',
    })
  }
  if (options.allowPlaintextLan || app.config.gateway.allowPlaintextLan) return
  throw new RockpoolError('exposed', `Listening on ${options.bind} would send everything unencrypted.`, {
    hint: 'Put a TLS proxy or an SSH tunnel in front of 127.0.0.1, or accept it with --allow-plaintext-lan.',
  })
}

/** The port that was asked for, or the next free one. */
async function listen(
  server: Server,
  { port, bind }: GatewayOptions,
): Promise<{ port: number; movedFrom?: number }> {
  for (let candidate = port; ; candidate++) {
    try {
      await listenOn(server, candidate, bind)
    } catch (error) {
      const taken = errorCode(error) === 'EADDRINUSE'
      if (taken && port !== 0 && candidate < Math.min(port + 50, 65_535)) continue
      throw new RockpoolError('unavailable', `The gateway cannot listen on ${bind}, port ${candidate}.`, {
        hint: 'Choose another with --port, or any free one with --port 0.',
        cause: error,
      })
    }
    const actual = (server.address() as AddressInfo).port
    return port !== 0 && actual !== port ? { port: actual, movedFrom: port } : { port: actual }
  }
}

function listenOn(server: Server, port: number, bind: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, bind, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

interface SocketDoor {
  events: EventLog
  peers: Set<Peer>
  limits: GatewayLimits
}

function openSocketDoor(
  server: Server,
  parts: RouteParts,
  { events, peers, limits }: SocketDoor,
): WebSocketServer {
  const door = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frameBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    let admission: Admission | undefined
    try {
      const { pathname } = checkRequest(request, parts.door())
      if (pathname !== '/' && pathname !== '/ws')
        throw new RockpoolError('not-found', 'WebSockets are at /ws.')
      admission = admitUpgrade(request, parts.auth)
    } catch (error) {
      refuseUpgrade(socket, (response) => sendError(request, response, error), request)
      return
    }
    door.handleUpgrade(request, socket, head, (ws) => {
      const connect = (params: Hello): Admission => {
        const found = admitHello(params, request, parts.auth)
        parts.unvouched.vouch(socket)
        clearTimeout(handshake)
        return found
      }
      const peer = new Peer(ws, socket, { calls: parts.calls, events, connect }, admission)
      peers.add(peer)
      ws.on('close', () => peers.delete(peer))
      const handshake = setTimeout(() => ws.close(1008, 'no token in time'), limits.handshakeMs).unref()
      if (admission) {
        clearTimeout(handshake)
        parts.unvouched.vouch(socket)
      } else {
        parts.unvouched.becomes(socket, () => ws.close(1013, 'too many strangers'))
        limitStranger(socket, () => peer.credentialId !== undefined, limits.unauthenticatedBytes)
      }
    })
  })
  return door
}

/** By header, or later by the first frame. */
function admitUpgrade(request: IncomingMessage, auth: Auth): Admission | undefined {
  if (request.headers.authorization === undefined) return undefined
  return auth.admit(bearerToken(request), request)
}

function admitHello(hello: Hello, request: IncomingMessage, auth: Auth): Admission {
  if ('pageKey' in hello) return auth.admitPage(pageSecrets(request, hello.pageKey), request)
  const found = auth.admit(hello.token, request)
  return { ...found, caller: narrow(found.caller, hello) }
}

/** Before it is known, a client may send one small frame and no more. */
function limitStranger(socket: Socket, known: () => boolean, maxBytes: number): void {
  const start = socket.bytesRead
  const watch = (): void => {
    if (known()) socket.off('data', watch)
    else if (socket.bytesRead - start > maxBytes) socket.destroy()
  }
  socket.on('data', watch)
}

function endWithdrawn(peers: Set<Peer>, auth: Auth): void {
  for (const peer of peers) {
    if (peer.credentialId !== undefined && !auth.stillGood(peer.credentialId)) {
      peer.socket.close(1008, 'the token was withdrawn')
    }
  }
}

function closed(server: Server): Promise<void> {
  server.closeIdleConnections()
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), 1000)
    server.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    if (!server.listening && server.address() === null) server.emit('close')
  })
}
