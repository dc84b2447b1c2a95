// Checks the files in credentials/ that Rockpool writes itself. A damaged one is set aside as a whole: rights never come from a damaged
// file.
import { renameSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { asRockpoolError, type RockpoolError } from '../domain/errors.ts'
import { devicesFile, readStoredDevices } from './device-file.ts'
import { syncDirectoryNow } from './disk/private-file.ts'
import { timestamp } from './files/recover-sessions.ts'
import {
  gatewayTokenFile,
  hookTokenFile,
  readGatewayToken,
  readHookToken,
  readTokenRecords,
  tokensFile,
} from './gateway-tokens.ts'
import type { FileFault } from './inspect-files.ts'

/** What reads each file, and what a person has to do after the file was set aside. */
const credentials = [
  {
    file: gatewayTokenFile,
    read: readGatewayToken,
    next: 'the next start makes a new token, with which devices and dashboard pages have to be added again',
  },
  { file: hookTokenFile, read: readHookToken, next: 'make a new one with `rockpool tokens rotate hook`' },
  { file: tokensFile, read: readTokenRecords, next: 'add the tokens again with `rockpool tokens add`' },
  { file: devicesFile, read: readStoredDevices, next: 'add the devices again' },
]

export function findDamagedCredentials(stateDir: string, clock: Clock): FileFault[] {
  return credentials.flatMap(({ file, read, next }) => {
    try {
      read(stateDir)
      return []
    } catch (error) {
      return [faultOf(asRockpoolError(error), file(stateDir), next, clock)]
    }
  })
}

function faultOf(error: RockpoolError, path: string, next: string, clock: Clock): FileFault {
  const { code, message: problem, hint = 'correct the cause and run `rockpool doctor` again' } = error
  if (code !== 'damaged') return { path, problem, remedy: `no automatic fix: ${hint}` }
  const setAside = async (): Promise<void> => {
    renameSync(path, `${path}.corrupt-${timestamp(clock.now())}`)
    syncDirectoryNow(dirname(path))
  }
  return { path, problem, remedy: `set it aside; ${next}`, fix: setAside }
}
