// The servers that ROCKPOOL_DATABASE_URL names, and which of them accepts writes now. After a failover it is another one.
import type { Client, ClientConfig } from 'pg'
import { messageOf } from './failure.ts'

/** `postgres://user@one:5432,two:5432/name` as one address for each server. */
export function serversIn(url: string): string[] {
  const [, scheme = '', user = '', hosts, rest = ''] = /^(\w+:\/\/)([^/?]*@)?([^/?@]*)(.*)$/s.exec(url) ?? []
  if (!hosts?.includes(',')) return [url]
  return hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`)
}

export function placeOf(url: string): string {
  const [, hosts, path = ''] = /^\w+:\/\/(?:[^/?]*@)?([^/?@]*)(\/[^?]*)?/s.exec(url) ?? []
  // Not an address in that form; the driver reports what is wrong with it.
  return hosts === undefined ? 'ROCKPOOL_DATABASE_URL' : `${hosts}${path}`
}

export class Servers {
  readonly all: readonly string[]
  #found: string | undefined
  #config: (url: string) => ClientConfig

  constructor(url: string, config: (url: string) => ClientConfig) {
    this.all = serversIn(url)
    this.#config = config
  }

  get several(): boolean {
    return this.all.length > 1
  }

  get found(): string {
    return this.#found ?? this.all[0]!
  }

  /** The first server that answers and accepts writes. Asks all servers at the same time, so that a dead server costs no wait. */
  async find(): Promise<string> {
    if (!this.several) return this.found
    const asked = this.all.map((url) => this.#takesWrites(url).then(() => url))
    try {
      // The server in use is preferred as long as it accepts writes.
      const earlier = this.#found === undefined ? undefined : asked[this.all.indexOf(this.#found)]
      const found = await (earlier?.catch(() => Promise.any(asked)) ?? Promise.any(asked))
      this.#found = found
      return found
    } catch (cause) {
      // Without the addresses: a chat may show it.
      const error = new Error(`none of the ${this.all.length} servers accepts writes`, { cause })
      throw Object.assign(error, { code: '08001' })
    }
  }

  async #takesWrites(url: string): Promise<void> {
    const { default: pg } = await import('pg')
    const client: Client = new pg.Client(this.#config(url))
    // The running query reports what broke the connection.
    client.on('error', () => {})
    try {
      await client.connect()
      // A primary that is about to hand over to its standby refuses writes, too.
      const { rows } = await client.query<{ refuses: boolean }>(
        `SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS refuses`,
      )
      if (rows[0]?.refuses) throw new Error('it accepts no writes')
    } catch (error) {
      throw new Error(`${placeOf(url)}: ${messageOf(error)}`, { cause: error })
    } finally {
      await client.end().catch(() => {
        // The connection is gone already.
      })
    }
  }
}
