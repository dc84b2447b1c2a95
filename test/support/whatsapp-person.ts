// The phone of a person on the loopback WhatsApp: real Signal sessions, so that what goes over the wire is encrypted for
// them and by them, as between real phones.
import {
  addTransactionCapability,
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  encodeBigEndian,
  encodeWAMessage,
  generateSignalPubKey,
  getBinaryNodeChild,
  getBinaryNodeChildBuffer,
  getBinaryNodeChildren,
  initAuthCreds,
  jidDecode,
  proto,
  unpadRandomMax16,
} from 'baileys'
import type { AuthenticationCreds, BinaryNode, SignalDataTypeMap, SignalKeyStore } from 'baileys'

const { makeSignalRepository } = DEFAULT_CONNECTION_CONFIG

const quiet = {
  level: 'silent',
  child: () => quiet,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

/** The keys that our device has put on the server, for writing to it. */
export interface DeviceKeys {
  jid: string
  registrationId: number
  identity: Uint8Array
  signedPreKey: { keyId: number; publicKey: Uint8Array; signature: Uint8Array }
  preKeys: Array<{ keyId: number; publicKey: Uint8Array }>
}

export class WhatsappPerson {
  readonly jid: string
  /** The id that WhatsApp hides the number behind. */
  readonly lid: string
  readonly name: string
  readonly creds: AuthenticationCreds = initAuthCreds()
  #repository: ReturnType<typeof makeSignalRepository>
  #lastPreKey = 0
  #store = memoryKeys()
  #knows = new Set<string>()

  constructor(jid: string, lid: string, name: string) {
    this.jid = jid
    this.lid = lid
    this.name = name
    this.creds.me = { id: jid, name }
    const keys = addTransactionCapability(this.#store, quiet, {
      maxCommitRetries: 1,
      delayBetweenTriesMs: 10,
    })
    this.#repository = makeSignalRepository({ creds: this.creds, keys }, quiet)
  }

  isMe(jid: string): boolean {
    const user = jidDecode(jid)?.user
    return user === jidDecode(this.jid)?.user || user === jidDecode(this.lid)?.user
  }

  /** What the server returns for writing to this phone. Each one-time key is given out once. */
  bundle(asked: string): BinaryNode {
    const preKey = Curve.generateKeyPair()
    const preKeyId = ++this.#lastPreKey
    void this.#store.set({ 'pre-key': { [preKeyId]: preKey } })
    const { registrationId, signedIdentityKey, signedPreKey } = this.creds
    return {
      tag: 'user',
      attrs: { jid: asked },
      content: [
        { tag: 'registration', attrs: {}, content: encodeBigEndian(registrationId) },
        { tag: 'type', attrs: {}, content: Buffer.from([5]) },
        { tag: 'identity', attrs: {}, content: signedIdentityKey.public },
        {
          tag: 'skey',
          attrs: {},
          content: [
            { tag: 'id', attrs: {}, content: encodeBigEndian(signedPreKey.keyId, 3) },
            { tag: 'value', attrs: {}, content: signedPreKey.keyPair.public },
            { tag: 'signature', attrs: {}, content: signedPreKey.signature },
          ],
        },
        {
          tag: 'key',
          attrs: {},
          content: [
            { tag: 'id', attrs: {}, content: encodeBigEndian(preKeyId, 3) },
            { tag: 'value', attrs: {}, content: preKey.public },
          ],
        },
      ],
    }
  }

  /** The encrypted parts of a message to a device. */
  async encrypt(message: proto.IMessage, device: DeviceKeys): Promise<BinaryNode[]> {
    await this.#meet(device)
    const { type, ciphertext } = await this.#repository.encryptMessage({
      jid: device.jid,
      data: encodeWAMessage(message),
    })
    return [{ tag: 'enc', attrs: { v: '2', type }, content: ciphertext }]
  }

  async encryptForGroup(message: proto.IMessage, group: string, device: DeviceKeys): Promise<BinaryNode[]> {
    const { ciphertext, senderKeyDistributionMessage } = await this.#repository.encryptGroupMessage({
      group,
      data: encodeWAMessage(message),
      meId: this.jid,
    })
    const key = { groupId: group, axolotlSenderKeyDistributionMessage: senderKeyDistributionMessage }
    const [handOver] = await this.encrypt({ senderKeyDistributionMessage: key }, device)
    return [handOver!, { tag: 'enc', attrs: { v: '2', type: 'skmsg' }, content: ciphertext }]
  }

  /** Reads what a device sent to this phone: directly, or to a group that it is in. */
  async decrypt(stanza: BinaryNode, deviceJid: string): Promise<proto.IMessage | undefined> {
    const mine = getBinaryNodeChildren(getBinaryNodeChild(stanza, 'participants'), 'to').find((to) =>
      this.isMe(to.attrs['jid']!),
    )
    const direct = mine && getBinaryNodeChild(mine, 'enc')
    const message = direct && (await this.#decryptDirect(direct, deviceJid))
    const group = getBinaryNodeChild(stanza, 'enc')
    if (group?.attrs['type'] !== 'skmsg') return message
    const item = message?.senderKeyDistributionMessage
    if (item) await this.#repository.processSenderKeyDistributionMessage({ item, authorJid: deviceJid })
    const msg = group.content as Uint8Array
    const plain = await this.#repository.decryptGroupMessage({
      group: stanza.attrs['to']!,
      authorJid: deviceJid,
      msg,
    })
    return proto.Message.decode(unpadRandomMax16(plain))
  }

  async #decryptDirect(enc: BinaryNode, jid: string): Promise<proto.IMessage> {
    const type = enc.attrs['type'] as 'pkmsg' | 'msg'
    const plain = await this.#repository.decryptMessage({ jid, type, ciphertext: enc.content as Uint8Array })
    return proto.Message.decode(unpadRandomMax16(plain))
  }

  async #meet(device: DeviceKeys): Promise<void> {
    if (this.#knows.has(device.jid) || (await this.#repository.validateSession(device.jid)).exists) return
    this.#knows.add(device.jid)
    const preKey = device.preKeys.shift()
    await this.#repository.injectE2ESession({
      jid: device.jid,
      session: {
        registrationId: device.registrationId,
        identityKey: generateSignalPubKey(device.identity),
        signedPreKey: {
          ...device.signedPreKey,
          publicKey: generateSignalPubKey(device.signedPreKey.publicKey),
        },
        ...(preKey
          ? { preKey: { keyId: preKey.keyId, publicKey: generateSignalPubKey(preKey.publicKey) } }
          : {}),
      },
    })
  }
}

