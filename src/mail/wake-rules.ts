// Whether a message may wake a session that waits for its user. Waking costs money, so the owner decides who may do it, and a
// depth and two budgets end every loop of sessions that answer each other.
import type { MailConfig } from '../domain/config/mail-settings.ts'
import { ownerAddress, type Mail, type WakePolicy } from '../domain/mail.ts'

interface WakeFacts {
  /** The owner's decision for this session; if absent, the configuration decides. */
  policy?: WakePolicy
  /** How often mail woke this session in the last hour, and all sessions in the last day. */
  wakesOfSession: number
  wakesOfAll: number
}

/** Undefined: it may. Otherwise the reason, for people. */
export function whyNotWake(
  { sender, depth }: Pick<Mail, 'sender' | 'depth'>,
  { policy, wakesOfSession, wakesOfAll }: WakeFacts,
  config: MailConfig,
): string | undefined {
  const who = policy ?? config.wake
  if (who === 'never') return 'No message may wake this session; it gets the message with its next turn.'
  if (who === 'owner' && sender !== ownerAddress)
    return 'Only the owner may wake this session; it gets the message with its next turn.'
  // The owner's own messages have no limits.
  if (sender === ownerAddress) return undefined
  if (depth >= config.maxDepth)
    return `It is the answer to an answer (depth ${depth}); such a message wakes no session from depth ${config.maxDepth} on.`
  if (wakesOfSession >= config.wakesPerHour)
    return `Mail woke this session ${wakesOfSession} times within an hour, as often as mail.wakesPerHour allows.`
  if (wakesOfAll >= config.wakesPerDay)
    return `Mail woke sessions ${wakesOfAll} times within a day, as often as mail.wakesPerDay allows.`
  return undefined
}
