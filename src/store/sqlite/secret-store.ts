// Small secrets that a platform's library needs after a restart (WhatsApp's keys). A database of its own in credentials/, because
// such a library changes many small values at once and must never read a partial change.
import { join } from 'node:path'
import type { SecretStore } from '../../domain/channel.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { Database, removeDatabase } from './database.ts'

const schema = ['CREATE TABLE secret (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID']
const nameRule = /^[a-z0-9][a-z0-9_-]{0,99}$/

export function openSecretStore(folder: string, name: string): SecretStore {
  const database = Database.open(secretFile(folder, name), schema)
  return {
    get: (key) =>
      database.read((q) => q.get<{ value: string }>('SELECT value FROM secret WHERE key = ?', key))?.value,
    keys: (prefix) => {
      const sql = 'SELECT key FROM secret WHERE substr(key, 1, ?) = ?'
      const rows = database.read((q) => q.all<{ key: string }>(sql, prefix.length, prefix))
      return rows.map(({ key }) => key)
    },
    set: (changes) =>
      database.write((q) => {
        for (const [key, value] of Object.entries(changes)) {
          if (value === undefined) q.run('DELETE FROM secret WHERE key = ?', key)
          else q.run('INSERT OR REPLACE INTO secret (key, value) VALUES (?, ?)', key, value)
        }
      }),
    clear: () => database.write((q) => void q.run('DELETE FROM secret')),
    close: () => database.close(),
  }
}

/** Deletes the secrets with this name. No connection may have them open. */
export function removeSecretStore(folder: string, name: string): void {
  removeDatabase(secretFile(folder, name))
}

function secretFile(folder: string, name: string): string {
  if (nameRule.test(name)) return join(folder, `${name}.sqlite`)
  throw new RockpoolError('input-invalid', `${JSON.stringify(name)} is not a name for credentials.`)
}
