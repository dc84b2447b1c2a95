// WhatsApp on loopback: the Noise handshake, pairing by QR code, log-in, keys, messages with real Signal encryption,
// acknowledgements, and messages that wait for a device that is away. The real Baileys talks to it.
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import {
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  hmacSign,
  proto,
} from 'baileys'
import type { BinaryNode } from 'baileys'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { WhatsappMediaHost } from './whatsapp-media-host.ts'
import type { WrittenFile } from './whatsapp-media-host.ts'
import { makeServerKeys, NoiseServer } from './whatsapp-noise.ts'
import type { ServerKeys } from './whatsapp-noise.ts'
import { readDeviceKeys, WhatsappPerson } from './whatsapp-person.ts'
import type { DeviceKeys } from './whatsapp-person.ts'

export interface WhatsappSent {
  id: string
  to: string
  message: proto.IMessage
  file?: WrittenFile
}

interface Connection {
  socket: WebSocket
  noise: NoiseServer
  state: 'hello' | 'finish' | 'open'
  /** Logged in, as this device. */
  device?: string
}

const service = 's.whatsapp.net'

export class WhatsappServer {
  readonly account = {
    pn: `4915550001111@${service}`,
    lid: '111100@lid',
    device: `4915550001111:5@${service}`,
  }
  readonly alice = new WhatsappPerson(`4915550002222@${service}`, '222200@lid', 'Alice')
  readonly bob = new WhatsappPerson(`4915550003333@${service}`, '333300@lid', 'Alice')
  /** The phone that our device is linked to. */
  readonly phone = new WhatsappPerson(this.account.pn, this.account.lid, 'Me')
  readonly group = '120363041234567890@g.us'
  readonly sent: WhatsappSent[] = []
  media!: WhatsappMediaHost
  presences = 0
  url = ''
  /** What the next acknowledgements say. */
  faults: Array<{ kind: 'refuse'; code: string } | { kind: 'cut-before' } | { kind: 'cut-after' }> = []
  #keys: ServerKeys = makeServerKeys()
  #account = Curve.generateKeyPair()
  #device: DeviceKeys | undefined
  #wss: WebSocketServer | undefined
  #connections = new Set<Connection>()
  #waiting = new Map<string, BinaryNode>()
  #written = new Map<string, BinaryNode>()

  static async listen(): Promise<WhatsappServer> {
    const server = new WhatsappServer()
    server.media = await WhatsappMediaHost.listen()
    await server.open()
    return server
  }

