// Compresses the content of a record and, if the owner wants it, encrypts it: AES-256-GCM with a random key of the vault. The
// key is in `key.json`, itself encrypted with a key that scrypt derives from the owner's passphrase or key file.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  randomBytes,
  scrypt,
  type BinaryLike,
} from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompressSync, zstdDecompressSync, type ZstdOptions } from 'node:zlib'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import { parseRecord } from '../domain/json.ts'
import { makePrivateFile, readPrivateFile } from '../store/disk/private-file.ts'

/** How the content of records is named, packed and unpacked. */
export class Seal {
  readonly #key: Buffer | undefined

  constructor(key?: Buffer) {
    this.#key = key
  }

  get isSealed(): boolean {
    return this.#key !== undefined
  }

  /** The name of a content. With a key, a person without the key cannot test whether the vault has a known text. */
  nameOf(content: Buffer): Buffer {
    if (this.#key) return createHmac('sha256', this.#key).update(content).digest()
    return hash('sha256', content, 'buffer')
  }

  /** A few milliseconds for the largest content: other work waits less for that than for a place in the pool of threads. */
  pack(content: Buffer): Buffer {
    const small = zstdCompressSync(content, optionsFor(content.length))
    return this.#key ? encrypt(this.#key, small) : small
  }

  /** Throws if the content is damaged or was encrypted with another key. */
  unpack(stored: Buffer, isSealed: boolean, rawBytes: number): Buffer {
    const small = isSealed ? decrypt(this.#needKey(), stored) : stored
    const size = Math.max(rawBytes, 1)
    return zstdDecompressSync(small, { maxOutputLength: size, chunkSize: Math.max(size, 1024) })
  }

  #needKey(): Buffer {
    if (this.#key) return this.#key
    throw new RockpoolError('refused', 'The vault is encrypted, and no key for it is configured.', {
      hint: 'Set vault.keyFile, or ROCKPOOL_VAULT_PASSPHRASE, as when it was encrypted.',
    })
  }
}

/** The size lets zstd use small tables for small contents, which are then compressed much faster. */
function optionsFor(pledgedSrcSize: number): ZstdOptions {
  // Most contents become six times smaller or more, so that the output is one piece.
  const chunkSize = Math.max(1024, Math.ceil(pledgedSrcSize / 6))
  return { params: { [constants.ZSTD_c_compressionLevel]: 3 }, pledgedSrcSize, chunkSize }
}

const nonceBytes = 12
const tagBytes = 16

function encrypt(key: Buffer, plain: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

function decrypt(key: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes))
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()])
}

const wrappedKey = z.object({
  rockpool: z.literal(1),
  salt: z.base64(),
  /** The key of the vault, encrypted with the owner's. */
  key: z.base64(),
  /** The memory for it is this times a kilobyte. The file may come from another machine. */
  cost: z.int().max(2 ** 17),
})

/** The seal of the vault in `folder`. A secret makes an encrypted one of a vault that is not. */
export async function openSeal(folder: string, secret: Buffer | undefined): Promise<Seal> {
  const path = join(folder, 'key.json')
  const found = readPrivateFile(path)
  if (secret === undefined) return new Seal()
  const text = found ?? makePrivateFile(path, await newKeyFile(secret))
  const { salt, key, cost } = parseKey(text, path)
  const ownersKey = await derive(secret, Buffer.from(salt, 'base64'), cost)
  try {
    return new Seal(decrypt(ownersKey, Buffer.from(key, 'base64')))
  } catch (error) {
    throw new RockpoolError('refused', 'This passphrase or key file does not open the vault.', {
      hint: `The vault's key is in ${path}; it opens with the passphrase or key file that it was made with.`,
      cause: error,
    })
  }
}

function parseKey(text: string, path: string): z.infer<typeof wrappedKey> {
  const { data, error } = wrappedKey.safeParse(parseRecord(text))
  if (data) return data
  throw new RockpoolError('damaged', `${path} is damaged and cannot be read.`, {
    hint: 'Put it back from a backup (`rockpool restore-backup`): nothing in the encrypted vault can be read without it.',
    cause: error,
  })
}

async function newKeyFile(secret: Buffer): Promise<string> {
  const salt = randomBytes(16)
  const cost = 2 ** 15
  const key = encrypt(await derive(secret, salt, cost), randomBytes(32))
  return JSON.stringify({ rockpool: 1, salt: salt.toString('base64'), key: key.toString('base64'), cost })
}

const deriveKey = promisify<BinaryLike, BinaryLike, number, { N: number; maxmem: number }, Buffer>(scrypt)

function derive(secret: Buffer, salt: Buffer, cost: number): Promise<Buffer> {
  return deriveKey(secret, salt, 32, { N: cost, maxmem: 256 * cost * 8 })
}
