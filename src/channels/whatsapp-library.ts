// The dependencies of Baileys: a store for its secrets (our identity on WhatsApp and the keys of every conversation), and a
// logger. The store changes as a whole, so that a crash never leaves half of a key exchange.
import { BufferJSON, initAuthCreds, proto } from 'baileys'
import type { AuthenticationCreds, AuthenticationState, SignalDataTypeMap } from 'baileys'
import type { SecretStore } from '../domain/channel.ts'

export interface WhatsappAuth {
  state: AuthenticationState
  /** After each `creds.update`. */
  saveCreds(): Promise<void>
  /** Paired with a phone? */
  isPaired(): boolean
}

const credsKey = 'creds'

export function openWhatsappAuth(store: SecretStore): WhatsappAuth {
  const creds = read<AuthenticationCreds>(store, credsKey) ?? initAuthCreds()
  const state: AuthenticationState = {
    creds,
    keys: {
      get: (type, ids) => Promise.resolve(readKeys(store, type, ids)),
      set: async (data) => {
        const changes: Record<string, string | undefined> = {}
        for (const [type, values] of Object.entries(data)) {
          for (const [id, value] of Object.entries(values ?? {})) changes[`${type}-${id}`] = write(value)
        }
        await store.set(changes)
      },
    },
  }
  return {
    state,
    saveCreds: () => store.set({ [credsKey]: write(creds) }),
    isPaired: () => creds.me !== undefined && creds.account !== undefined,
  }
}

function readKeys<T extends keyof SignalDataTypeMap>(
  store: SecretStore,
  type: T,
  ids: string[],
): Record<string, SignalDataTypeMap[T]> {
  const found: Record<string, SignalDataTypeMap[T]> = {}
  for (const id of ids) {
    const value = read<SignalDataTypeMap[T]>(store, `${type}-${id}`)
    if (value === undefined) continue
    // Baileys expects this one kind as a protocol message, not as a plain object.
    found[id] =
      type === 'app-state-sync-key'
        ? (proto.Message.AppStateSyncKeyData.fromObject(value as object) as unknown as SignalDataTypeMap[T])
        : value
  }
  return found
}

function read<T>(store: SecretStore, key: string): T | undefined {
  const text = store.get(key)
  return text === undefined ? undefined : (JSON.parse(text, BufferJSON.reviver) as T)
}

function write(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : JSON.stringify(value, BufferJSON.replacer)
}

interface Logger {
  level: string
  child(): Logger
  trace(): void
  debug(): void
  info(): void
  warn(): void
  error(): void
}

/** Baileys logs whole protocol messages with texts and keys. None of it may reach our logs. */
export const silentLogger: Logger = {
  level: 'silent',
  child: () => silentLogger,
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

/** Lines that libsignal writes to the console, some of them with the private keys of a conversation. */
const libsignalLine =
  /^(Closing session|Opening session|Session already|Removing old closed session|Migrating session|Closing open session|Decrypted message with closed session|Failed to decrypt message|Session error)/

const isSilenced = Symbol.for('rockpool.quiet-signal')

/** libsignal has no option for it, so the console drops those lines from now on. */
export function silenceLibsignal(target: Console = console): void {
  if (isSilenced in target) return
  Object.defineProperty(target, isSilenced, { value: true })
  for (const method of ['info', 'warn', 'error'] as const) {
    const write = target[method].bind(target)
    target[method] = (...words: unknown[]) => {
      if (typeof words[0] !== 'string' || !libsignalLine.test(words[0])) write(...words)
    }
  }
}
