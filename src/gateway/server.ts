// The gateway: one HTTP server that also accepts WebSockets. Starts, listens, and stops in order.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import { readGatewayToken } from '../store/gateway-tokens.ts'
import { Auth } from './auth.ts'
import { Calls } from './calls.ts'
import { EventLog } from './event-log.ts'
import { PendingSockets } from './limiter.ts'
import { Metrics } from './metrics.ts'
import { allowedNames, isLoopback } from './origin.ts'
import type { Peer } from './peer.ts'
import { handleRequest, type RouteParts } from './routes.ts'
import { acceptWebSockets, closeInvalid, pingWhenDue } from './sockets.ts'
import { listStaticFiles } from './static.ts'

export interface GatewayLimits {
  handshakeMs: number
  headersMs: number
  bodyMs: number
  /** How long a client may reuse a connection without a request; a header tells the client. */
  keepAliveMs: number
  unauthenticatedSockets: number
  frameBytes: number
  unauthenticatedBytes: number
  /** Proxies close a connection on which nothing was sent for a minute. */
  pingMs: number
}

const defaultLimits: GatewayLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  bodyMs: 30_000,
  keepAliveMs: 5_000,
  unauthenticatedSockets: 64,
  frameBytes: 1024 * 1024,
  unauthenticatedBytes: 16 * 1024,
  pingMs: 45_000,
}

/** One timer for all connections. Each has its own times, so that hundreds of pings do not delay the answers to others. */
const pingCheckMs = 1_000

/** A busy client may send a request some seconds after that limit: its connection is still open. */
const keepAliveBufferMs = 30_000

interface GatewayOptions {
  port: number
  bind: string
  allowPlaintextLan: boolean
  /** The folder of the built dashboard. */
  webRoot?: string
  limits?: Partial<GatewayLimits>
}

export interface Gateway {
  url: string
  wsUrl: string
  port: number
  /** The requested port, if another process uses it. */
  movedFrom?: number
  auth: Auth
  /** Closes every connection; clients reconnect by themselves. */
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
  const pendingSockets = new PendingSockets(limits.unauthenticatedSockets)
  const peers = new Set<Peer>()
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.bodyMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs / 4),
    maxHeaderSize: 16 * 1024,
    keepAliveTimeout: limits.keepAliveMs,
    keepAliveTimeoutBuffer: keepAliveBufferMs,
  })
  const { port, movedFrom } = await listen(server, options)
  const parts: RouteParts = {
    auth,
    calls,
    pendingSockets,
    allowed: () => allowedNames(app.config.gateway, options.bind, port),
    files: listStaticFiles(options.webRoot),
    metricsText: () =>
      metrics.text({
        connections: peers.size,
        unauthenticated: pendingSockets.count,
        authFailures: auth.failures,
        events: events.position.seq,
        uptimeSeconds: (app.clock.now() - app.startedAt) / 1000,
      }),
  }
  server.on('connection', (socket) => pendingSockets.add(socket))
  server.on('request', (request, response) => void handleRequest(request, response, parts))
  const sockets = acceptWebSockets(server, parts, { events, peers, limits })
  const timers = [
    setInterval(() => closeInvalid(peers, auth), 500).unref(),
    setInterval(() => pingWhenDue(peers, app.clock.monotonic(), limits.pingMs), pingCheckMs).unref(),
  ]
  const host = options.bind === '::1' ? '[::1]' : isLoopback(options.bind) ? '127.0.0.1' : options.bind
  return {
    url: `http://${host}:${port}`,
    wsUrl: `ws://${host}:${port}/ws`,
    port,
    movedFrom,
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
  if (!/^[\w-]{43,}$/.test(token))
    throw new RockpoolError('exposed', `The gateway may not listen on ${options.bind} with a weak token.`, {
      hint: 'Remove credentials/gateway-token: a strong one is made at the next start.',
    })
  if (options.allowPlaintextLan || app.config.gateway.allowPlaintextLan) return
  throw new RockpoolError('exposed', `Listening on ${options.bind} would send everything unencrypted.`, {
    hint: 'Put a TLS proxy or an SSH tunnel in front of 127.0.0.1, or accept it with --allow-plaintext-lan.',
  })
}

/** Listens on the requested port or the next free one. */
async function listen(server: Server, { port, bind }: GatewayOptions) {
  for (let candidate = port; ; candidate++) {
    try {
      await listenOn(server, candidate, bind)
    } catch (error) {
      const isTaken = errorCode(error) === 'EADDRINUSE'
      if (isTaken && port !== 0 && candidate < Math.min(port + 50, 65_535)) continue
      throw new RockpoolError('unavailable', `The gateway cannot listen on ${bind}, port ${candidate}.`, {
        hint: 'Choose another with --port, or any free one with --port 0.',
        cause: error,
      })
    }
    const actual = (server.address() as AddressInfo).port
    return { port: actual, movedFrom: port !== 0 && actual !== port ? port : undefined }
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
