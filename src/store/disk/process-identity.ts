// Who a process is: its number and when it started. Numbers are given out again, so a number alone is never enough to
// say that a process still lives, nor to end it.
import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; elsewhere seconds since 1970, from `ps`. Only ever compared. */
  startTime: string
  /** The boot and pid namespace in which the two numbers mean something. */
  domain: string
}

/** The process with this number, or undefined if there is none. A zombie is none: it only waits to be counted. */
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

/** What Claude Code writes as `pidDomain` beside the number and start of a process: the machine and pid namespace. */
export function claudePidDomain(): string {
  return `linux:${readMachineId()}:${pidNamespace()}`
}

/** Does the process still live that Claude Code wrote down? The file of one that was killed stays behind, and its number
 *  may be somebody else's by now. */
export function isClaudesProcess(noted: { pid: number; procStart: unknown; pidDomain?: unknown }): boolean {
  const found = identifyProcess(noted.pid)
  // How Claude Code notes the start of a process elsewhere is its own affair; there the number must do.
  if (!found || !hasProc()) return found !== undefined
  if (noted.pidDomain !== undefined && noted.pidDomain !== claudePidDomain()) return false
  return found.startTime === String(noted.procStart)
}

/** All processes below this one, children before grandchildren. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const domain = processDomain()
  const children = Map.groupBy(allProcesses(), ({ parent }) => parent)
  const found: ProcessIdentity[] = []
  for (let next = children.get(pid) ?? []; next.length > 0;) {
    found.push(...next.map((child) => ({ pid: child.pid, startTime: child.startTime, domain })))
    next = next.flatMap((child) => children.get(child.pid) ?? [])
  }
  return found
}

/** The processes above this one, the nearest first. */
export function ancestorsOf(pid: number): number[] {
  const listed = hasProc() ? undefined : new Map(allProcesses().map((each) => [each.pid, each.parent]))
  const parentOf = (child: number): number | undefined => listed?.get(child) ?? readStat(child)?.parent
  const found: number[] = []
  for (let parent = parentOf(pid); parent && !found.includes(parent); parent = parentOf(parent)) {
    found.push(parent)
  }
  return found
}

export interface SeenProcess {
  pid: number
  parent: number
  /** On Linux the session (setsid), elsewhere the process group: it is inherited, and changed only to a new one. */
  group: number
  startTime: string
}

export function allProcesses(): SeenProcess[] {
  if (!hasProc()) return askPs(['-A'])
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((name) => readStat(Number(name)) ?? [])
}

/** The numbers of our user's processes that have a variable in their environment that begins with `text`: `NAME=value`. */
export function withVariable(text: string, processes: readonly SeenProcess[]): Set<number> {
  if (!hasProc()) return readPsEnvironments(runPs(['-A', '-E', '-ww', '-o', 'pid=', '-o', 'command=']), text)
  const found = processes.filter(({ pid }) => environmentOf(pid).some((entry) => entry.startsWith(text)))
  return new Set(found.map(({ pid }) => pid))
}

/** `  501 sleep 30 HOME=/ NAME=value`: a line of ps with the environment after the command. */
export function readPsEnvironments(output: string, text: string): Set<number> {
  const lines = output.split('\n').filter((line) => line.includes(` ${text}`))
  return new Set(lines.map((line) => Number.parseInt(line, 10)))
}

/** Empty for processes of others, which are not ours to look at, also when we are root. */
function environmentOf(pid: number): string[] {
  try {
    if (statSync(`/proc/${pid}`).uid !== process.geteuid?.()) return []
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
  } catch {
    // It ended, or does not let itself be looked at.
    return []
  }
}

function hasProc(): boolean {
  return existsSync('/proc/self')
}

function readStat(pid: number): SeenProcess | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    // No such process, or no /proc: both mean that there is nothing to read.
    return undefined
  }
  // The name in parentheses may hold anything, also spaces and parentheses; the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, , session] = fields
  if (state === 'Z' || state === 'X') return undefined
  return { pid, parent: Number(parent), group: Number(session), startTime: fields[19] ?? '' }
}

/** Where there is no /proc, as on macOS. Dates are asked for in one language and time zone, whatever the caller's: two
 *  processes must see the same start of a third. */
function askPs(which: string[]): SeenProcess[] {
  return readPs(runPs(['-o', 'pid=', '-o', 'ppid=', '-o', 'pgid=', '-o', 'stat=', '-o', 'lstart=', ...which]))
}

function runPs(args: string[]): string {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  try {
    const { execFileSync } = process.getBuiltinModule('node:child_process')
    return execFileSync('ps', args, { encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024 })
  } catch {
    // ps fails when there is no such process.
    return ''
  }
}

/** `  501     1   501 Ss   Mon Nov  2 08:12:01 2026`: a line of ps. A zombie is left out. */
export function readPs(text: string): SeenProcess[] {
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
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', '')
    return `linux:${boot}:${pidNamespace()}`
  } catch {
    // Not Linux: there is one domain, the machine.
    return process.platform
  }
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid')
}

/** What this machine calls itself for ever, whatever its name; empty where it does not say. */
export function readMachineId(): string {
  const file = ['/etc/machine-id', '/var/lib/dbus/machine-id'].find((path) => existsSync(path))
  return file ? readFileSync(file, 'latin1').trim() : ''
}
