// A push server and an ntfy server on loopback, and a browser that decrypts what the push server passes on (RFC 8291).
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { IncomingHttpHeaders, Server } from 'node:http'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

export class PushServer {
  readonly received: Received[] = []
  /** The status of the next answers; 201 when empty. A redirect leads to another name of this server. */
  statuses: number[] = []
  #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async listen(): Promise<PushServer> {
    const server = createServer()
    const push = new PushServer(server)
    server.on('request', (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        push.received.push({ path: request.url!, headers: request.headers, body: Buffer.concat(parts) })
        const location = push.url.replace('127.0.0.1', 'localhost') + request.url!
        response.writeHead(push.statuses.shift() ?? 201, { location }).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return push
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

/** The keys that a browser makes when it subscribes. */
export class Subscriber {
  #pair = createECDH('prime256v1')
  #secret = randomBytes(16)

  constructor() {
    this.#pair.generateKeys()
  }

  get keys(): { p256dh: string; auth: string } {
    return { p256dh: this.#pair.getPublicKey('base64url'), auth: this.#secret.toString('base64url') }
  }

  /** One record of `aes128gcm`: salt, record size, the sender's key, then the encrypted text. */
  read({ body }: Received): Record<string, unknown> {
    const salt = body.subarray(0, 16)
    const keyLength = body[20]!
    const senderKey = body.subarray(21, 21 + keyLength)
    const shared = this.#pair.computeSecret(senderKey)
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#pair.getPublicKey(), senderKey])
    const input = Buffer.from(hkdfSync('sha256', shared, this.#secret, info, 32))
    const derive = (name: string, bytes: number): Buffer =>
      Buffer.from(hkdfSync('sha256', input, salt, `Content-Encoding: ${name}\0`, bytes))
    const sealed = body.subarray(21 + keyLength)
    const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12))
    decipher.setAuthTag(sealed.subarray(-16))
    const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
    // The text ends with the delimiter 2.
    return JSON.parse(plain.subarray(0, plain.lastIndexOf(2)).toString('utf8')) as Record<string, unknown>
  }
}

/** The claims of the sender (VAPID, RFC 8292), if they are signed with this key. */
export function vapidClaims({ headers }: Received, publicKey: string): Record<string, unknown> | undefined {
  const [, token = '', key = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(headers.authorization ?? '') ?? []
  const [head, claims, signature] = token.split('.')
  const point = Buffer.from(publicKey, 'base64url')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const jwk = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: jwk, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature ?? '', 'base64url'),
  )
  if (!isSigned || key !== publicKey) return undefined
  return JSON.parse(Buffer.from(claims!, 'base64url').toString('utf8')) as Record<string, unknown>
}
