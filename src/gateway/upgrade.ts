// Refusing a WebSocket before it is one: a plain HTTP answer on the raw socket.
import { ServerResponse } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export function refuseUpgrade(
  socket: Socket,
  send: (response: ServerResponse) => void,
  request: IncomingMessage,
): void {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on('finish', () => socket.end())
  // Gone before it could be told: then it knows as much as it needs to.
  socket.on('error', () => socket.destroy())
  send(response)
}
