// Is the process that wrote this still the one that runs? A pid alone does not say: pids are used again, and a
// dead child that nobody has waited for (a zombie) still answers to signals.
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Enough to recognise a process for ever. */
export interface ProcessIdentity {
  pid: number
  /** When the process began, in the kernel's own unit; only ever compared. */
  starttime: string
  /** Which boot of the machine; empty where the system does not say. */
  bootId: string
  host: string
  /** In which namespace the pid counts (containers); empty where there is none. */
  pidNamespace: string
}

export function thisProcess(): ProcessIdentity {
  return {
    pid: process.pid,
    starttime: startTimeOf(process.pid) ?? '',
    bootId: readOr('/proc/sys/kernel/random/boot_id'),
    host: hostname(),
    pidNamespace: pidNamespace(),
  }
}

/** `unknown`: it belongs to another machine or container, and we cannot look inside. */
export function livenessOf(other: ProcessIdentity, self: ProcessIdentity): 'alive' | 'dead' | 'unknown' {
  if (other.host !== self.host) return 'unknown'
  if (other.bootId !== self.bootId) return 'dead'
  if (other.pidNamespace !== self.pidNamespace) return 'unknown'
  const starttime = startTimeOf(other.pid)
  return starttime !== undefined && starttime === other.starttime ? 'alive' : 'dead'
}

/** Does a process with this pid run, whoever it is? Zombies do not. */
export function isProcessThere(pid: number): boolean {
  return startTimeOf(pid) !== undefined
}

/** When the process began, or nothing when it is gone, a zombie or dying. */
export function startTimeOf(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined
  return process.platform === 'linux' ? startTimeFromProc(pid) : startTimeFromPs(pid)
}

function startTimeFromProc(pid: number): string | undefined {
  const stat = readOr(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets and may itself hold brackets and spaces.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (!state || 'ZXx'.includes(state)) return undefined
  return rest[18]
}

function startTimeFromPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    const [state, ...started] = line.split(/\s+/)
    return !state || state.startsWith('Z') ? undefined : started.join(' ')
  } catch {
    // ps fails when there is no such process.
    return undefined
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    // Not Linux: one namespace for all.
    return ''
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // The process is gone, or this is not Linux.
    return ''
  }
}
