// WebSocket connections: the upgrade, authentication by header or by the first frame, and limits for clients that are not
// authenticated yet.
import { ServerResponse, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { RockpoolError } from '../domain/errors.ts'
import { bearerToken, namedAgent, namedSession, narrow, type Admission, type Auth } from './auth.ts'
import type { EventLog } from './event-log.ts'
import { sendError } from './http.ts'
import { Peer, type ConnectParams } from './peer.ts'
import { checkRequest, pageSecrets, type RouteParts } from './routes.ts'
import { SubscriptionCounts } from './subscriptions.ts'

interface SocketParts {
  events: EventLog
  peers: Set<Peer>
  limits: { handshakeMs: number; frameBytes: number; unauthenticatedBytes: number }
}

export function acceptWebSockets(
  server: Server,
  routes: RouteParts,
  { events, peers, limits }: SocketParts,
): WebSocketServer {
  const acceptor = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frameBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  const counts = new SubscriptionCounts()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    let admission: Admission | undefined
    try {
      admission = admitUpgrade(request, routes)
    } catch (error) {
      refuseUpgrade(request, socket, error)
      return
    }
    acceptor.handleUpgrade(request, socket, head, (ws) => {
      const connect = (params: ConnectParams): Admission => {
        const found = admitConnect(params, request, routes.auth)
        routes.pendingSockets.remove(socket)
        clearTimeout(handshake)
        return found
      }
      const peer = new Peer(ws, socket, { calls: routes.calls, events, counts, connect }, admission)
      peers.add(peer)
      ws.on('close', () => peers.delete(peer))
      const handshake = setTimeout(() => ws.close(1008, 'no token in time'), limits.handshakeMs).unref()
      if (admission) {
        clearTimeout(handshake)
        routes.pendingSockets.remove(socket)
      } else {
        routes.pendingSockets.refuseWith(socket, () => ws.close(1013, 'too many unauthenticated connections'))
        limitBytes(socket, () => peer.credentialId !== undefined, limits.unauthenticatedBytes)
      }
    })
  })
  return acceptor
}

/** By the Authorization header; without it the first frame must authenticate. */
function admitUpgrade(request: IncomingMessage, { allowed, auth }: RouteParts): Admission | undefined {
  const { pathname } = checkRequest(request, allowed())
  if (pathname !== '/' && pathname !== '/ws') throw new RockpoolError('not-found', 'WebSockets are at /ws.')
  if (request.headers.authorization === undefined) return undefined
  const { caller, credentialId } = auth.admit(bearerToken(request), request)
  return {
    credentialId,
    caller: narrow(caller, { agentId: namedAgent(request), claudeSession: namedSession(request) }),
  }
}

/** Answers an upgrade request with an HTTP error on the raw socket. */
function refuseUpgrade(request: IncomingMessage, socket: Socket, error: unknown): void {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on('finish', () => socket.end())
  // The client may disconnect before it has read the error.
  socket.on('error', () => socket.destroy())
  sendError(request, response, error)
}

function admitConnect(params: ConnectParams, request: IncomingMessage, auth: Auth): Admission {
  if ('pageKey' in params) return auth.admitPage(pageSecrets(request, params.pageKey), request)
  const found = auth.admit(params.token, request)
  return { ...found, caller: narrow(found.caller, params) }
}

/** Before it is authenticated, a client may send one small frame. */
function limitBytes(socket: Socket, isAuthenticated: () => boolean, maxBytes: number): void {
  const start = socket.bytesRead
  const check = (): void => {
    if (isAuthenticated()) socket.off('data', check)
    else if (socket.bytesRead - start > maxBytes) socket.destroy()
  }
  socket.on('data', check)
}

export function pingWhenDue(peers: Set<Peer>, now: number, everyMs: number): void {
  for (const peer of peers) peer.pingWhenDue(now, everyMs)
}

/** Closes connections whose credential was removed or has expired. Hundreds of pages have few credentials, and to check one reads
 *  the times of files: each is checked once. */
export function closeInvalid(peers: Set<Peer>, auth: Auth): void {
  const checked = new Map<string, boolean>()
  for (const { credentialId, socket } of peers) {
    if (credentialId === undefined) continue
    const isValid = checked.get(credentialId) ?? auth.isValid(credentialId)
    checked.set(credentialId, isValid)
    if (!isValid) socket.close(1008, 'the token was withdrawn')
  }
}
