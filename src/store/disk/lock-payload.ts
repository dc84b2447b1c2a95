// What a lock file says about its holder: ours in full, OpenClaw's in the three forms that its versions wrote.
import { randomUUID } from 'node:crypto'
import { hostname, uptime } from 'node:os'
import { identifyProcess } from './process-identity.ts'

export interface LockPayload {
  v: 2
  pid: number
  /** When the process began, in the system's own count. */
  starttime: string
  /** The boot and the pid namespace in which these two numbers mean something. */
  bootId: string
  host: string
  nonce: string
  /** When the lock was taken, and what for. */
  startedAt: number
  op: string
}

/** OpenClaw: `{pid, startedAt}` in January, `{pid, createdAt}` in February, with `starttime` from March on. */
interface LegacyPayload {
  pid?: unknown
  startedAt?: unknown
  createdAt?: unknown
  starttime?: unknown
}

/** A lock of another machine or container: its holder touches it every 5 s as long as it runs. */
const foreignStaleMs = 120_000

export function newPayload(op: string, now: number): LockPayload {
  const { pid, starttime, bootId } = thisProcess()
  return { v: 2, pid, startedAt: now, starttime, bootId, host: hostname(), nonce: randomUUID(), op }
}

/** The holder, if the lock says who it is. */
export function holderIn(content: Buffer | undefined): LockPayload | undefined {
  const payload = parse(content) as Partial<LockPayload> | undefined
  return payload?.v === 2 && typeof payload.nonce === 'string' && typeof payload.pid === 'number'
    ? (payload as LockPayload)
    : undefined
}

/** Age alone decides only about a lock that names no process. */
export function isDead(content: Buffer, ageMs: number, staleMs: number, now: number): boolean {
  const holder = holderIn(content)
  if (holder) {
    const liveness = livenessOf(holder)
    return liveness === 'dead' || (liveness === 'unknown' && ageMs > foreignStaleMs)
  }
  const uptimeMs = uptime() * 1000
  const payload = parse(content)
  // After a power cut a lock may be left empty; a lock that is older than this boot has no holder.
  if (typeof payload?.pid !== 'number') return ageMs > Math.min(staleMs, uptimeMs)
  const writtenAt = timeIn(payload) ?? now - ageMs
  return isLegacyHolderGone(payload) || Math.min(ageMs, now - writtenAt) > uptimeMs
}

export function describeHolder(content: Buffer | undefined, ageMs: number, now: number): string {
  const holder = holderIn(content)
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`
  if (holder) {
    const where = holder.host === hostname() ? '' : ` on ${holder.host}`
    return `process ${holder.pid}${where} has had it for ${seconds(Math.max(0, now - holder.startedAt))} (${holder.op})`
  }
  const pid = parse(content)?.pid
  const who = typeof pid === 'number' ? `process ${pid}` : 'a process that does not say its name'
  return `${who} has had it, last touched ${seconds(ageMs)} ago`
}

/** `unknown`: it belongs to another machine or container, and we cannot look inside. */
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

/** `linux:<boot>:<pid namespace>`: another namespace of this boot may be a container that runs beside us. */
function bootOf(domain: string): string {
  return domain.split(':').slice(0, 2).join(':')
}

/** When the holder took the lock, as the holder wrote it down. */
function timeIn({ startedAt, createdAt }: LegacyPayload): number | undefined {
  const at = typeof startedAt === 'number' ? startedAt : Date.parse(String(createdAt))
  return Number.isFinite(at) ? at : undefined
}

/** A process with the same number may be a newer one; only a lock with `starttime` can tell. */
function isLegacyHolderGone(payload: LegacyPayload): boolean {
  const found = identifyProcess(Number(payload.pid))
  if (!found) return true
  return typeof payload.starttime === 'number' && String(payload.starttime) !== found.startTime
}

function parse(content: Buffer | undefined): LegacyPayload | undefined {
  try {
    const value: unknown = JSON.parse(content?.toString('utf8') ?? '')
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // Empty, half written or something else: it does not say who holds it.
    return undefined
  }
}
