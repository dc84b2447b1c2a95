// The content of a lock file: our own form, and the three forms that versions of OpenClaw wrote.
import { randomUUID } from 'node:crypto'
import { hostname, uptime } from 'node:os'
import { parseRecord } from '../../domain/json.ts'
import { identifyProcess } from './process-identity.ts'

export interface LockPayload {
  v: 2
  pid: number
  /** When the process started, in the unit of the system. */
  starttime: string
  /** The boot and the pid namespace in which these two numbers are valid. */
  bootId: string
  host: string
  nonce: string
  /** When and for which operation the lock was taken. */
  startedAt: number
  op: string
}

/** OpenClaw's forms: `{pid, startedAt}` in January, `{pid, createdAt}` in February, also `starttime` since March. */
interface LegacyPayload {
  pid?: unknown
  startedAt?: unknown
  createdAt?: unknown
  starttime?: unknown
}

/** For a lock of another machine or container: its holder updates the mtime every 5 s while it runs. */
const foreignStaleMs = 120_000

export function newPayload(op: string, now: number): LockPayload {
  const { pid, starttime, bootId } = thisProcess()
  return { v: 2, pid, startedAt: now, starttime, bootId, host: hostname(), nonce: randomUUID(), op }
}

export function holderOf(content: Buffer | undefined): LockPayload | undefined {
  const payload = parse(content) as Partial<LockPayload> | undefined
  return payload?.v === 2 && typeof payload.nonce === 'string' && typeof payload.pid === 'number'
    ? (payload as LockPayload)
    : undefined
}

/** Is the holder dead? Age matters only for a lock that names no process. */
export function isDead(content: Buffer, ageMs: number, staleMs: number, now: number): boolean {
  const holder = holderOf(content)
  if (holder) {
    const liveness = livenessOf(holder)
    return liveness === 'dead' || (liveness === 'unknown' && ageMs > foreignStaleMs)
  }
  const uptimeMs = uptime() * 1000
  const payload = parse(content)
  // A power cut may leave an empty lock. A lock that is older than this boot has no holder.
  if (typeof payload?.pid !== 'number') return ageMs > Math.min(staleMs, uptimeMs)
  const writtenAt = timeIn(payload) ?? now - ageMs
  return isLegacyHolderGone(payload) || Math.min(ageMs, now - writtenAt) > uptimeMs
}

export function describeHolder(content: Buffer | undefined, ageMs: number, now: number): string {
  const holder = holderOf(content)
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`
  if (holder) {
    const where = holder.host === hostname() ? '' : ` on ${holder.host}`
    return `process ${holder.pid}${where} has had it for ${seconds(Math.max(0, now - holder.startedAt))} (${holder.op})`
  }
  const pid = parse(content)?.pid
  const who = typeof pid === 'number' ? `process ${pid}` : 'an unknown process'
  return `${who} has had it, last touched ${seconds(ageMs)} ago`
}

/** `unknown`: the process belongs to another machine or container, which we cannot inspect. */
function livenessOf(holder: LockPayload): 'alive' | 'dead' | 'unknown' {
  const self = thisProcess()
  if (holder.host !== hostname()) return 'unknown'
  if (holder.bootId !== self.bootId) return bootOf(holder.bootId) === bootOf(self.bootId) ? 'unknown' : 'dead'
  return identifyProcess(holder.pid)?.startTime === holder.starttime ? 'alive' : 'dead'
}

function thisProcess(): Pick<LockPayload, 'pid' | 'starttime' | 'bootId'> {
  const self = identifyProcess(process.pid)
  return { pid: process.pid, starttime: self?.startTime ?? '', bootId: self?.domain ?? '' }
}

/** `linux:<boot>:<pid namespace>`: another pid namespace of this boot may be another container. */
function bootOf(domain: string): string {
  return domain.split(':').slice(0, 2).join(':')
}

function timeIn({ startedAt, createdAt }: LegacyPayload): number | undefined {
  const at = typeof startedAt === 'number' ? startedAt : Date.parse(String(createdAt))
  return Number.isFinite(at) ? at : undefined
}

/** A new process may have the pid of the holder. Only `starttime` tells them apart; without it, the holder may be alive. */
function isLegacyHolderGone(payload: LegacyPayload): boolean {
  const found = identifyProcess(Number(payload.pid))
  if (!found) return true
  return typeof payload.starttime === 'number' && String(payload.starttime) !== found.startTime
}

/** Undefined if it is empty, incomplete or foreign: the holder is unknown. */
function parse(content: Buffer | undefined): LegacyPayload | undefined {
  return parseRecord(content?.toString('utf8') ?? '')
}
