// Baileys' own secrets: who we are on WhatsApp, and the keys of every conversation. One store, changed as a whole, so
// that a crash never leaves half of a key exchange.
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
    // This one kind must come back as a message of WhatsApp's protocol, not as a plain object.
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