/** The keys in a node that a device puts on the server. */
export function readDeviceKeys(jid: string, node: BinaryNode): DeviceKeys {
  const number = (from: BinaryNode | undefined, tag: string): number => {
    const bytes = getBinaryNodeChildBuffer(from, tag)!
    return Buffer.from(bytes).readUIntBE(0, bytes.length)
  }
  const skey = getBinaryNodeChild(node, 'skey')
  return {
    jid,
    registrationId: number(node, 'registration'),
    identity: getBinaryNodeChildBuffer(node, 'identity') as Uint8Array,
    signedPreKey: {
      keyId: number(skey, 'id'),
      publicKey: getBinaryNodeChildBuffer(skey, 'value') as Uint8Array,
      signature: getBinaryNodeChildBuffer(skey, 'signature') as Uint8Array,
    },
    preKeys: getBinaryNodeChildren(getBinaryNodeChild(node, 'list'), 'key').map((key) => ({
      keyId: number(key, 'id'),
      publicKey: getBinaryNodeChildBuffer(key, 'value') as Uint8Array,
    })),
  }
}

function memoryKeys(): SignalKeyStore {
  const values = new Map<string, unknown>()
  return {
    async get(type, ids) {
      const found: Record<string, SignalDataTypeMap[typeof type]> = {}
      for (const id of ids) {
        const value = values.get(`${type}-${id}`)
        if (value !== undefined) found[id] = value as SignalDataTypeMap[typeof type]
      }
      return found
    },
    async set(data) {
      for (const [type, items] of Object.entries(data)) {
        for (const [id, value] of Object.entries(items ?? {})) values.set(`${type}-${id}`, value)
      }
    },
  }
}
