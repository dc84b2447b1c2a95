// Uploads files to the gateway over the WebSocket, in pieces, because frames are limited.
import type { Gateway } from './gateway.ts'

interface Uploaded {
  id: string
  name: string
  type: string
}

const pieceBytes = 384 * 1024

export async function upload(gateway: Gateway, file: File): Promise<Uploaded> {
  const id = crypto.randomUUID()
  for (let at = 0; at === 0 || at < file.size; at += pieceBytes) {
    const piece = new Uint8Array(await file.slice(at, at + pieceBytes).arrayBuffer())
    await gateway.call('web.attach', { id, at, data: base64Of(piece) })
  }
  return { id, name: file.name, type: file.type }
}

function base64Of(bytes: Uint8Array): string {
  let text = ''
  // In steps, because the number of arguments of a function is limited.
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192))
  return btoa(text)
}
