// A WebSocket to a gateway for programs, where Node's own may go through a proxy of the environment.

/** A proxy of the environment would read the token. With TLS it cannot. */
export async function openDirectly(url: string): Promise<WebSocket> {
  if (url.startsWith('wss:')) return new WebSocket(url)
  const { WebSocket: DirectSocket } = await import('ws')
  // The gateway limits what it sends; an export may be long.
  const socket = new DirectSocket(url, { maxPayload: 0 })
  // The client handles the close event that follows.
  socket.on('error', () => {})
  // It has the events and methods of the standard that the client uses.
  return socket as unknown as WebSocket
}
