// Creates the state directory. It contains conversations and credentials, so it must belong to this user and be closed to others.
import { chmodSync, statSync, statfsSync } from 'node:fs'
import { RockpoolError } from '../domain/errors.ts'
import { asFileError, makeFolders } from './disk/atomic-file.ts'

/** Creates the directory if it is missing, and closes it to other users. Returns a warning for each correction. */
export function secureStateDirectory(path: string): string[] {
  make(path)
  const { uid, mode } = statSync(path)
  const self = process.getuid?.()
  if (self !== undefined && uid !== self && self !== 0) {
    throw new RockpoolError('refused', `${path} belongs to another user (uid ${uid}).`, {
      hint: 'Point ROCKPOOL_STATE_DIR at a directory of your own.',
    })
  }
  refuseNetworkFileSystem(path, statfsSync(path).type)
  const warnings: string[] = []
  if (uid !== self && self === 0) warnings.push(`${path} belongs to uid ${uid}, and this runs as root.`)
  if ((mode & 0o077) !== 0) {
    close(path)
    warnings.push(`${path} was open to others (mode ${(mode & 0o777).toString(8)}); it is 700 now.`)
  }
  return warnings
}

function make(path: string): void {
  try {
    makeFolders(path)
  } catch (error) {
    throw new RockpoolError('disk-failed', `The state directory ${path} cannot be made.`, {
      hint: 'Point ROCKPOOL_STATE_DIR at a place where you may write.',
      cause: error,
    })
  }
}

function close(path: string): void {
  try {
    chmodSync(path, 0o700)
  } catch (error) {
    throw asFileError(error, path)
  }
}

/** By the type number of statfs. Locks and syncs are not reliable there, so databases are not either. */
const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
])

export function refuseNetworkFileSystem(path: string, type: number): void {
  const name = networkFileSystems.get(type)
  if (!name) return
  throw new RockpoolError('refused', `${path} is on a network file system (${name}).`, {
    hint: 'Point ROCKPOOL_STATE_DIR at a disk of this machine.',
  })
}
