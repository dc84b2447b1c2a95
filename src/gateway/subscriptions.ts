// What a connection can listen to. These methods belong to a connection, so they are no operations; like those they
// have a name, a sentence, a schema and a scope, and the reference page lists them.
import { z } from 'zod'
import type { RockpoolEvent } from '../domain/events.ts'
import type { Scope } from '../operations/operation.ts'

export interface Topic {
  /** `sessions.subscribe`, with `sessions.unsubscribe` beside it. */
  name: string
  says: string
  input: z.ZodObject
  scope: Scope
  /** Does a subscriber that asked for `input` want this event? */
  wants(event: RockpoolEvent, input: Record<string, unknown>): boolean
}

const since = z
  .strictObject({ epoch: z.string().max(64), seq: z.int().min(0) })
  .optional()
  .describe(
    'The last event that the client has seen; what came after it is sent again, or `gap` says that it cannot be.',
  )

export const topics: readonly Topic[] = [
  {
    name: 'sessions',
    says: 'Every session that changes, appears or goes.',
    input: z.strictObject({ agentId: z.string().optional().describe('Only this agent.'), since }),
    scope: 'read',
    wants: (event, { agentId }) =>
      ['session-changed', 'session-deleted', 'message-accepted', 'turn-ended', 'native-changed'].includes(
        event.type,
      ) &&
      (agentId === undefined || !('agentId' in event) || event.agentId === agentId),
  },
  {
    name: 'sessions.messages',
    says: 'What is said in one session, as it is said.',
    input: z.strictObject({ key: z.string().min(1).describe('The session key.'), since }),
    scope: 'read',
    wants: (event, { key }) =>
      !['session-changed', 'session-deleted'].includes(event.type) && 'key' in event && event.key === key,
  },
  {
    name: 'coding',
    says: 'What coding sessions do, say and ask.',
    input: z.strictObject({ id: z.string().optional().describe('Only this coding session.'), since }),
    scope: 'read',
    wants: (event, { id }) => {
      if (event.type === 'coding-changed' || event.type === 'coding-output')
        return id === undefined || event.id === id
      return event.type === 'approval-changed' && (id === undefined || event.codingId === id)
    },
  },
  {
    name: 'web',
    says: 'What a chat of the web page is told: messages, edits, typing.',
    input: z.strictObject({ chatId: z.string().default('dashboard').describe('Which chat.'), since }),
    scope: 'read',
    wants: (event, { chatId }) => event.type === 'web-output' && event.output.address.to === chatId,
  },
  {
    name: 'system',
    says: 'Channels that come and go, people who ask to talk, and configuration that changes.',
    input: z.strictObject({ since }),
    scope: 'read',
    wants: (event) => ['channel-status', 'pairing-changed', 'config-changed'].includes(event.type),
  },
]

/** An agent hears of its own world only. */
export function concerns(event: RockpoolEvent, agentId: string | undefined): boolean {
  return agentId === undefined || ('agentId' in event && event.agentId === agentId)
}
