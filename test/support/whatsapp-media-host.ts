// WhatsApp's media servers on loopback: files go up and come down over HTTPS, encrypted by their sender.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import tls from 'node:tls'
import { downloadContentFromMessage, prepareWAMessageMedia } from 'baileys'
import type { MediaType, proto } from 'baileys'

export interface WrittenFile {
  name: string
  mimeType: string
  bytes: Buffer
}

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/loopback-tls/${name}`, import.meta.url), 'utf8')

export class WhatsappMediaHost {
  /** `127.0.0.1:port`, as WhatsApp names its media servers. */
  hostname = ''
  /** The next uploads are refused. */
  refusals = 0
  readonly asked: string[] = []
  #files = new Map<string, Buffer>()
  #server: Server

  static async listen(): Promise<WhatsappMediaHost> {
    // Baileys asks for https; this process trusts the certificate of this one server.
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), fixture('cert.pem')])
    const host = new WhatsappMediaHost()
    host.#server.listen(0, '127.0.0.1')
    await new Promise((resolve) => host.#server.once('listening', resolve))
    host.hostname = `127.0.0.1:${(host.#server.address() as AddressInfo).port}`
    return host
  }

  private constructor() {
    const key = { key: fixture('key.pem'), cert: fixture('cert.pem') }
    this.#server = createServer(key, (request, response) => {
      const chunks: Buffer[] = []
      const path = new URL(request.url ?? '/', 'https://x').pathname
      this.asked.push(`${request.method} ${path}`)
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.method === 'POST') {
          if (this.refusals-- > 0) return response.writeHead(503).end('{}')
          return response.end(JSON.stringify(this.keep(Buffer.concat(chunks))))
        }
        const file = this.#files.get(path)
        return file ? response.end(file) : response.writeHead(404).end()
      })
    })
  }

  close(): Promise<unknown> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(resolve))
  }

  keep(encrypted: Buffer): { url: string; direct_path: string } {
    const path = `/v/${this.#files.size}.enc`
    this.#files.set(path, encrypted)
    return { url: `https://${this.hostname}${path}`, direct_path: path }
  }

  /** What a phone sends for a file: encrypted under a key of its own, uploaded, and named in the message. */
  async messageWith(file: WrittenFile, caption: string): Promise<proto.IMessage> {
    const { bytes, mimeType: mimetype } = file
    const content = mimetype.startsWith('image/')
      ? { image: bytes, mimetype, jpegThumbnail: '' }
      : mimetype.startsWith('audio/')
        ? { audio: bytes, mimetype, ptt: true, seconds: 1, waveform: new Uint8Array(1) }
        : { document: bytes, mimetype, fileName: file.name }
    const message = await prepareWAMessageMedia(content, {
      upload: async (path) => {
        const { url, direct_path } = this.keep(readFileSync(path))
        return { mediaUrl: url, directPath: direct_path }
      },
    })
    const part = message.imageMessage ?? message.documentMessage
    if (part) part.caption = caption
    // A document with words comes wrapped.
    return message.documentMessage ? { documentWithCaptionMessage: { message } } : message
  }

  /** The file of a message that we sent, as the phone that gets it reads it. */
  async read(message: proto.IMessage): Promise<WrittenFile | undefined> {
    for (const type of ['image', 'video', 'audio', 'document'] as const) {
      const part = message[`${type}Message`]
      if (!part) continue
      const stream = await downloadContentFromMessage(part, type satisfies MediaType)
      const bytes = await buffer(stream)
      const name = 'fileName' in part ? (part.fileName ?? '') : ''
      return { name, mimeType: part.mimetype ?? '', bytes }
    }
    return undefined
  }
}
