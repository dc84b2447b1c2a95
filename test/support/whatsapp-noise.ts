// The server's side of WhatsApp's Noise handshake (XX, 25519, AES-GCM, SHA-256) and the frames after it. The
// certificate is signed by a root of our own, which the test puts in the place of WhatsApp's.
import {
  aesDecryptGCM,
  aesEncryptGCM,
  Curve,
  hkdf,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
  WA_CERT_DETAILS,
} from 'baileys'
import type { KeyPair } from 'baileys'

const nothing = Buffer.alloc(0)

export interface ServerKeys {
  root: KeyPair
  chain: Uint8Array
  identity: KeyPair
}

/** Makes a root, and lets Baileys trust it instead of WhatsApp's for the rest of this process. */
export function makeServerKeys(): ServerKeys {
  const [root, intermediate, identity] = [
    Curve.generateKeyPair(),
    Curve.generateKeyPair(),
    Curve.generateKeyPair(),
  ]
  const { Details } = proto.CertChain.NoiseCertificate
  const between = Details.encode({
    serial: 1,
    issuerSerial: WA_CERT_DETAILS.SERIAL,
    key: intermediate.public,
  }).finish()
  const leaf = Details.encode({ serial: 2, issuerSerial: 1, key: identity.public }).finish()
  const chain = proto.CertChain.encode({
    intermediate: { details: between, signature: Curve.sign(root.private, between) },
    leaf: { details: leaf, signature: Curve.sign(intermediate.private, leaf) },
  }).finish()
  WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root.public)
  return { root, chain, identity }
}

/** One connection: feed it bytes, get frames. */
export class NoiseServer {
  #keys: ServerKeys
  #ephemeral = Curve.generateKeyPair()
  #hash: Buffer = Buffer.from(NOISE_MODE)
  #salt: Uint8Array = this.#hash
  #key: Uint8Array = this.#hash
  #counter = 0
  #buffered: Buffer = nothing
  #sawIntro = false
  #transport: { read: Uint8Array; write: Uint8Array; reads: number; writes: number } | undefined

  constructor(keys: ServerKeys) {
    this.#keys = keys
    this.#authenticate(NOISE_WA_HEADER)
  }

  /** Frames that are complete now: handshake messages first, then decrypted nodes. */
  frames(bytes: Buffer): Buffer[] {
    this.#buffered = Buffer.concat([this.#buffered, bytes])
    if (!this.#sawIntro && this.#buffered.length >= 4) {
      this.#sawIntro = true
      this.#buffered = this.#buffered.subarray(NOISE_WA_HEADER.length)
    }
    const found: Buffer[] = []
    while (this.#buffered.length >= 3) {
      const size = this.#buffered.readUIntBE(0, 3)
      if (this.#buffered.length < size + 3) break
      const frame = this.#buffered.subarray(3, size + 3)
      this.#buffered = this.#buffered.subarray(size + 3)
      found.push(this.#transport ? this.#open(frame) : frame)
    }
    return found
  }

  frame(payload: Uint8Array): Buffer {
    const data = this.#transport ? this.#seal(payload) : payload
    const head = Buffer.alloc(3)
    head.writeUIntBE(data.length, 0, 3)
    return Buffer.concat([head, data])
  }

  hello(frame: Uint8Array): Buffer {
    const { clientHello } = proto.HandshakeMessage.decode(frame)
    const theirs = clientHello!.ephemeral!
    this.#authenticate(theirs)
    this.#authenticate(this.#ephemeral.public)
    this.#mix(Curve.sharedKey(this.#ephemeral.private, theirs))
    const identity = this.#encrypt(this.#keys.identity.public)
    this.#mix(Curve.sharedKey(this.#keys.identity.private, theirs))
    const payload = this.#encrypt(this.#keys.chain)
    const serverHello = { ephemeral: this.#ephemeral.public, static: identity, payload }
    return this.frame(proto.HandshakeMessage.encode({ serverHello }).finish())
  }

  /** Who connects, and with what. From here on everything is encrypted. */
  finish(frame: Uint8Array): proto.ClientPayload {
    const { clientFinish } = proto.HandshakeMessage.decode(frame)
    const theirs = this.#decrypt(clientFinish!.static!)
    this.#mix(Curve.sharedKey(this.#ephemeral.private, theirs))
    const payload = proto.ClientPayload.decode(this.#decrypt(clientFinish!.payload!))
    const [read, write] = this.#split(nothing)
    this.#transport = { read, write, reads: 0, writes: 0 }
    return payload
  }

  #split(data: Uint8Array): [Uint8Array, Uint8Array] {
    const keys = hkdf(Buffer.from(data), 64, { salt: Buffer.from(this.#salt), info: '' })
    return [keys.subarray(0, 32), keys.subarray(32)]
  }

  #mix(data: Uint8Array): void {
    const [salt, key] = this.#split(data)
    this.#salt = salt
    this.#key = key
    this.#counter = 0
  }

  #authenticate(data: Uint8Array): void {
    this.#hash = sha256(Buffer.concat([this.#hash, data]))
  }

  #encrypt(plain: Uint8Array): Buffer {
    const sealed = aesEncryptGCM(plain, this.#key, iv(this.#counter++), this.#hash)
    this.#authenticate(sealed)
    return sealed
  }

  #decrypt(sealed: Uint8Array): Buffer {
    const plain = aesDecryptGCM(sealed, this.#key, iv(this.#counter++), this.#hash)
    this.#authenticate(sealed)
    return plain
  }

  #seal(plain: Uint8Array): Buffer {
    const transport = this.#transport!
    return aesEncryptGCM(plain, transport.write, iv(transport.writes++), nothing)
  }

  #open(sealed: Uint8Array): Buffer {
    const transport = this.#transport!
    return aesDecryptGCM(sealed, transport.read, iv(transport.reads++), nothing)
  }
}

function iv(counter: number): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(counter, 8)
  return bytes
}
