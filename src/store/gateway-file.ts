// <state>/gateway.json: where the running gateway listens, for the commands of this machine. It names the process
// and its start time, so that a token is never sent to whatever took the port of a gateway that is gone.
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from './private-file.ts'

export interface RunningGateway {
  url: string
  wsUrl: string
  pid: number
  /** When the process began, in the system's own count. */
  processStart: string
  startedAt: number
  version: string
}

export function writeGatewayFile(stateDir: string, gateway: RunningGateway): void {
  writePrivateFile(pathIn(stateDir), `${JSON.stringify(gateway)}\n`)
}

/** Removes the file if it is still ours: a gateway that started after us keeps its own. */
export function removeGatewayFile(stateDir: string, pid: number): void {
  if (readFile(stateDir)?.pid === pid) rmSync(pathIn(stateDir), { force: true })
}

/** The gateway that runs on this state directory now, if one does. */
export function findRunningGateway(stateDir: string): RunningGateway | undefined {
  const found = readFile(stateDir)
  return found && processStart(found.pid) === found.processStart ? found : undefined
}

/** Something that tells this process from a later one with the same number. */
export function processStart(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in parentheses and may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    // No /proc on this system: then being there at all must do.
    return process.platform === 'linux' ? undefined : aliveMark(pid)
  }
}

function aliveMark(pid: number): string | undefined {
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch {
    return undefined
  }
}

function readFile(stateDir: string): RunningGateway | undefined {
  try {
    const path = pathIn(stateDir)
    const { uid } = statSync(path)
    // Somebody else's file could name somebody else's server.
    if (process.getuid && uid !== process.getuid()) return undefined
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isRunningGateway(value) ? value : undefined
  } catch {
    // Missing or half-written: then no gateway can be reached, which is all that is asked here.
    return undefined
  }
}

function isRunningGateway(value: unknown): value is RunningGateway {
  if (typeof value !== 'object' || value === null) return false
  const { url, wsUrl, pid, processStart } = value as Record<string, unknown>
  return [url, wsUrl, processStart].every((text) => typeof text === 'string') && typeof pid === 'number'
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'gateway.json')
}
