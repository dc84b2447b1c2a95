// <state>/gateway.json: the address of the running gateway, for commands on this machine. It contains the gateway's process
// identity, so that a token is never sent to another program that took the port of a dead gateway.
import { readFileSync, rmSync, statSync } from 'node:fs'
import { attempt } from '../domain/errors.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { gatewayFile } from './paths.ts'
import { writePrivateFile } from './disk/private-file.ts'
import { identifyProcess, isSameProcess, type ProcessIdentity } from './disk/process-identity.ts'

interface RunningGateway {
  url: string
  wsUrl: string
  process: ProcessIdentity
  startedAt: number
  version: string
}

export function writeGatewayFile(stateDir: string, gateway: Omit<RunningGateway, 'process'>): void {
  const content: RunningGateway = { ...gateway, process: identifyProcess(process.pid)! }
  writePrivateFile(gatewayFile(stateDir), `${JSON.stringify(content)}\n`)
}

/** Removes the file if this process wrote it; the file of a newer gateway stays. */
export function removeGatewayFile(stateDir: string): void {
  if (readGatewayFile(stateDir)?.process.pid === process.pid) rmSync(gatewayFile(stateDir), { force: true })
}

export function findRunningGateway(stateDir: string): RunningGateway | undefined {
  const found = readGatewayFile(stateDir)
  return found && isSameProcess(found.process) ? found : undefined
}

function readGatewayFile(stateDir: string): RunningGateway | undefined {
  // Fails if the file is missing: no gateway can be reached.
  return attempt(() => {
    const path = gatewayFile(stateDir)
    // A file of another user could name that user's server.
    if (process.getuid && statSync(path).uid !== process.getuid()) return undefined
    const found = parseRecord(readFileSync(path, 'utf8'))
    const isWhole = [found?.['url'], found?.['wsUrl']].every((url) => typeof url === 'string')
    return isWhole && isRecord(found?.['process']) ? (found as unknown as RunningGateway) : undefined
  })
}
