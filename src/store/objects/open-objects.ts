// Opens the place for a shared vault that the configuration names.
import { isAbsolute } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { folderObjects } from './folder-objects.ts'
import type { ObjectStore, ObjectStoreParts } from './object-store.ts'

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
