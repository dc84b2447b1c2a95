// Events for subscribers: the gateway's clients, the indexer, the dashboard.
// An event says what changed and where; the truth is in the stores.
import type { ChannelStatus, WebOutput } from './channel.ts'
import type { TurnEnd, TurnEvent } from './turn.ts'

export type RockpoolEvent =
  | { type: 'session-changed'; agentId: string; key: string; why: string }
  | { type: 'session-deleted'; agentId: string; key: string }
  | { type: 'transcript-appended'; agentId: string; sessionId: string; file: string; key?: string }
  | { type: 'message-accepted'; agentId: string; key: string; messageId: string }
  | { type: 'turn-event'; agentId: string; key: string; turnId: string; event: TurnEvent }
  | { type: 'turn-ended'; agentId: string; key: string; turnId: string; end: TurnEnd; costUsd: number }
  | { type: 'reply-sent'; key?: string; deliveryId: string; messageIds: string[] }
  | { type: 'reply-failed'; key?: string; deliveryId: string; reason: string }
  | { type: 'channel-status'; status: ChannelStatus }
  | { type: 'pairing-changed'; channel: string; accountId: string }
  | { type: 'web-output'; output: WebOutput }
  | { type: 'coding-changed'; id: string; why: string }
  /** A piece of the text that Claude is writing; the whole text follows as `coding-output`. */
  | { type: 'coding-writing'; id: string; text: string }
  | { type: 'coding-output'; id: string; seq: number; text: string }
  | { type: 'approval-changed'; id: string; codingId?: string; state: string }
  | { type: 'native-changed'; sessionId: string; why: string }
  /** A message between sessions was accepted, or its receipt has changed. */
  | { type: 'mail-changed' }
  /** A schedule was added, changed or removed, or a run of it was written, begun or ended. */
  | { type: 'schedule-changed'; agentId: string; id: string }
  | { type: 'config-changed'; reloaded: string[]; needsRestart: string[] }

export interface Events {
  emit(event: RockpoolEvent): void
  on(listener: (event: RockpoolEvent) => void): () => void
}

/** Listeners are called in order; one that throws is reported and does not stop the others. */
export function makeEvents(onError: (error: unknown) => void): Events {
  const listeners = new Set<(event: RockpoolEvent) => void>()
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          onError(error)
        }
      }
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
