// The topics that a connection can subscribe to. They belong to a connection, so they are not operations; like operations they
// have a name, a description, a schema and a scope, and the reference page lists them.
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { RockpoolEvent } from '../domain/events.ts'
import type { App } from '../operations/app.ts'
import type { ForHosts, Scope } from '../operations/operation.ts'

export interface Topic {
  /** `sessions` has the methods `sessions.subscribe` and `sessions.unsubscribe`. */
  name: string
  description: string
  input: z.ZodObject
  scope: Scope
  forHosts?: ForHosts
  /** Events that are not in the log of events: they come from here, to one connection. The result ends the subscription. */
  open?(app: App, send: (event: object) => void): () => void
  /** True if a subscriber with this input gets the event. */
  matches(event: RockpoolEvent, input: Record<string, unknown>): boolean
}

const since = z
  .strictObject({ epoch: z.string().max(64), seq: z.int().min(0) })
  .optional()
  .describe(
    'The last event that the client has seen. Later events are sent again; `gap` reports that some are lost.',
  )

export const topics: readonly Topic[] = [
  {
    name: 'sessions',
    description: 'Sessions that are created, changed or deleted.',
    input: z.strictObject({ agentId: z.string().optional().describe('Only this agent.'), since }),
    scope: 'read',
    matches: (event, { agentId }) =>
      ['session-changed', 'session-deleted', 'message-accepted', 'turn-ended', 'native-changed'].includes(
        event.type,
      ) &&
      (agentId === undefined || !('agentId' in event) || event.agentId === agentId),
  },
  {
    name: 'sessions.messages',
    description: 'The messages and turns of one session.',
    input: z.strictObject({ key: z.string().min(1).describe('The session key.'), since }),
    scope: 'read',
    matches: (event, { key }) =>
      !['session-changed', 'session-deleted'].includes(event.type) && 'key' in event && event.key === key,
  },
  {
    name: 'coding',
    description: 'State, output and approvals of coding sessions.',
    input: z.strictObject({ id: z.string().optional().describe('Only this coding session.'), since }),
    scope: 'read',
    matches: (event, { id }) => {
      // Only for those who look at this session: Claude writes many pieces a second.
      if (event.type === 'coding-writing') return event.id === id
      if (event.type === 'coding-changed' || event.type === 'coding-output')
        return id === undefined || event.id === id
      return event.type === 'approval-changed' && (id === undefined || event.codingId === id)
    },
  },
  {
    name: 'web',
    description: 'Messages, edits and typing for a chat of the dashboard.',
    input: z.strictObject({ chatId: z.string().default('dashboard').describe('Which chat.'), since }),
    scope: 'read',
    matches: (event, { chatId }) => event.type === 'web-output' && event.output.address.to === chatId,
  },
  {
    name: 'system',
    description: 'Changes of channels, pairing requests, schedules, mail and the configuration.',
    input: z.strictObject({ since }),
    scope: 'read',
    matches: (event) =>
      ['channel-status', 'pairing-changed', 'schedule-changed', 'mail-changed', 'config-changed'].includes(
        event.type,
      ),
  },
  {
    name: 'openclaw',
    description:
      'Messages for chats of OpenClaw and questions of coding sessions, for the plugin in OpenClaw.',
    input: z.strictObject({}),
    scope: 'approve',
    forHosts: 'only',
    open: (app, send) => app.openclaw.connect(send),
    matches: () => false,
  },
]

const maxOfConnection = 100
const maxOfCredential = 2_000

/** How many subscriptions each credential has over all its connections. An event is sent once for each of them, so thousands would
 *  take the memory and the time of everybody. */
export class SubscriptionCounts {
  #counts = new Map<string, number>()

  /** Throws if there are too many for one more. */
  checkRoom(ofConnection: number, credentialId: string): void {
    if (ofConnection >= maxOfConnection)
      throw new RockpoolError('busy', `This connection has ${maxOfConnection} subscriptions already.`)
    if ((this.#counts.get(credentialId) ?? 0) >= maxOfCredential)
      throw new RockpoolError('busy', `This token has ${maxOfCredential} subscriptions already.`, {
        hint: 'Close connections that are not used, or use another token.',
      })
  }

  change(credentialId: string, by: number): void {
    const count = (this.#counts.get(credentialId) ?? 0) + by
    if (count > 0) this.#counts.set(credentialId, count)
    else this.#counts.delete(credentialId)
  }
}

/** An agent gets only the events of its own sessions. */
export function isVisibleTo(agentId: string | undefined, event: RockpoolEvent): boolean {
  return agentId === undefined || ('agentId' in event && event.agentId === agentId)
}
