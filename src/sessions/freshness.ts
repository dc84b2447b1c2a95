// Decides whether a session continues or is stale and gets reset; lifecycle.ts acts on it. Without a policy in the
// configuration a session never becomes stale.
import type { ResetPolicyConfig, SessionConfig } from '../domain/config/session-settings.ts'
import { chatTypeOfKey, isThreadSessionKey } from '../domain/session-key-forms.ts'
import type { SessionEntry } from '../domain/session.ts'
import { lastTimeAtHour } from '../domain/local-time.ts'

export type SessionResetMode = ResetPolicyConfig['mode']
export type SessionResetType = 'direct' | 'group' | 'thread'

export interface SessionResetPolicy {
  mode: SessionResetMode
  /** 0 to 23, in the configured time zone. */
  atHour: number
  idleMinutes?: number
}

export interface SessionFreshness {
  fresh: boolean
  /** A session that started before this is stale. */
  dailyResetAt?: number
  /** When the session becomes stale by inactivity. */
  idleExpiresAt?: number
  /** Why it is stale. */
  because?: 'daily' | 'idle'
}

interface FreshnessParams {
  updatedAt: number
  /** When this session started; decides about daily resets. */
  sessionStartedAt?: number
  /** When a person last wrote; decides about idle resets. Heartbeats and maintenance do not count. */
  lastInteractionAt?: number
  now: number
  policy: SessionResetPolicy
  /** The machine's when absent. */
  timeZone?: string
}

/** Older rows have only `updatedAt`, which then stands for both times. */
export function evaluateSessionFreshness(params: FreshnessParams): SessionFreshness {
  const { updatedAt, sessionStartedAt, lastInteractionAt, now, policy } = params
  if (policy.mode === 'none') return { fresh: true }
  const startedAt = sessionStartedAt ?? updatedAt
  const writtenAt = lastInteractionAt ?? sessionStartedAt ?? updatedAt
  const dailyResetAt =
    policy.mode === 'daily' ? lastTimeAtHour(policy.atHour, now, params.timeZone) : undefined
  const idleExpiresAt =
    policy.idleMinutes === undefined ? undefined : writtenAt + Math.max(1, policy.idleMinutes) * 60_000
  const because =
    dailyResetAt !== undefined && startedAt < dailyResetAt
      ? 'daily'
      : idleExpiresAt !== undefined && now > idleExpiresAt
        ? 'idle'
        : undefined
  return { fresh: because === undefined, dailyResetAt, idleExpiresAt, because }
}

/** The policy for one session: its channel's, else its type's, else the general one, else none. */
export function resolveResetPolicy(
  session: Pick<SessionConfig, 'reset' | 'idleMinutes' | 'resetByType' | 'resetByChannel'>,
  where: { type: SessionResetType; channel?: string },
): SessionResetPolicy {
  const { resetByType, resetByChannel, idleMinutes } = session
  const channel = where.channel?.trim().toLowerCase()
  const byChannel = Object.entries(resetByChannel).find(
    ([name]) => name.trim().toLowerCase() === channel,
  )?.[1]
  const byType = where.type === 'direct' ? (resetByType.direct ?? resetByType.dm) : resetByType[where.type]
  const written = byChannel ?? byType ?? session.reset
  if (written) return completePolicy(written)
  return completePolicy(idleMinutes === undefined ? { mode: 'none' } : { mode: 'idle', idleMinutes })
}

/** A thread before a group: a topic of a group is a thread. */
export function resetTypeOf(key: string, entry?: Pick<SessionEntry, 'chatType'>): SessionResetType {
  if (isThreadSessionKey(key)) return 'thread'
  const chatType = chatTypeOfKey(key) ?? entry?.chatType
  return chatType === 'group' || chatType === 'channel' ? 'group' : 'direct'
}

/** Is the session that this row describes still the one to continue? */
export function isFresh(
  key: string,
  entry: SessionEntry,
  options: { now: number; session: SessionConfig; timeZone?: string },
): SessionFreshness {
  const policy = resolveResetPolicy(options.session, {
    type: resetTypeOf(key, entry),
    channel: entry.lastChannel ?? entry.channel,
  })
  const { updatedAt, sessionStartedAt, lastInteractionAt } = entry
  const { now, timeZone } = options
  return evaluateSessionFreshness({ updatedAt, sessionStartedAt, lastInteractionAt, now, policy, timeZone })
}

function completePolicy(written: ResetPolicyConfig): SessionResetPolicy {
  const { mode, atHour = 4, idleMinutes } = written
  const minutes = idleMinutes ?? (mode === 'idle' ? 60 : undefined)
  return {
    mode,
    atHour: Math.min(23, Math.max(0, Math.floor(atHour))),
    idleMinutes: minutes === undefined ? undefined : Math.max(1, Math.floor(minutes)),
  }
}
