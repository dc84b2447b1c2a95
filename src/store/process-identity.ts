// Who a process is: its number and when it started. Numbers are given out again, so a number alone is never enough to
// say that a process still lives, nor to end it.
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; empty where the system does not tell. */
  startTime: string
  /** The boot and pid namespace in which the two numbers mean something; written as Claude Code writes `pidDomain`. */
  domain: string
}

/** The process with this number, or undefined if there is none. A zombie is none: it only waits to be counted. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (stat) return { pid, startTime: stat.startTime, domain: processDomain() }
  return existsSync('/proc/self') || !answersSignal(pid)
    ? undefined
    : { pid, startTime: '', domain: processDomain() }
}

export function isSameProcess(identity: ProcessIdentity): boolean {
  const found = identifyProcess(identity.pid)
  return found?.startTime === identity.startTime && found.domain === identity.domain
}

/** All processes below this one, children before grandchildren. Empty where the system does not tell. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const children = new Map<number, ProcessIdentity[]>()
  for (const candidate of allPids()) {
    const stat = readStat(candidate)
    if (!stat) continue
    const identity = { pid: candidate, startTime: stat.startTime, domain: processDomain() }
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), identity])
  }
  const found: ProcessIdentity[] = []
  for (let next = children.get(pid) ?? []; next.length > 0;) {
    found.push(...next)
    next = next.flatMap((child) => children.get(child.pid) ?? [])
  }
  return found
}

function readStat(pid: number): { parent: number; startTime: string } | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    // No such process, or no /proc: both mean that there is nothing to read.
    return undefined
  }
  // The name in parentheses may hold anything, also spaces and parentheses; the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent] = fields
  if (state === 'Z' || state === 'X') return undefined
  return { parent: Number(parent), startTime: fields[19] ?? '' }
}

function allPids(): number[] {
  if (!existsSync('/proc/self')) return []
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function processDomain(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', '')
    return `linux:${boot}:${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // Not Linux: there is one domain, the machine.
    return process.platform
  }
}
