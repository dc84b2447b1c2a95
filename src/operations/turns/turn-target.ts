// Whose session a question is for can be said in ways that contradict each other, or mean nobody. Then nothing is
// asked: a conversation with the wrong one cannot be taken back.
import { RockpoolError } from '../../domain/errors.ts'
import type { Session } from '../../domain/session.ts'

/** An id and a key, of which each names a session. */
export function checkSame({ key, entry }: Session, named: { sessionKey: string }): void {
  if (named.sessionKey === key) return
  throw new RockpoolError('usage', `The session ${entry.sessionId} is ${key}, not ${named.sessionKey}.`, {
    hint: 'Give --session-id or --session-key.',
  })
}

export function checkChannel({ to, channel }: { to?: string; channel?: string }): void {
  if (channel === undefined) return
  if (to === undefined) {
    throw new RockpoolError('usage', `${JSON.stringify(channel)} is given without a person.`, {
      hint: 'Say who with --to, or name the session with --session-key.',
    })
  }
  if (channels.includes(channel)) return
  throw new RockpoolError('input-invalid', `There is no channel ${JSON.stringify(channel)}.`, {
    hint: `Known: ${channels.join(', ')}.`,
  })
}

const channels = ['telegram', 'discord', 'whatsapp', 'web', 'console']
