// Identifies a process by its pid and start time. Pids are reused, so a pid alone is not enough to tell whether a process is
// alive, or to kill it.
import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { attempt } from '../../domain/errors.ts'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; elsewhere seconds since 1970, from `ps`. Only for comparison. */
  startTime: string
  /** The boot and pid namespace in which the two numbers are valid. */
  domain: string
}

/** The process with this pid; undefined if there is none. A zombie has ended, so it is not a process here. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = hasProc() ? readStat(pid)?.startTime : askPs(['-p', String(pid)])[0]?.startTime
  return startTime === undefined ? undefined : { pid, startTime, domain: processDomain() }
}

export function isSameProcess(identity: ProcessIdentity): boolean {
  const found = identifyProcess(identity.pid)
  return found?.startTime === identity.startTime && found.domain === identity.domain
}

/** The identity as one line, for rows that outlive the process. */
export function formatProcess({ pid, startTime, domain }: ProcessIdentity): string {
  return [pid, startTime, domain].join(' ')
}

/** Does the process of such a line still run? */
export function isProcessAlive(line: string): boolean {
  const [pid, startTime = '', ...domain] = line.split(' ')
  return isSameProcess({ pid: Number(pid), startTime, domain: domain.join(' ') })
}

/** The `pidDomain` that Claude Code writes beside pid and start time: the machine and pid namespace. */
export function claudePidDomain(): string {
  return `linux:${readMachineId()}:${pidNamespace()}`
}

/** Is the process that Claude Code recorded still alive? The file of a killed process remains, and its pid may be reused. */
export function isClaudesProcess(noted: { pid: number; procStart: unknown; pidDomain?: unknown }): boolean {
  const found = identifyProcess(noted.pid)
  // Outside of Linux the format of the start time is unknown, so only the pid is compared.
  if (!found || !hasProc()) return found !== undefined
  if (noted.pidDomain !== undefined && noted.pidDomain !== claudePidDomain()) return false
  return found.startTime === String(noted.procStart)
}

/** The pids of the ancestors of this process, the parent first. */
export function ancestorsOf(pid: number): number[] {
  const listed = hasProc() ? undefined : new Map(allProcesses().map((each) => [each.pid, each.parent]))
  const parentOf = (child: number): number | undefined => listed?.get(child) ?? readStat(child)?.parent
  const found: number[] = []
  for (let parent = parentOf(pid); parent && !found.includes(parent); parent = parentOf(parent)) {
    found.push(parent)
  }
  return found
}

export interface ListedProcess {
  pid: number
  parent: number
  /** On Linux the session (setsid), elsewhere the process group. Children inherit it; it only ever changes to a new one. */
  group: number
  startTime: string
}

export function allProcesses(): ListedProcess[] {
  if (!hasProc()) return askPs(['-A'])
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((name) => readStat(Number(name)) ?? [])
}

/** The pids of this user's processes with an environment variable that begins with `text`: `NAME=value`. */
export function pidsWithVariable(text: string, processes: readonly ListedProcess[]): Set<number> {
  if (!hasProc()) return readPsEnvironments(runPs(['-A', '-E', '-ww', '-o', 'pid=', '-o', 'command=']), text)
  const found = processes.filter(({ pid }) => environmentOf(pid).some((entry) => entry.startsWith(text)))
  return new Set(found.map(({ pid }) => pid))
}

/** Parses lines of ps with the environment after the command: `  501 sleep 30 HOME=/ NAME=value`. */
export function readPsEnvironments(output: string, text: string): Set<number> {
  const lines = output.split('\n').filter((line) => line.includes(` ${text}`))
  return new Set(lines.map((line) => Number.parseInt(line, 10)))
}

/** Empty for processes of other users; root does not read them either. */
function environmentOf(pid: number): string[] {
  // Fails if the process ended, or may not be inspected.
  const isOwn = attempt(() => statSync(`/proc/${pid}`).uid === process.geteuid?.(), false)
  return isOwn ? attempt(() => readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0'), []) : []
}

function hasProc(): boolean {
  return existsSync('/proc/self')
}

function readStat(pid: number): ListedProcess | undefined {
  // Fails if there is no such process, or no /proc.
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  if (text === undefined) return undefined
  // The name in parentheses may contain spaces and parentheses; the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, , session] = fields
  if (state === 'Z' || state === 'X') return undefined
  return { pid, parent: Number(parent), group: Number(session), startTime: fields[19] ?? '' }
}

/** For systems without /proc, such as macOS. Language and time zone are fixed, so that two processes read the same start time. */
function askPs(which: string[]): ListedProcess[] {
  return readPs(runPs(['-o', 'pid=', '-o', 'ppid=', '-o', 'pgid=', '-o', 'stat=', '-o', 'lstart=', ...which]))
}

function runPs(args: string[]): string {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  // ps fails if there is no such process.
  return attempt(() => execFileSync('ps', args, { encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024 }), '')
}

/** Parses lines of ps, without zombies: `  501     1   501 Ss   Mon Nov  2 08:12:01 2026`. */
export function readPs(text: string): ListedProcess[] {
  return text.split('\n').flatMap((line) => {
    const [pid, parent, group, state, ...date] = line.trim().split(/\s+/)
    const started = Date.parse(`${date.join(' ')} UTC`)
    if (!state || state.startsWith('Z') || Number.isNaN(started)) return []
    return [
      { pid: Number(pid), parent: Number(parent), group: Number(group), startTime: String(started / 1000) },
    ]
  })
}

export function processDomain(): string {
  // Fails if this is not Linux: the machine is one domain.
  return attempt(() => {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', '')
    return `linux:${boot}:${pidNamespace()}`
  }, process.platform)
}

/** The permanent id of this machine, independent of its host name; empty if it has none. */
export function readMachineId(): string {
  const file = ['/etc/machine-id', '/var/lib/dbus/machine-id'].find((path) => existsSync(path))
  return file ? readFileSync(file, 'latin1').trim() : ''
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid')
}
