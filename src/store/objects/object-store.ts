// A place for named bytes that several machines reach: a folder, an S3-compatible server, or a table of PostgreSQL. The shared
// vault is in one of them.
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Environment } from '../config-file.ts'

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
