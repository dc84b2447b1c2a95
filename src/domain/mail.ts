// Mail: messages between sessions, chats and people. A message is stored before it is acknowledged, and every step of its way has a
// time: the receipt.
import { z } from 'zod'
import type { Giver } from './giver.ts'

export const mailStates = ['accepted', 'delivered', 'read', 'expired'] as const

const time = z.number().optional()

/** A message as it is stored, with its receipt. */
export const mailSchema = z.object({
  id: z.string(),
  sender: z.string().describe('The address of the sender; an answer goes there.'),
  senderName: z.string(),
  recipient: z.string().describe('An address: `session:…`, `chat:…`, `person:…`, `program:…` or `owner`.'),
  recipientName: z.string(),
  session: z
    .string()
    .optional()
    .describe(
      'The session that was named. While it lives, no other session of its lineage gets the message.',
    ),
  body: z.string(),
  replyTo: z.string().optional().describe('The message that it answers.'),
  resume: z.boolean().describe('Resume the session in the background if it has ended.'),
  depth: z
    .number()
    .describe('How many messages woke each other up to this one; 0: a person or an unasked turn wrote it.'),
  state: z.enum(mailStates),
  acceptedAt: z.number(),
  expiresAt: z.number(),
  deliveredAt: time,
  deliveredTo: z.string().optional().describe('The session that received it.'),
  readAt: time.describe('The turn that had the message has ended, or the message was answered.'),
  expiredAt: time,
  wokeAt: time.describe('When it first woke its recipient.'),
  repeats: z
    .number()
    .describe(
      'Deliveries whose success is unknown, because a process died: the text may have arrived before.',
    ),
  note: z.string().optional().describe('Why it has not been delivered yet.'),
})
export type Mail = z.infer<typeof mailSchema>

/** A message before it is accepted. */
export type NewMail = Pick<
  Mail,
  | 'sender'
  | 'senderName'
  | 'recipient'
  | 'recipientName'
  | 'session'
  | 'body'
  | 'replyTo'
  | 'resume'
  | 'depth'
  | 'expiresAt'
> & {
  /** Whose rights decide whether a coding session gets the message. */
  giver: Giver
}

export const ownerAddress = 'owner'

/** Who may wake a session that waits for its user. */
export const wakePolicies = ['never', 'owner', 'anyone'] as const
export type WakePolicy = (typeof wakePolicies)[number]

/** The session of a lineage that Claude Code runs, or ran, with the plugin. */
export interface MailSession {
  /** Claude's id. */
  session: string
  /** The first session of its lineage: its address. */
  root: string
  /** The machine that it was last seen on. */
  machine: string
  pid?: number
  startedAt: number
  endedAt?: number
  /** The depth of the mail that its current turn has received; a prompt of its user sets it to 0. */
  depth: number
}

export type MailAddress =
  | { kind: 'session'; root: string }
  | { kind: 'chat'; sessionKey: string }
  | { kind: 'person'; chat: string }
  /** A program whose token may not approve, by the name of the token. It is not the owner. */
  | { kind: 'program'; name: string }
  | { kind: 'owner' }

export function formatMailAddress(address: MailAddress): string {
  if (address.kind === 'session') return `session:${address.root}`
  if (address.kind === 'chat') return `chat:${address.sessionKey}`
  if (address.kind === 'program') return `program:${address.name}`
  return address.kind === 'person' ? `person:${address.chat}` : ownerAddress
}

/** Undefined if the text has none of the forms. */
export function parseMailAddress(text: string): MailAddress | undefined {
  if (text === ownerAddress) return { kind: 'owner' }
  const [, kind, rest = ''] = /^(session|chat|person|program):(.+)$/s.exec(text) ?? []
  // Claude's ids are in lower case; the short ids of coding sessions are in both.
  if (kind === 'session') return { kind, root: rest.length > 8 ? rest.toLowerCase() : rest }
  if (kind === 'chat') return { kind, sessionKey: rest }
  if (kind === 'program') return { kind, name: rest }
  return kind === 'person' ? { kind, chat: rest } : undefined
}