  async open(): Promise<void> {
    const port = this.url ? Number(new URL(this.url).port) : 0
    this.#wss = new WebSocketServer({ host: '127.0.0.1', port })
    await new Promise((resolve, reject) => this.#wss!.once('listening', resolve).once('error', reject))
    this.url = `ws://127.0.0.1:${(this.#wss.address() as AddressInfo).port}/ws/chat`
    this.#wss.on('connection', (socket) => this.#connected(socket))
  }

  async close(): Promise<void> {
    await this.goDown()
    await this.media.close()
  }

  async goDown(): Promise<void> {
    this.cutAll()
    await new Promise((resolve) => this.#wss?.close(resolve))
  }

  cutAll(): void {
    for (const { socket } of this.#connections) socket.terminate()
  }

  /** The owner scans the QR code with the phone. */
  scan(qr: string): void {
    const [, , , secret] = qr.split('#').at(-1)!.split(',')
    const [connection] = this.#connections
    const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: 1, keyIndex: 1 }).finish()
    const identity = this.#device!.identity
    const signed = proto.ADVSignedDeviceIdentity.encode({
      details,
      accountSignatureKey: this.#account.public,
      accountSignature: Curve.sign(
        this.#account.private,
        Buffer.concat([Buffer.from([6, 0]), details, identity]),
      ),
    }).finish()
    const hmac = hmacSign(signed, Buffer.from(secret!, 'base64'))
    const content = proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish()
    this.#send(connection!, {
      tag: 'iq',
      attrs: { id: 'pair', type: 'set', from: service },
      content: [
        {
          tag: 'pair-success',
          attrs: {},
          content: [
            { tag: 'device-identity', attrs: {}, content },
            { tag: 'device', attrs: { jid: this.account.device, lid: '111100:5@lid' }, content: undefined },
            { tag: 'platform', attrs: { name: 'android' }, content: undefined },
          ],
        },
      ],
    })
  }

  /** What the server knows of a linked device, to give it to another server. */
  get device(): DeviceKeys | undefined {
    return structuredClone(this.#device)
  }

  set device(device: DeviceKeys | undefined) {
    this.#device = structuredClone(device)
  }

  /** The owner unlinks the device on the phone. */
  unlink(): void {
    for (const connection of this.#connections)
      this.#send(connection, { tag: 'failure', attrs: { reason: '401' } })
  }

  /** A person writes to our device, directly or in the group; kept until the device has said that it has it. */
  async write(from: WhatsappPerson, message: proto.IMessage, options: WriteOptions = {}): Promise<string> {
    const id = options.id ?? randomBytes(10).toString('hex').toUpperCase()
    const device = this.#device!
    const content = options.group
      ? await from.encryptForGroup(message, this.group, device)
      : await from.encrypt(message, device)
    const place: Record<string, string> = options.group
      ? { from: this.group, participant: from.jid }
      : { from: from.jid }
    const t = String(Math.floor((options.at ?? Date.now()) / 1_000))
    const node: BinaryNode = {
      tag: 'message',
      attrs: { ...place, id, type: 'text', t, notify: from.name },
      content,
    }
    this.#written.set(id, node)
    if (!options.later) this.deliver(id)
    return id
  }

  /** Sends a message that was written to our device, once more if need be. */
  deliver(id: string): void {
    const node = this.#written.get(id)!
    this.#waiting.set(id, node)
    for (const connection of this.#connections) if (connection.device) this.#send(connection, node)
  }

  /** What people see of our messages: each with the words of its last edit. */
  shownTexts(): string[] {
    const words = (message: proto.IMessage | null | undefined): string =>
      message?.extendedTextMessage?.text ?? message?.conversation ?? ''
    const edits = this.sent.flatMap(({ message }) => message.protocolMessage ?? [])
    return this.sent
      .filter(({ message }) => !message.protocolMessage)
      .map(({ id, message }) => words(edits.findLast(({ key }) => key?.id === id)?.editedMessage ?? message))
  }

  /** How many messages our device has not said that it has. */
  get unconfirmed(): number {
    return this.#waiting.size
  }

  #connected(socket: WebSocket): void {
    const connection: Connection = { socket, noise: new NoiseServer(this.#keys), state: 'hello' }
    this.#connections.add(connection)
    socket.on('close', () => this.#connections.delete(connection))
    socket.on('error', () => this.#connections.delete(connection))
    let work = Promise.resolve()
    socket.on('message', (data: Buffer) => {
      work = work.then(() => this.#received(connection, data)).catch(() => socket.terminate())
    })
  }

  async #received(connection: Connection, data: Buffer): Promise<void> {
    for (const frame of connection.noise.frames(data)) {
      if (connection.state === 'hello') {
        connection.socket.send(connection.noise.hello(frame))
        connection.state = 'finish'
      } else if (connection.state === 'finish') {
        connection.state = 'open'
        this.#admit(connection, connection.noise.finish(frame))
      } else await this.#answer(connection, await decodeBinaryNode(frame))
    }
  }

  #admit(connection: Connection, payload: proto.ClientPayload): void {
    const pairing = payload.devicePairingData
    if (!pairing) return this.#logIn(connection)
    this.#device = {
      jid: this.account.device,
      registrationId: Buffer.from(pairing.eRegid!).readUInt32BE(0),
      identity: pairing.eIdent!,
      signedPreKey: {
        keyId: Buffer.from(pairing.eSkeyId!).readUIntBE(0, 3),
        publicKey: pairing.eSkeyVal!,
        signature: pairing.eSkeySig!,
      },
      preKeys: [],
    }
    const refs = ['ref-1', 'ref-2'].map((ref) => ({ tag: 'ref', attrs: {}, content: Buffer.from(ref) }))
    this.#send(connection, {
      tag: 'iq',
      attrs: { id: 'qr', type: 'set', from: service, xmlns: 'md' },
      content: [{ tag: 'pair-device', attrs: {}, content: refs }],
    })
  }

  #logIn(connection: Connection): void {
    connection.device = this.account.device
    this.#send(connection, {
      tag: 'success',
      attrs: { t: String(Math.floor(Date.now() / 1_000)), lid: '111100:5@lid' },
    })
    this.#sendWaiting(connection)
  }

  #sendWaiting(connection: Connection): void {
    const waiting = [...this.#waiting.values()]
    for (const node of waiting) {
      this.#send(connection, { ...node, attrs: { ...node.attrs, offline: '1' } })
    }
    this.#send(connection, {
      tag: 'ib',
      attrs: { from: service },
      content: [{ tag: 'offline', attrs: { count: String(waiting.length) } }],
    })
  }

  async #answer(connection: Connection, node: BinaryNode): Promise<void> {
    if (node.tag === 'iq') return this.#answerQuery(connection, node)
    if (node.tag === 'message') return this.#takeMessage(connection, node)
    if (node.tag === 'chatstate' || node.tag === 'presence')
      this.presences += node.tag === 'chatstate' ? 1 : 0
    if (node.tag !== 'receipt' && node.tag !== 'ack') return
    if (node.attrs['type'] !== 'retry') this.#waiting.delete(node.attrs['id']!)
    if (node.tag === 'receipt') {
      this.#send(connection, {
        tag: 'ack',
        attrs: { class: 'receipt', id: node.attrs['id']!, from: service },
      })
    }
  }

  #answerQuery(connection: Connection, node: BinaryNode): void {
    const { id = '', xmlns = '', type = '' } = node.attrs
    if (type === 'result') {
      // The pairing is signed; now the device must connect again, as itself.
      if (id === 'pair') {
        this.#send(connection, { tag: 'stream:error', attrs: { code: '515' } })
        connection.socket.close()
      }
      return
    }
    this.#send(connection, {
      tag: 'iq',
      attrs: { id, type: 'result', from: service },
      content: this.#resultOf(xmlns, type, node),
    })
  }

  #resultOf(xmlns: string, type: string, node: BinaryNode): BinaryNode[] {
    if (xmlns === 'encrypt' && type === 'set' && getBinaryNodeChild(node, 'list')) {
      this.#device = readDeviceKeys(this.account.device, node)
    }
    if (xmlns === 'encrypt' && getBinaryNodeChild(node, 'count')) {
      return [{ tag: 'count', attrs: { value: String(this.#device?.preKeys.length ?? 0) } }]
    }
    if (xmlns === 'encrypt' && getBinaryNodeChild(node, 'digest')) return [{ tag: 'digest', attrs: {} }]
    const wanted = xmlns === 'encrypt' && getBinaryNodeChild(node, 'key')
    if (wanted) {
      const asked = getBinaryNodeChildren(wanted, 'user').map((user) => user.attrs['jid']!)
      return [{ tag: 'list', attrs: {}, content: asked.map((jid) => this.#personOf(jid)!.bundle(jid)) }]
    }
    if (xmlns === 'w:m') {
      const host: BinaryNode = { tag: 'host', attrs: { hostname: this.media.hostname } }
      return [{ tag: 'media_conn', attrs: { auth: 'a', ttl: '3600' }, content: [host] }]
    }
    if (xmlns === 'usync') return [this.#devicesOf(node)]
    return xmlns === 'w:g2' ? [this.#groupNode()] : []
  }

  #devicesOf(node: BinaryNode): BinaryNode {
    const asked = getBinaryNodeChildren(getBinaryNodeChild(getBinaryNodeChild(node, 'usync'), 'list'), 'user')
    const content = asked.map((user): BinaryNode => {
      const jid = user.attrs['jid']!
      const isUs = this.phone.isMe(jid)
      const ids = isUs ? ['0', '5'] : ['0']
      const devices = ids.map((id) => ({
        tag: 'device',
        attrs: { id, ...(id === '0' ? {} : { 'key-index': '1' }) },
      }))
      return {
        tag: 'user',
        attrs: { jid },
        content: [
          { tag: 'devices', attrs: {}, content: [{ tag: 'device-list', attrs: {}, content: devices }] },
          { tag: 'lid', attrs: { val: this.#personOf(jid)!.lid } },
        ],
      }
    })
    return { tag: 'usync', attrs: {}, content: [{ tag: 'list', attrs: {}, content }] }
  }

  #groupNode(): BinaryNode {
    const participants = [this.alice.jid, this.bob.jid, this.account.pn]
    return {
      tag: 'group',
      attrs: {
        id: this.group.split('@')[0]!,
        subject: 'The group',
        creation: '1',
        s_t: '1',
        addressing_mode: 'pn',
      },
      content: participants.map((jid) => ({ tag: 'participant', attrs: { jid } })),
    }
  }

  async #takeMessage(connection: Connection, node: BinaryNode): Promise<void> {
    const { id = '', to = '' } = node.attrs
    const fault = this.faults.shift()
    if (fault?.kind === 'refuse') {
      return this.#send(connection, {
        tag: 'ack',
        attrs: { class: 'message', id, from: to, error: fault.code },
      })
    }
    if (fault?.kind === 'cut-before') return connection.socket.terminate()
    const readers = to === this.group ? [this.alice, this.bob] : [this.#personOf(to)!]
    const [message] = await Promise.all(readers.map((person) => person.decrypt(node, this.account.device)))
    // A phone shows a message once, however often it is delivered.
    if (message && !this.sent.some((one) => one.id === id)) {
      const file = await this.media.read(message)
      this.sent.push({ id, to, message, ...(file ? { file } : {}) })
    }
    if (fault?.kind === 'cut-after') return connection.socket.terminate()
    const t = String(Math.floor(Date.now() / 1_000))
    this.#send(connection, { tag: 'ack', attrs: { class: 'message', id, from: to, t } })
  }

  #personOf(jid: string): WhatsappPerson | undefined {
    return [this.alice, this.bob, this.phone].find((person) => person.isMe(jid))
  }

  #send(connection: Connection, node: BinaryNode): void {
    connection.socket.send(connection.noise.frame(encodeBinaryNode(node)))
  }
}

export interface WriteOptions {
  group?: boolean
  id?: string
  at?: number
  /** Held back until `deliver`. */
  later?: boolean
}
