// A place for named bytes that several machines reach: a folder, an S3-compatible server, or a table of PostgreSQL. The shared
// vault is in one of them.
import { isAbsolute } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Environment } from '../config-file.ts'
import { folderObjects } from './folder-objects.ts'

/** Names have letters, digits, `-`, `_`, `.` and `/` only. */
export interface ObjectStore {
  /** All objects whose names begin so. */
  list(prefix: string): Promise<ObjectEntry[]>
  get(name: string): Promise<Buffer>
  /** Replaces what has the name; a reader sees the old or the new bytes. */
  put(name: string, bytes: Buffer): Promise<void>
  remove(name: string): Promise<void>
  close(): Promise<void>
}

export interface ObjectEntry {
  name: string
  bytes: number
}

export interface ObjectStoreParts {
  environment: Pick<Environment, 's3' | 'databaseUrl'>
  clock: Clock
  log: Log
}

/** `address`: an absolute path, `s3://bucket/prefix`, or `postgres`. Connects to nothing before the first use. */
export async function openObjects(address: string, parts: ObjectStoreParts): Promise<ObjectStore> {
  if (isAbsolute(address)) return folderObjects(address)
  if (address.startsWith('s3://')) {
    const { s3Objects } = await import('./s3-objects.ts')
    return s3Objects(address, parts)
  }
  if (address === 'postgres') {
    const { postgresObjects } = await import('../postgres/objects.ts')
    return postgresObjects(parts)
  }
  throw new RockpoolError('config-invalid', `${JSON.stringify(address)} is no place for a shared vault.`, {
    hint: 'Use an absolute path, s3://bucket/prefix, or postgres.',
  })
}
