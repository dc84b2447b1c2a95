// The copy of a vault that other machines reach, so that a session of a lost laptop can be restored on another. Each machine
// writes only its own copy: its packs, cut into parts. Packs grow only at the end, so only the last part is written again.
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedQueue } from '../domain/async.ts'
import { RockpoolError } from '../domain/errors.ts'
import { makePrivateFile, readPrivateFile, writePrivateFile } from '../store/disk/private-file.ts'
import type { ObjectEntry, ObjectStore } from '../store/objects/object-store.ts'
import { Packs } from './packs.ts'
import type { Vault } from './vault.ts'

const partBytes = 4 * 1024 * 1024
/** `<machine>/<pack>/<first byte>`. A machine's name is that of a folder here, too, so it must not be `..`. */
const partName = /^([a-z0-9._-]+-[0-9a-f]{8})\/(\d{8}\.pack)\/(\d{12})$/
const keyName = 'key.json'

interface SharedMachine {
  machine: string
  bytes: number
  isThis: boolean
}

interface SharedVaultParts {
  objects: ObjectStore
  /** The folder of this machine's vault. */
  folder: string
  /** How people call this machine. */
  machineName: string
  /** Opens the fetched copy of another machine's vault. */
  open: (folder: string) => Promise<Vault>
}

export class SharedVault {
  readonly #objects: ObjectStore
  readonly #folder: string
  readonly #machine: string
  readonly #open: SharedVaultParts['open']
  readonly #work = new KeyedQueue()
  /** What is known to be there of this machine; undefined before the first look. */
  #sent: Map<string, number> | undefined

  constructor({ objects, folder, machineName, open: openCopy }: SharedVaultParts) {
    this.#objects = objects
    this.#open = openCopy
    this.#folder = folder
    // A vault that was deleted and begun again is another one: it never writes over the copy of the first.
    const slug = machineName.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-')
    this.#machine = makePrivateFile(
      join(folder, 'machine'),
      `${slug}-${randomBytes(4).toString('hex')}`,
    ).trim()
  }

  /** Copies what is new in this machine's vault, then removes what is no longer in it. Resolves to the bytes that were copied. */
  send(): Promise<number> {
    return this.#work.run('send', async () => {
      try {
        return await this.#send()
      } catch (error) {
        // What has arrived is uncertain.
        this.#sent = undefined
        throw error
      }
    })
  }

  /** Every machine that has a copy here. */
  async machines(): Promise<SharedMachine[]> {
    const sizes = new Map<string, number>()
    for (const { name, bytes } of await this.#objects.list('')) {
      const machine = partName.exec(name)?.[1]
      if (machine) sizes.set(machine, (sizes.get(machine) ?? 0) + bytes)
    }
    return [...sizes].map(([machine, bytes]) => ({ machine, bytes, isThis: machine === this.#machine }))
  }

  /** Runs `use` on the vault of another machine, after its copy on this one was brought up to date. `named` may be the beginning
   *  of the machine's name. */
  async withVaultOf<T>(named: string, use: (vault: Vault) => Promise<T>): Promise<T> {
    const machine = await this.#find(named)
    return this.#work.run(machine, async () => {
      const folder = join(this.#folder, 'machines', machine)
      await this.#fetch(machine, folder)
      const vault = await this.#open(folder)
      try {
        return await use(vault)
      } finally {
        await vault.close()
      }
    })
  }

  async close(): Promise<void> {
    await this.#work.idle()
    await this.#objects.close()
  }

  async #find(named: string): Promise<string> {
    const machines = (await this.machines()).map(({ machine }) => machine)
    const found = machines.filter((machine) => machine.startsWith(named.toLowerCase()))
    const one = found.find((machine) => machine === named) ?? (found.length === 1 ? found[0] : undefined)
    if (one !== undefined) return one
    throw new RockpoolError(
      found.length === 0 ? 'not-found' : 'ambiguous',
      `${found.length === 0 ? 'No machine' : `${found.length} machines`} in the shared vault ${found.length === 0 ? 'begins' : 'begin'} with ${JSON.stringify(named.slice(0, 80))}.`,
      { hint: `There are: ${machines.join(', ') || 'none'}.` },
    )
  }

  async #send(): Promise<number> {
    const own = `${this.#machine}/`
    this.#sent ??= new Map((await this.#objects.list(own)).map(({ name, bytes }) => [name, bytes]))
    const packs = new Packs(join(this.#folder, 'packs'))
    const wanted = new Set<string>()
    let copied = await this.#sendKey(wanted)
    try {
      for (const { pack, bytes } of await packs.list()) {
        for (let start = 0; start < bytes; start += partBytes) {
          const name = `${own}${pack}/${String(start).padStart(12, '0')}`
          const length = Math.min(partBytes, bytes - start)
          wanted.add(name)
          if (this.#sent.get(name) !== length)
            copied += await this.#put(name, await packs.read(pack, start, length))
        }
      }
    } finally {
      await packs.close()
    }
    for (const name of [...this.#sent.keys()].filter((one) => !wanted.has(one))) {
      await this.#objects.remove(name)
      this.#sent.delete(name)
    }
    return copied
  }

  /** The key of an encrypted vault; it is itself encrypted with the owner's passphrase. */
  async #sendKey(wanted: Set<string>): Promise<number> {
    const key = readPrivateFile(join(this.#folder, keyName))
    const name = `${this.#machine}/${keyName}`
    if (key === undefined) return 0
    wanted.add(name)
    const bytes = Buffer.from(key)
    return this.#sent!.get(name) === bytes.length ? 0 : this.#put(name, bytes)
  }

  async #put(name: string, bytes: Buffer): Promise<number> {
    await this.#objects.put(name, bytes)
    this.#sent!.set(name, bytes.length)
    return bytes.length
  }

  async #fetch(machine: string, folder: string): Promise<void> {
    const entries = await this.#objects.list(`${machine}/`)
    const packFolder = join(folder, 'packs')
    mkdirSync(packFolder, { recursive: true, mode: 0o700 })
    const parts = Map.groupBy(entries, ({ name }) => partName.exec(name)?.[2] ?? '')
    // Packs that the other machine has removed, for example to purge a session, are removed here, too.
    for (const pack of readdirSync(packFolder)) if (!parts.has(pack)) rmSync(join(packFolder, pack))
    if (entries.some(({ name }) => name === `${machine}/${keyName}`))
      writePrivateFile(join(folder, keyName), await this.#objects.get(`${machine}/${keyName}`))
    for (const [pack, some] of parts) if (pack !== '') await this.#fetchPack(join(packFolder, pack), some)
  }

  async #fetchPack(path: string, parts: ObjectEntry[]): Promise<void> {
    const present = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    await using file = await open(path, present === 0 ? 'w' : 'r+', 0o600)
    for (const { name, bytes } of parts) {
      const start = Number(partName.exec(name)![3])
      if (start + bytes <= present) continue
      await file.write(await this.#objects.get(name), 0, undefined, start)
    }
    await file.datasync()
  }
}
